"""Operations on the bits of integers and floats. Results have the dtype of the first argument unless said."""

from __future__ import annotations

import numpy as np

_BYTES_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little"), bitorder="big")


def unsigned(x):
    """The same bits as an unsigned integer."""
    return x.view(f"u{x.dtype.itemsize}")


def population_count(x):
    """Number of set bits."""
    return np.bitwise_count(unsigned(x)).astype(x.dtype)


def _bit_length(u):
    """Bits up to the highest set one, uint8; `u` is unsigned."""
    kind, shift = u.dtype.type, 1
    while shift < 8 * u.dtype.itemsize:
        u = u | (u >> kind(shift))
        shift *= 2
    return np.bitwise_count(u)


def leading_zeros(x):
    """Zeros above the highest set bit; the width of the type for 0."""
    return (np.uint8(8 * x.dtype.itemsize) - _bit_length(unsigned(x))).astype(x.dtype)


def find_first_set(x):
    """Position of the lowest set bit, counted from 1, as uint32; 0 for 0."""
    u = unsigned(x)
    up_to_lowest = u ^ (u - u.dtype.type(1))
    return np.bitwise_count(up_to_lowest).astype(np.uint32) * (u != 0)


def reverse(x):
    """The bits in opposite order."""
    scalar = not isinstance(x, np.ndarray)
    whole = np.ascontiguousarray(np.atleast_1d(x))
    width = whole.dtype.itemsize
    octets = _BYTES_REVERSED[whole.view(np.uint8).reshape(-1, width)[:, ::-1]]
    turned = np.ascontiguousarray(octets).view(whole.dtype).reshape(whole.shape)
    return turned[0] if scalar else turned


def byte_permute(x, y, selector):
    """Four bytes picked from the eight of y:x, each by the low three of four bits of the selector."""
    pool = unsigned(x).astype(np.uint64) | (unsigned(y).astype(np.uint64) << np.uint64(32))
    select = unsigned(selector).astype(np.uint64)
    result = np.uint64(0)
    for place in range(4):
        nibble = select >> np.uint64(4 * place)
        byte = (pool >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
        result = result | (byte << np.uint64(8 * place))
    return result.astype(np.uint32).view(np.int32)


def multiply_high_32(x, y, dtype):
    """The upper 32 bits of the 64-bit product; both taken as `dtype` (int32 or uint32), the result is int32."""
    wide = np.int64 if dtype == np.int32 else np.uint64
    product = x.view(dtype).astype(wide) * y.view(dtype).astype(wide)
    return (product >> wide(32)).astype(np.int32)


def multiply_high_u64(x, y):
    """The upper 64 bits of the 128-bit product of two uint64."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    xh, xl, yh, yl = x >> half, x & mask, y >> half, y & mask
    low, mid1, mid2 = xl * yl, xh * yl, xl * yh
    carry = ((low >> half) + (mid1 & mask) + (mid2 & mask)) >> half
    return xh * yh + (mid1 >> half) + (mid2 >> half) + carry


def multiply_high_s64(x, y):
    """The upper 64 bits of the 128-bit product of two int64."""
    high = multiply_high_u64(x.view(np.uint64), y.view(np.uint64)).view(np.int64)
    return high - np.where(x < 0, y, 0)[()] - np.where(y < 0, x, 0)[()]


def low_24_bits(x, dtype):
    """The low 24 bits of an int32, sign-extended (dtype int32) or not (uint32), as int64."""
    shift = dtype(8)
    return ((x.view(dtype) << shift) >> shift).astype(np.int64)


def high_word(x):
    """The upper 32 bits of a float64, as int32."""
    return (x.view(np.int64) >> np.int64(32)).astype(np.int32)


def low_word(x):
    """The lower 32 bits of a float64, as int32."""
    return x.view(np.int64).astype(np.int32)


def from_words(high, low):
    """The float64 whose upper and lower 32 bits are two int32."""
    joined = (high.astype(np.int64) << np.int64(32)) | low.view(np.uint32).astype(np.int64)
    return joined.view(np.float64)
