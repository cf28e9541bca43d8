"""Functions that call each other twice: 2^40 copies for whoever copies them in.

Deserves: 0 points
Named: too large once its device functions are put in place
"""

from numba import cuda


@cuda.jit(device=True)
def f0(x):
    return x + 1


@cuda.jit(device=True)
def f1(x):
    return f0(f0(x))


@cuda.jit(device=True)
def f2(x):
    return f1(f1(x))


@cuda.jit(device=True)
def f3(x):
    return f2(f2(x))


@cuda.jit(device=True)
def f4(x):
    return f3(f3(x))


@cuda.jit(device=True)
def f5(x):
    return f4(f4(x))


@cuda.jit(device=True)
def f6(x):
    return f5(f5(x))


@cuda.jit(device=True)
def f7(x):
    return f6(f6(x))


@cuda.jit(device=True)
def f8(x):
    return f7(f7(x))


@cuda.jit(device=True)
def f9(x):
    return f8(f8(x))


@cuda.jit(device=True)
def f10(x):
    return f9(f9(x))


@cuda.jit(device=True)
def f11(x):
    return f10(f10(x))


@cuda.jit(device=True)
def f12(x):
    return f11(f11(x))


@cuda.jit(device=True)
def f13(x):
    return f12(f12(x))


@cuda.jit(device=True)
def f14(x):
    return f13(f13(x))


@cuda.jit(device=True)
def f15(x):
    return f14(f14(x))


@cuda.jit(device=True)
def f16(x):
    return f15(f15(x))


@cuda.jit(device=True)
def f17(x):
    return f16(f16(x))


@cuda.jit(device=True)
def f18(x):
    return f17(f17(x))


@cuda.jit(device=True)
def f19(x):
    return f18(f18(x))


@cuda.jit(device=True)
def f20(x):
    return f19(f19(x))


@cuda.jit(device=True)
def f21(x):
    return f20(f20(x))


@cuda.jit(device=True)
def f22(x):
    return f21(f21(x))


@cuda.jit(device=True)
def f23(x):
    return f22(f22(x))


@cuda.jit(device=True)
def f24(x):
    return f23(f23(x))


@cuda.jit(device=True)
def f25(x):
    return f24(f24(x))


@cuda.jit(device=True)
def f26(x):
    return f25(f25(x))


@cuda.jit(device=True)
def f27(x):
    return f26(f26(x))


@cuda.jit(device=True)
def f28(x):
    return f27(f27(x))


@cuda.jit(device=True)
def f29(x):
    return f28(f28(x))


@cuda.jit(device=True)
def f30(x):
    return f29(f29(x))


@cuda.jit(device=True)
def f31(x):
    return f30(f30(x))


@cuda.jit(device=True)
def f32(x):
    return f31(f31(x))


@cuda.jit(device=True)
def f33(x):
    return f32(f32(x))


@cuda.jit(device=True)
def f34(x):
    return f33(f33(x))


@cuda.jit(device=True)
def f35(x):
    return f34(f34(x))


@cuda.jit(device=True)
def f36(x):
    return f35(f35(x))


@cuda.jit(device=True)
def f37(x):
    return f36(f36(x))


@cuda.jit(device=True)
def f38(x):
    return f37(f37(x))


@cuda.jit(device=True)
def f39(x):
    return f38(f38(x))


@cuda.jit(device=True)
def f40(x):
    return f39(f39(x))


@cuda.jit
def dot(a, b, partial):
    partial[0] = f40(a[0])
