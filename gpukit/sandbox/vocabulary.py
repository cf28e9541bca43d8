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

# Of PyTorch: what NumPy's list has, gradients, and `no_grad` for a `with`; no files, code, threads, devices or memory.
TORCH = words("""
Tensor abs absolute add addcdiv addcmul addmm addmv all allclose amax amin any arange argmax argmin argsort as_tensor
asarray baddbmm bfloat16 bincount bmm bool broadcast_to bucketize cat ceil chunk clamp clamp_max clamp_min clone concat
count_nonzero cumprod cumsum diag diff div divide dot double dtype einsum empty empty_like eq equal erf exp expm1 eye
flatten flip float float16 float32 float64 floor floor_divide from_numpy full full_like gather ge gt half heaviside
hstack index_add index_select inf int int16 int32 int64 int8 isclose isfinite isin isinf isnan le lerp linspace log
log10 log1p log2 logical_and logical_not logical_or logical_xor logit logsumexp long lt masked_fill masked_select matmul
max maximum mean median min minimum mm mul multiply mv nan nan_to_num ne neg negative no_grad nonzero norm numel ones
ones_like outer permute pi pow prod ravel reciprocal relu remainder repeat_interleave reshape roll round rsqrt scatter
scatter_add scatter_reduce searchsorted select sigmoid sign softmax sort split sqrt square squeeze stack std sub
subtract sum swapaxes t take take_along_dim tan tanh tensor tile topk transpose tril triu trunc uint8 unbind unique
unique_consecutive unsqueeze var vstack where zeros zeros_like
""")
FUNCTIONAL = words("""
binary_cross_entropy binary_cross_entropy_with_logits cross_entropy elu embedding gelu huber_loss l1_loss layer_norm
leaky_relu linear log_softmax logsigmoid mse_loss nll_loss normalize one_hot pad relu sigmoid silu softmax softplus
tanh
""")
AUTOGRAD = words("grad")
# Attributes of tensors, besides those that arrays have, too. Those with `_` at the end change the tensor.
ATTRIBUTES |= words("""
abs abs_ absolute add_ addcdiv addcdiv_ addcmul addcmul_ addmm allclose amax amin argwhere backward bfloat16 bincount
bmm bool broadcast_to ceil chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clone coalesce contiguous copy_
cos cpu detach detach_ device dim div div_ double element_size eq equal erf exp exp2 exp_ expand expand_as expm1 fill_
flip float floor floor_divide gather ge grad gt half index_add index_add_ index_copy index_copy_ index_fill index_fill_
index_put index_put_ index_select indices int is_coalesced is_contiguous is_floating_point is_leaf is_sparse isfinite
isinf isnan le lerp lerp_ log log1p logical_and logical_not logical_or logit logsumexp long lt mT masked_fill
masked_fill_ masked_select matmul maximum median minimum mm mul mul_ mv ne neg neg_ new_empty new_full new_ones
new_tensor new_zeros norm numel numpy permute pow pow_ reciprocal relu relu_ remainder repeat_interleave requires_grad
requires_grad_ reshape_as retain_grad round_ rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_ scatter_reduce
scatter_reduce_ select sigmoid sigmoid_ sign sin softmax sqrt sqrt_ square stride sub sub_ t tanh tanh_ tile to to_dense
topk true_divide trunc type_as unbind unflatten unique unique_consecutive unsqueeze unsqueeze_ view view_as where zero_
""")
# Attributes that host code may assign to.
ASSIGNED = words("flat grad imag real requires_grad shape")

# Module of host code -> what it may use of it; None for all that has no `_` in front.
OF_MODULE: dict[str, frozenset[str] | None] = {
    "math": None,
    "numpy": NUMPY,
    "torch": TORCH,
    "torch.autograd": AUTOGRAD,
    "torch.nn": frozenset(),
    "torch.nn.functional": FUNCTIONAL,
}
HOST_MODULES = ("math", "numpy", "torch", "torch.nn.functional")
