"""The kernel language as the host sees it: names that mean something only inside a kernel.

Each object carries `__gpukit_name__`, its full name ("cuda.atomic.add"), by which the front end knows it. Used on
the host it raises `DeviceOnlyError`.
"""

from __future__ import annotations

import importlib
from typing import Any

from gpukit.cuda.errors import DeviceOnlyError

VECTOR_FIELDS = ("x", "y", "z", "w")
VECTOR_BASES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)
# CUDA C++ names of the same types: float4 is float32x4. `long` is 64 bits wide, as on Linux.
VECTOR_ALIASES = {
    "int8": ("char",),
    "int16": ("short",),
    "int32": ("int",),
    "int64": ("long", "longlong"),
    "uint8": ("uchar",),
    "uint16": ("ushort",),
    "uint32": ("uint",),
    "uint64": ("ulong", "ulonglong"),
    "float32": ("float",),
    "float64": ("double",),
}


class DeviceName:
    """Anything of the kernel language. Identity is its full name."""

    def __init__(self, name: str, doc: str):
        self.__gpukit_name__ = name
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self.__module__ = "gpukit.cuda"
        self.__doc__ = doc

    def __repr__(self) -> str:
        return f"<{self.__gpukit_name__}>"

    def __reduce__(self):
        return find, (self.__gpukit_name__,)

    def _refuse(self, how: str):
        raise DeviceOnlyError(
            f"{self.__gpukit_name__} {how} in host code; it has a meaning only inside a kernel or device function"
        )


class DeviceValue(DeviceName):
    """A number that every thread has: laneid, warpsize."""

    def __int__(self):
        self._refuse("was read")

    __index__ = __int__


class DeviceFunction(DeviceName):
    """A function of the kernel language."""

    def __call__(self, *args, **kwargs):
        self._refuse("was called")


class DeviceTriple(DeviceName):
    """threadIdx, blockIdx, blockDim, gridDim."""

    @property
    def x(self):
        self._refuse("was read")

    y = z = x


class Namespace(DeviceName):
    """A group of names, such as cuda.atomic."""

    def __init__(self, name: str, doc: str, members: dict[str, str]):
        super().__init__(name, doc)
        self._members = tuple(members)
        for member, text in members.items():
            setattr(self, member, DeviceFunction(f"{name}.{member}", text))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(self.__dict__["_members"])
        raise AttributeError(f"{self.__dict__['__gpukit_name__']} has no {name!r}; it has {known}")


class VectorType(DeviceFunction):
    """A built-in vector type: a constructor in kernels, with fields x, y, z, w as far as it is long.

    `base` is the NumPy name of the element type, `num_elements` 1 to 4.
    """

    def __init__(self, base: str, num_elements: int):
        super().__init__(
            f"cuda.{base}x{num_elements}", f"{num_elements} values of {base}; fields {VECTOR_FIELDS[:num_elements]}."
        )
        self.base = base
        self.num_elements = num_elements
        self.aliases = [f"{alias}{num_elements}" for alias in VECTOR_ALIASES[base]]


