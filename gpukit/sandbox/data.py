"""The closed format in which values pass between a child and its parent: numbers, strings, bytes, lists, tuples, None
and NumPy arrays. Reading it makes these and nothing else, whatever the bytes are.

A value is a letter, then what that kind needs; all integers are little endian:

    N T F              None, True, False
    i len:u32 bytes    int, two's complement
    f c                float, complex: 8 and 16 bytes
    s b len:u32 bytes  str in UTF-8, bytes
    l t count:u32 ...  list, tuple
    g a dtype:u8 ...   NumPy scalar; array: ndim:u8, shape:u32 each, then the elements in C order
"""

from __future__ import annotations

import math
import struct
import sys
from typing import Any

MAX_DEPTH = 16
MAX_BYTES = 1 << 22
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


class FormatError(ValueError):
    """A value that this format does not hold (`pack`), or bytes that are not in it (`unpack`)."""


def pack(value: object, most: int = MAX_BYTES) -> bytes:
    """Raises FormatError, with what the value is, for anything but the types above; subclasses are refused too."""
    made = bytearray()
    _pack(value, made, most, 0)
    return bytes(made)


def _pack(value: Any, made: bytearray, most: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FormatError(f"lists nested more than {MAX_DEPTH} deep")
    kind = type(value)
    if value is None or kind is bool:
        made += b"N" if value is None else b"T" if value else b"F"
    elif kind is int:
        size = value.bit_length() // 8 + 1
        _room(made, size, most)
        made += b"i" + struct.pack("<I", size) + value.to_bytes(size, "little", signed=True)
    elif kind is float:
        made += b"f" + struct.pack("<d", value)
    elif kind is complex:
        made += b"c" + struct.pack("<dd", value.real, value.imag)
    elif kind is str or kind is bytes:
        _room(made, len(value), most)
        try:
            raw = value.encode() if kind is str else value
        except UnicodeEncodeError:
            raise FormatError("a string with half a surrogate pair") from None
        made += (b"s" if kind is str else b"b") + struct.pack("<I", len(raw)) + raw
    elif kind is list or kind is tuple:
        _room(made, len(value), most)
        made += (b"l" if kind is list else b"t") + struct.pack("<I", len(value))
        for item in value:
            _pack(item, made, most, depth + 1)
    else:
        _pack_numpy(value, made, most)
    _room(made, 0, most)


def _pack_numpy(value: Any, made: bytearray, most: int) -> None:
    np = sys.modules.get("numpy")  # without it there are no values of its types
    is_array = np is not None and type(value) is np.ndarray
    if np is None or not (is_array or isinstance(value, np.generic)):
        raise FormatError(f"a value of type {type(value).__name__}")
    if value.dtype.name not in _DTYPES or (not is_array and type(value) is not np.dtype(value.dtype.name).type):
        raise FormatError(f"NumPy values of dtype {value.dtype}")
    _room(made, value.nbytes, most)
    made += (b"a" if is_array else b"g") + bytes([_DTYPES.index(value.dtype.name)])
    if is_array:
        made += bytes([value.ndim]) + struct.pack(f"<{value.ndim}I", *value.shape)
    made += value.astype(np.dtype(value.dtype.name).newbyteorder("<")).tobytes()


def _room(made: bytearray, size: int, most: int) -> None:
    if len(made) + size > most:
        raise FormatError(f"more than {most:,} bytes")


def unpack(data: bytes) -> Any:
    """The value in `data`; arrays are new ones. Raises FormatError for bytes that are not one value in this format."""
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (struct.error, UnicodeDecodeError, IndexError):
        raise FormatError("the data is cut short or garbled") from None
    if reader.place != len(data):
        raise FormatError("there is more data than one value")
    return value


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.place = data, 0

    def take(self, size: int) -> bytes:
        if self.place + size > len(self.data):
            raise FormatError("the data is cut short")
        self.place += size
        return self.data[self.place - size : self.place]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise FormatError("nested too deep")
        match self.take(1):
            case b"N":
                return None
            case b"T":
                return True
            case b"F":
                return False
            case b"i":
                return int.from_bytes(self.take(self.number()), "little", signed=True)
            case b"f":
                return struct.unpack("<d", self.take(8))[0]
            case b"c":
                return complex(*struct.unpack("<dd", self.take(16)))
            case b"s":
                return self.take(self.number()).decode()
            case b"b":
                return self.take(self.number())
            case b"l":
                return self._items(depth)
            case b"t":
                return tuple(self._items(depth))
            case b"g":
                return self._array(())[()]
            case b"a":
                return self._array(None)
        raise FormatError("no such kind of value")

    def _items(self, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self.number())]  # ends with the data at the latest

    def _array(self, shape: tuple[int, ...] | None) -> Any:
        import numpy as np

        dtype = np.dtype(_DTYPES[self.take(1)[0]])
        if shape is None:
            shape = tuple(self.number() for _ in range(self.take(1)[0]))
        if len(shape) > 32 or math.prod(max(1, size) for size in shape) > 1 << 40:
            raise FormatError("no such shape")
        raw = self.take(math.prod(shape) * dtype.itemsize)
        if dtype.kind == "b":  # bytes other than 0 and 1 would make values that are neither true nor false
            return (np.frombuffer(raw, np.uint8) != 0).reshape(shape)
        return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
