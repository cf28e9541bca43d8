"""What a call of host code makes PyTorch do, counted as if its tensors were on a GPU and NumPy's arrays on the host.

The child has the CPU alone. What would launch a kernel there, or wait for the GPU, is known from the operations that
PyTorch dispatches (`aten`) and from the few methods that read a tensor without one. Arrays and tensors share no memory
while this counts, as on a GPU: otherwise an array could be a window through which a tensor is read uncounted.

This module imports PyTorch only where it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gpukit.sandbox.vocabulary import words

# Operations that start a kernel: what is no view, no allocation and no question about a tensor.
OPERATIONS = "operations"
# The host waits for the GPU: numbers and arrays made of tensors, and results whose size depends on data.
HOST_READS = "host_reads"
# Arrays and lists that were made tensors, and what was moved to them.
UPLOADS = "uploads"
# Operations that only copy or convert: clone, copy_, to, contiguous.
COPIES = "copies"
# Bytes of gradients of lookups (embedding, index, index_select, gather, take) that are as large as the table.
DENSE_GRADIENT_BYTES = "dense_gradient_bytes"
# Bytes that operations write; of one that changes the rows it is told, those rows.
WRITTEN_BYTES = "written_bytes"
COUNTERS = (OPERATIONS, HOST_READS, UPLOADS, COPIES, DENSE_GRADIENT_BYTES, WRITTEN_BYTES)

_NO_KERNEL = words("""
_coalesced_ _local_scalar_dense _nnz _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors
_unsafe_view empty empty_like empty_strided is_coalesced lift_fresh new_empty new_empty_strided resize_ sparse_dim
dense_dim
""")
_COPIES = words("_to_copy clone copy_ contiguous")
# The host must know how much there is before it goes on. Masks as indices do this, too.
_SIZES = words("""
_coalesce _local_scalar_dense _unique2 allclose bincount equal masked_select nonzero unique_consecutive unique_dim
""")
_BY_INDEX = words("index index_put index_put_ _index_put_impl_")
# In the backward pass these make the gradient of a whole table of the few rows that were looked up.
_TABLE_GRADIENTS = words("""
embedding_dense_backward _embedding_bag_dense_backward index_add index_add_ index_put index_put_ _index_put_impl_ put
put_ scatter_add scatter_add_
""")
# They write where they are told: name -> which argument is written there.
_WRITE_ROWS = {
    **dict.fromkeys(("index_add_", "index_copy_", "scatter_", "scatter_add_", "scatter_reduce_"), 3),
    **dict.fromkeys(("index_put_", "_index_put_impl_", "put_"), 2),
}
_DEEPEST = 8


class Counts:
    """What a call did, by counter, and by counter and line."""

    def __init__(self, file: str):
        self._file = file
        self._at: Counter[tuple[str, int]] = Counter()

    def add(self, **amounts: int) -> None:
        line = _line(self._file)
        for counter, amount in amounts.items():
            self._at[counter, line] += amount

    def rows(self) -> list[tuple[str, int, int]]:
        """(counter, what was counted, the line that did most of it or 0)."""
        found = []
        for counter in COUNTERS:
            lines = {line: amount for (name, line), amount in self._at.items() if name == counter and amount}
            found.append((counter, sum(lines.values()), max(lines, key=lambda line: (lines[line], -line), default=0)))
        return found


class _Here(Exception):
    pass


def _line(file: str) -> int:
    """The line of the student's file that is running; 0 if none is.

    An exception knows the frame it was raised in, and Python asks nobody whether that may be looked at.
    """
    try:
        raise _Here
    except _Here as here:
        assert here.__traceback__ is not None
        frame: FrameType | None = here.__traceback__.tb_frame
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def modes(counts: Counts) -> list[Any]:
    """Context managers between which everything that PyTorch does is added to `counts`."""
    import numpy as np
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    tensor = torch.Tensor
    # Reads of a tensor for which nothing is dispatched.
    reads = {tensor.numpy, tensor.tolist, tensor.cpu, tensor.__array__, tensor.__repr__, tensor.__format__}
    makes = {torch.tensor, torch.as_tensor, torch.asarray, tensor.new_tensor}
    # What `.cpu()` made, as long as no kernel has run since: `.cpu().numpy()` and `.cpu().item()` are one read.
    copied: list[Any] = [None]

    def is_new(value: Any) -> bool:
        return value is not copied[0]

    class Methods(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func in makes:
                lists = [value for value in args if isinstance(value, list | tuple)]  # of tensors: each is read
                counts.add(host_reads=sum(isinstance(part, tensor) for part in _parts(lists)))
            made = func(*args, **kwargs)
            if func not in reads and not (func is tensor.to and "cpu" in (*args[1:2], kwargs.get("device"))):
                return made
            if func is not tensor.__format__ or args[0].dim():  # one number is dispatched
                counts.add(host_reads=int(is_new(args[0])))
            if isinstance(made, np.ndarray):
                return made.copy()
            if isinstance(made, tensor):
                made = copied[0] = made.clone()
            return made

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            made = func(*args, **kwargs)
            name = func.overloadpacket.__name__
            if name == "lift_fresh":
                counts.add(uploads=int(made.dim() > 0))  # a number is a kernel's argument
                return made.clone()
            if name in _SIZES or (name in _BY_INDEX and _has_mask(args[1])) or _repeats_unknown(name, args, kwargs):
                counts.add(host_reads=int(is_new(args[0])))
            if name in _NO_KERNEL or _is_view(func):
                return made
            outputs = [part for part in _parts(made) if isinstance(part, tensor)]
            of_a_table = name in _TABLE_GRADIENTS and torch._C._current_graph_task_id() != -1
            rows = args[_WRITE_ROWS[name]] if len(args) > _WRITE_ROWS.get(name, len(args)) else None
            if name == "add_" and isinstance(args[1], tensor) and args[1].is_sparse:
                rows = args[1]
            counts.add(
                operations=1,
                copies=int(name in _COPIES),
                dense_gradient_bytes=sum(map(_bytes, outputs)) if of_a_table else 0,
                written_bytes=sum(map(_bytes, [rows] if isinstance(rows, tensor) else outputs)),
            )
            copied[0] = None
            return made

    def _has_mask(indices: Any) -> bool:
        return any(isinstance(index, tensor) and index.dtype in (torch.bool, torch.uint8) for index in indices)

    def _bytes(made: Any) -> int:
        return (made._values() if made.is_sparse else made).numel() * made.element_size()

    return [Methods(), Operations()]


def _parts(values: Any, depth: int = 0) -> Iterator[Any]:
    """What lies in lists and tuples of lists and tuples."""
    if isinstance(values, list | tuple) and depth < _DEEPEST:
        for value in values:
            yield from _parts(value, depth + 1)
    else:
        yield values


def _is_view(func: Any) -> bool:
    aliases = [result.alias_info for result in func._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _repeats_unknown(name: str, args: tuple, kwargs: dict[str, Any]) -> bool:
    return name == "repeat_interleave" and len(args) == 1 and kwargs.get("output_size") is None