_TRIPLES = {
    "threadIdx": "Index of the thread in its block (x, y, z).",
    "blockIdx": "Index of the block in the grid (x, y, z).",
    "blockDim": "Threads per block along each axis.",
    "gridDim": "Blocks in the grid along each axis.",
}
_VALUES = {
    "laneid": "Place of the thread in its warp, 0 to 31.",
    "warpsize": "Threads per warp: 32.",
}
_FUNCTIONS = {
    "grid": "grid(ndim): the thread's position in the whole grid; an int64, or a tuple for 2 and 3 axes.",
    "gridsize": "gridsize(ndim): threads in the whole grid along each axis.",
    "syncthreads": "Wait until every live thread of the block is here; memory accesses before it are then visible.",
    "syncthreads_count": "syncthreads, and the number of threads whose predicate is true.",
    "syncthreads_and": "syncthreads, and whether the predicate is true in all threads.",
    "syncthreads_or": "syncthreads, and whether the predicate is true in any thread.",
    "syncwarp": "syncwarp(mask=0xffffffff): wait for the lanes named in the mask; orders their memory accesses.",
    "shfl_sync": "shfl_sync(mask, value, lane): the value that the given lane holds.",
    "shfl_up_sync": "shfl_up_sync(mask, value, delta): the value of the lane `delta` below.",
    "shfl_down_sync": "shfl_down_sync(mask, value, delta): the value of the lane `delta` above.",
    "shfl_xor_sync": "shfl_xor_sync(mask, value, lane_mask): the value of lane `laneid ^ lane_mask`.",
    "all_sync": "all_sync(mask, predicate): true where it holds in every named lane.",
    "any_sync": "any_sync(mask, predicate): true where it holds in some named lane.",
    "eq_sync": "eq_sync(mask, predicate): true where all named lanes agree.",
    "ballot_sync": "ballot_sync(mask, predicate): int32 with the bit of each lane where it holds.",
    "match_any_sync": "match_any_sync(mask, value): mask of the lanes that hold the same value.",
    "match_all_sync": "match_all_sync(mask, value): (mask or 0, whether all named lanes hold the same value).",
    "activemask": "Mask of the lanes that run this instruction together.",
    "lanemask_lt": "Mask of the lanes below this one.",
    "threadfence": "Make this thread's writes visible to the whole device; orders nothing by itself.",
    "threadfence_block": "Make this thread's writes visible to its block.",
    "threadfence_system": "Make this thread's writes visible to the host and other devices.",
    "nanosleep": "nanosleep(ns): pause the thread.",
    "popc": "Number of set bits.",
    "brev": "Bits in reverse order.",
    "clz": "Number of leading zero bits.",
    "ffs": "Position of the lowest set bit, counted from 1; 0 if there is none.",
    "selp": "selp(condition, a, b): a where the condition holds, else b.",
    "fma": "fma(a, b, c): a * b + c, rounded once.",
    "cbrt": "Cube root.",
    "ldca": "Load cached at all levels.",
    "ldcg": "Load cached in L2 only.",
    "ldcs": "Load likely to be used once.",
    "ldlu": "Load of a line that is not used again.",
    "ldcv": "Load that fetches again, past the caches.",
    "stcg": "Store cached in L2 only.",
    "stcs": "Store likely to be used once.",
    "stwb": "Store with write-back.",
    "stwt": "Store through to memory.",
    "literal_unroll": "literal_unroll(values): loop over a tuple whose items differ in type.",
}
_FP16_OF_ONE = (
    *("hneg", "habs", "hceil", "hfloor", "hrint", "htrunc", "hsqrt", "hrsqrt", "hrcp", "hsin", "hcos", "htanh"),
    *("htanh_approx", "hlog", "hlog2", "hlog10", "hexp", "hexp2", "hexp10"),
)
_NAMESPACES = {
    "shared": (
        "Memory shared by the threads of a block.",
        {"array": "shared.array(shape, dtype, alignment=None): shape is a constant; 0 means dynamic, sized at launch."},
    ),
    "local": (
        "Memory of one thread.",
        {"array": "local.array(shape, dtype, alignment=None): shape is a constant."},
    ),
    "const": (
        "Read-only memory, frozen when the kernel is first used.",
        {"array_like": "const.array_like(array): a read-only copy of a global NumPy array."},
    ),
    "cg": ("Cooperative groups.", {"this_grid": "this_grid(): the grid; its sync() waits for every block."}),
    "atomic": (
        "Read-modify-write operations that no other thread can interrupt. Each returns the old value.",
        {
            "add": "add(array, index, value): array[index] += value.",
            "sub": "sub(array, index, value): array[index] -= value.",
            "and_": "and_(array, index, value): array[index] &= value.",
            "or_": "or_(array, index, value): array[index] |= value.",
            "xor": "xor(array, index, value): array[index] ^= value.",
            "inc": "inc(array, index, limit): add 1, back to 0 beyond the limit (uint32, uint64).",
            "dec": "dec(array, index, limit): subtract 1, back to the limit from 0 or from above it (uint32, uint64).",
            "exch": "exch(array, index, value): store the value.",
            "max": "max(array, index, value): keep the larger; NaN stays.",
            "min": "min(array, index, value): keep the smaller; NaN stays.",
            "nanmax": "nanmax(array, index, value): keep the larger, ignoring NaN.",
            "nanmin": "nanmin(array, index, value): keep the smaller, ignoring NaN.",
            "cas": "cas(array, index, old, value): store the value if array[index] == old.",
            "compare_and_swap": "compare_and_swap(array, old, value): cas on the first element.",
        },
    ),
    "fp16": (
        "Arithmetic on float16.",
        {
            **dict.fromkeys(("hadd", "hsub", "hmul", "hdiv", "hmax", "hmin"), "Two operands."),
            **dict.fromkeys(("heq", "hne", "hge", "hgt", "hle", "hlt"), "Comparison."),
            **dict.fromkeys(_FP16_OF_ONE, "One operand."),
            "hfma": "hfma(a, b, c): a * b + c, rounded once.",
        },
    ),
}


def _build() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, text in _TRIPLES.items():
        names[name] = DeviceTriple(f"cuda.{name}", text)
    for name, text in _VALUES.items():
        names[name] = DeviceValue(f"cuda.{name}", text)
    for name, text in _FUNCTIONS.items():
        names[name] = DeviceFunction(f"cuda.{name}", text)
    for name, (text, members) in _NAMESPACES.items():
        names[name] = Namespace(f"cuda.{name}", text, members)
    for base in VECTOR_BASES:
        for n in range(1, 5):
            vector = VectorType(base, n)
            names[vector.__name__] = vector
            names.update(dict.fromkeys(vector.aliases, vector))
    return names


NAMES = _build()
VECTOR_TYPES = {name: value for name, value in NAMES.items() if isinstance(value, VectorType)}


def find(full_name: str) -> DeviceName:
    """The object of a full name such as "cuda.atomic.add" (how device names are pickled)."""
    first, *rest = full_name.removeprefix("cuda.").split(".")
    if first == "libdevice":
        return getattr(importlib.import_module("gpukit.cuda.libdevice"), rest[0])
    found = NAMES[first]
    for part in rest:
        found = getattr(found, part)
    return found
