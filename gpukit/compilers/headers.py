"""Headers that course code includes and NVRTC does not have: those of the host's C and C++ libraries.

What device code can use is given, by NVRTC's own functions or by libcu++; what only host code can use is empty.
"""

from __future__ import annotations

# nvcc includes its runtime's header, and with it the C library's, in every file: the option that does so here.
OF_NVCC = "--pre-include=nvcc_includes.h"


def _words(text: str) -> list[str]:
    return text.split()


_MATH_FUNCTIONS = _words("""
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
nearbyint nextafter pow remainder remquo rint round scalbln scalbn signbit sin sinh sqrt tan tanh tgamma trunc
acosf acoshf asinf asinhf atanf atan2f atanhf cbrtf ceilf copysignf cosf coshf erff erfcf expf exp2f expm1f fabsf fdimf
floorf fmaf fmaxf fminf fmodf frexpf hypotf ilogbf ldexpf lgammaf llrintf llroundf logf log10f log1pf log2f logbf lrintf
lroundf modff nearbyintf nextafterf powf remainderf remquof rintf roundf scalblnf scalbnf sinf sinhf sqrtf tanf tanhf
tgammaf truncf
""")

_MATH_CONSTANTS = {
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "INFINITY": "__int_as_float(0x7f800000)",
    "NAN": "__int_as_float(0x7fffffff)",
    "HUGE_VALF": "__int_as_float(0x7f800000)",
    "HUGE_VAL": "__longlong_as_double(0x7ff0000000000000LL)",
}


def _in_std(*names: str) -> str:
    """Names of the global namespace, in `std` as well."""
    return "namespace std { " + " ".join(f"using ::{name};" for name in names) + " }\n"


def _math() -> str:
    constants = "".join(f"#ifndef {n}\n#define {n} {value}\n#endif\n" for n, value in _MATH_CONSTANTS.items())
    return constants + _in_std(*_MATH_FUNCTIONS)


_INTEGERS = [f"{sign}int{kind}_t" for sign in ("", "u") for kind in (8, 16, 32, 64, "ptr", "max")]

# Small ones, always given in full.
_SMALL = {
    "cstdint": "#include <cuda/std/cstdint>\n" + _in_std(*_INTEGERS),
    "cstddef": "#include <cuda/std/cstddef>\n" + _in_std("size_t", "ptrdiff_t"),
    "climits": "#include <cuda/std/climits>\n",
    "cfloat": "#include <cuda/std/cfloat>\n",
    "cmath": _math(),
    "cstdio": _in_std("printf", "size_t"),
    "cstdlib": "#define RAND_MAX 2147483647\n#define EXIT_SUCCESS 0\n#define EXIT_FAILURE 1\n"
    + _in_std("malloc", "free", "size_t", "abs"),
    "cstring": _in_std("memcpy", "memset", "size_t"),
    "ctime": _in_std("clock", "clock_t"),
    "cassert": "",  # NVRTC has assert
    "nvcc_includes.h": "".join(f"#include <{name}>\n" for name in _words("cmath climits cstdint cstdlib cstring ctime"))
    + "".join(f"typedef unsigned {name} u{name};\n" for name in ("int", "short", "long")),
    "cupy/complex.cuh": "#include <cuda/std/complex>\nusing cuda::std::complex;\n",
    "thrust/complex.h": "#include <cuda/std/complex>\nnamespace thrust { using namespace cuda::std; }\n",
}
_SAME = {
    "inttypes.h": "cstdint",
    "cinttypes": "cstdint",
    "math.h": "cmath",
    **{f"{name}.h": f"c{name}" for name in ("stdint", "stddef", "limits", "float", "stdio", "stdlib", "string")},
    **{f"{name}.h": f"c{name}" for name in ("time", "assert")},
}

# Large ones that libcu++ has under another name: each takes a second to compile.
_LARGE = _words("""
algorithm array atomic bit complex concepts functional initializer_list iterator limits numeric optional ratio span
tuple type_traits utility variant
""")

