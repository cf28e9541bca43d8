"""The names that host code of a student may use: what labs need, and nothing that reaches out of a calculation."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXCEPTIONS = """
ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError NotImplementedError
OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError
"""
BUILTINS = words(f"""
abs all any bin bool bytes chr complex dict divmod enumerate filter float frozenset hash hex int isinstance iter len
list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple zip
NotImplemented Ellipsis {_EXCEPTIONS}
""")

# Of NumPy: making arrays, arithmetic, sorting, searching, counting; no files, no buffers, no random numbers.
NUMPY = words("""
abs absolute add all allclose amax amin angle any append apply_along_axis arange arccos arcsin arctan arctan2 argmax
argmin argpartition argsort argwhere around array array_equal array_split asarray ascontiguousarray asfortranarray
atleast_1d atleast_2d average bincount bitwise_and bitwise_count bitwise_not bitwise_or bitwise_xor block bool bool_
broadcast_to ceil choose clip column_stack complex128 complex64 concatenate convolve copy copysign correlate cos cosh
count_nonzero cross cumprod cumsum deg2rad diag diagonal diff digitize divide divmod dot double dtype e ediff1d einsum
empty empty_like equal exp exp2 expand_dims expm1 extract eye finfo flatnonzero flip fliplr flipud float16 float32
float64 floor floor_divide fmax fmin fmod fromiter full full_like gcd gradient greater greater_equal histogram hsplit
hstack hypot identity iinfo indices inf inner insert int16 int32 int64 int8 integer interp intersect1d intp invert
isclose isfinite isin isinf isnan issubdtype kron lcm ldexp left_shift less less_equal lexsort linspace log log10 log1p
log2 logical_and logical_not logical_or logical_xor logspace matmul max maximum mean median meshgrid min minimum mod
moveaxis multiply nan nan_to_num nanmax nanmean nanmin nansum ndarray ndim negative newaxis nonzero not_equal ones
ones_like outer pad partition percentile pi place positive power prod ptp put put_along_axis quantile rad2deg ravel
ravel_multi_index reciprocal remainder repeat reshape resize right_shift rint roll rot90 round searchsorted select
setdiff1d shape sign signbit sin single sinh size sort split sqrt square squeeze stack std subtract sum swapaxes take
take_along_axis tan tanh tensordot tile trace transpose trapezoid tri tril triu true_divide trunc uint16 uint32 uint64
uint8 union1d unique unpackbits unravel_index var vdot vsplit vstack where zeros zeros_like packbits delete
""")

# Attributes of arrays, scalars, ufuncs, strings, lists, dictionaries, sets and exceptions.
ATTRIBUTES = words("""
accumulate add all any append args argmax argmin argpartition argsort as_integer_ratio astype at bit_count bit_length
bits capitalize clear clip conj conjugate copy count cumprod cumsum denominator diagonal difference discard dot dtype
endswith eps extend fill find flat flatten from_bytes get imag index insert intersection is_integer isalpha isdigit
isdisjoint issubset issuperset item items itemsize join keys kind ljust lower lstrip max maxexp mean min name nbytes
ndim nonzero numerator outer partition pop popitem prod ptp put ravel real reduce reduceat remove repeat replace reshape
resize reverse rjust round rstrip searchsorted setdefault shape size sort split splitlines squeeze start startswith std
step stop strides strip sum swapaxes symmetric_difference T take tiny title to_bytes tolist trace transpose union update
upper values var zfill
""")

HOST_MODULES = ("math", "numpy")
