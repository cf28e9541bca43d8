"""Pinned memory, streams and events, the way a pipeline of copies and kernels is written."""

import numpy as np
from numba import cuda


@cuda.jit
def scale(data, factor):
    i = cuda.grid(1)
    if i < data.size:
        data[i] *= factor


chunks, size = 4, 1_000
host = cuda.pinned_array((chunks, size), dtype=np.float32)
host[:] = np.arange(chunks * size).reshape(chunks, size)
result = np.empty_like(host)
streams = [cuda.stream() for _ in range(chunks)]
start, end = cuda.event(), cuda.event()
start.record()
with cuda.defer_cleanup():
    for chunk, stream in enumerate(streams):
        with stream.auto_synchronize():
            device = cuda.to_device(host[chunk], stream=stream)
            scale[(size + 127) // 128, 128, stream](device, 3.0)
            device.copy_to_host(result[chunk], stream=stream)
end.record()
end.synchronize()
cuda.synchronize()
assert cuda.event_elapsed_time(start, end) >= 0
assert (result == 3 * host).all()

shared = cuda.mapped_array(100, dtype=np.int64)
shared[:] = 1
scale[1, 128](shared, 5)
assert (shared == 5).all()
print("device", cuda.get_current_device().name.split()[0], "free", cuda.current_context().get_memory_info().free > 0)
