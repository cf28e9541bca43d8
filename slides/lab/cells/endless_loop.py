"""15. A loop that does not end

Thread 0 waits for a flag that thread 32 sets, behind a barrier that thread 0 never reaches. On a GPU this hangs. The
machine sees that nothing can change any more. Which line does it name? (Stop is for programs that Python cannot end.)

Try:
* Set the flag before the barrier: move the last two lines of the kernel up. It ends; is it right?
* Wait for `flag[0] != 1` with nobody to set it.
* Write `while True: pass` at the end, outside the kernel, run it, and press Stop.

Lab: 04_shared_memory
"""

import numpy as np

import gpukit
from gpukit import cuda


@cuda.jit
def waits(flag):
    t = cuda.threadIdx.x
    if t == 0:
        while flag[0] == 0:
            pass
    cuda.syncthreads()
    if t == 32:
        flag[0] = 1


flag = np.zeros(1, np.int32)
gpukit.profile(waits, 1, 64, flag)