# What only host code uses.
_EMPTY = _words("""
any bitset cctype cerrno chrono condition_variable csignal cstdarg cuda_profiler_api.h cxxabi.h deque errno.h
exception execution filesystem forward_list fstream future getopt.h iomanip ios iosfwd iostream istream list locale
map memory mpi.h mutex new omp.h ostream pthread.h queue random ranges regex set signal.h sstream stack stdarg.h
stdbool.h stdexcept string string_view sys/stat.h sys/time.h sys/types.h system_error thread typeinfo unistd.h
unordered_map unordered_set vector windows.h ctype.h cuda.h
cublas.h cublas_v2.h cublasLt.h cudnn.h cufft.h curand.h cusolverDn.h cusparse.h nvToolsExt.h nvtx3/nvToolsExt.h
nvtx3/nvtx3.hpp nvrtc.h
exception.h helper_cuda.h helper_functions.h helper_image.h helper_string.h helper_timer.h
thrust/copy.h thrust/count.h thrust/device_free.h thrust/device_malloc.h thrust/device_ptr.h thrust/device_vector.h
thrust/execution_policy.h thrust/extrema.h thrust/fill.h thrust/find.h thrust/for_each.h thrust/gather.h
thrust/generate.h thrust/host_vector.h thrust/inner_product.h thrust/logical.h thrust/merge.h thrust/partition.h
thrust/random.h thrust/reduce.h thrust/remove.h thrust/reverse.h thrust/scan.h thrust/scatter.h thrust/sequence.h
thrust/set_operations.h thrust/sort.h thrust/transform.h thrust/transform_reduce.h thrust/transform_scan.h
thrust/unique.h thrust/universal_vector.h
cub/device/device_histogram.cuh cub/device/device_radix_sort.cuh cub/device/device_reduce.cuh cub/device/device_scan.cuh
cub/device/device_select.cuh
""")


# CUDA 12's libcu++ has no <algorithm>: of it, what kernels use.
_OLD = {
    "algorithm": """
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr void swap(T& a, T& b) { T c = a; a = b; b = c; }
}
"""
}


# CUB says of this header that NVRTC cannot have it; block and warp primitives it can.
_CUB = "".join(
    f"#include <cub/{header}.cuh>\n"
    for header in (
        *("block/block_adjacent_difference", "block/block_discontinuity", "block/block_exchange"),
        *("block/block_histogram", "block/block_load", "block/block_merge_sort", "block/block_radix_sort"),
        *("block/block_reduce", "block/block_run_length_decode", "block/block_scan", "block/block_shuffle"),
        *("block/block_store", "warp/warp_exchange", "warp/warp_load", "warp/warp_merge_sort"),
        *("warp/warp_reduce", "warp/warp_scan", "warp/warp_store"),
    )
)


def _from_libcuxx(name: str) -> str:
    header = f"cuda/std/{name}"
    found = f"#include <{header}>\nnamespace std {{ using namespace cuda::std; }}\n"
    return f"#if __has_include(<{header}>)\n{found}#else{_OLD[name]}#endif\n" if name in _OLD else found


def is_large(name: str) -> bool:
    """Whether a header takes a second to compile in full."""
    return name in _LARGE or name == "cub/cub.cuh"


def stand_ins(in_full: bool) -> dict[str, str]:
    """Name -> text of the headers to hand to NVRTC; without `in_full` the large ones are empty."""
    texts = dict(_SMALL)
    for name in _LARGE:
        texts[name] = _from_libcuxx(name) if in_full else ""
    texts["cub/cub.cuh"] = _CUB if in_full else ""
    texts["nvcc_includes.h"] += "#include <algorithm>\n#include <limits>\n"  # <cmath> includes both
    texts |= {name: f"#include <{target}>\n" for name, target in _SAME.items()}
    texts |= dict.fromkeys(_EMPTY, "")
    return {name: "#pragma once\n" + text for name, text in texts.items()}
