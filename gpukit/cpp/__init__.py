"""C++ source as text: its tokens, the parameters of its kernels, its types. No compiler is needed."""
