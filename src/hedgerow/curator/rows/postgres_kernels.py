"""The compiled loops that take PostgreSQL's binary arrays apart, in a module of their own so that the room
imports without a compiler.

An element is its length (four bytes, the highest first; -1 is NULL) and its bytes.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

import numpy as np

from hedgerow.compiled import njit

_POSITIVE, _NEGATIVE = 0x0000, 0x4000
_DIGITS = 4  # decimal digits in one of PostgreSQL's


@njit(cache=True, nogil=True)
def split(data, at, starts, sizes):
    """Where the elements of an array are that begin at a place; False if the bytes do not hold them."""
    for row in range(len(starts)):
        if at + 4 > len(data):
            return False
        size = np.int64(0)
        for i in range(4):
            size = (size << 8) | np.int64(data[at + i])
        at += 4
        if size == 0xFFFFFFFF:
            size = np.int64(-1)
        starts[row] = at
        sizes[row] = size
        at += max(size, np.int64(0))
    return at == len(data)


@njit(cache=True, nogil=True)
def whole(data, starts, sizes, width, out):
    """Signed whole numbers of `width` bytes; 0 where there is none, False if a field has another size."""
    fits = True
    for row in range(len(starts)):
        value = np.int64(0)
        if sizes[row] >= 0:
            fits = fits and sizes[row] == width
            for i in range(width if sizes[row] == width else 0):
                value = (value << 8) | np.int64(data[starts[row] + i])
            if width < 8 and value >> (8 * width - 1):
                value -= np.int64(1) << (8 * width)
        out[row] = value
    return fits


@njit(cache=True, nogil=True)
def measure(data, starts, sizes, padded, offsets):
    """Where the bytes of each field end when all are put together; blanks that only pad do not count."""
    total = np.int64(0)
    offsets[0] = 0
    for row in range(len(starts)):
        size = max(sizes[row], 0)
        while padded and size and data[starts[row] + size - 1] == 0x20:
            size -= 1
        total += size
        offsets[row + 1] = total
    return total


@njit(cache=True, nogil=True)
def gather(data, starts, offsets, out):
    """Put the fields' bytes together."""
    for row in range(len(starts)):
        at = offsets[row]
        for i in range(offsets[row + 1] - at):
            out[at + i] = data[starts[row] + i]


@njit(cache=True, nogil=True)
def decimals(data, starts, sizes, scale, out, slow):
    """Numerics as whole multiples of 10^-scale, 0 where there is none; marks those that are not so small.

    PostgreSQL writes them as digits of base 10^4: how many there are, the weight of the first, sign, scale.
    """
    for row in range(len(starts)):
        out[row], slow[row] = 0, False
        if sizes[row] < 0:
            continue
        at = starts[row]
        digits = (np.int64(data[at]) << 8) | np.int64(data[at + 1])
        weight = (np.int64(data[at + 2]) << 8) | np.int64(data[at + 3])
        sign = (np.int64(data[at + 4]) << 8) | np.int64(data[at + 5])
        if weight >= 1 << 15:
            weight -= 1 << 16
        if (sign != _POSITIVE and sign != _NEGATIVE) or weight > 3 or digits > 8 or scale > 18:
            slow[row] = True
            continue
        value = np.int64(0)
        for i in range(digits):
            digit = (np.int64(data[at + 8 + 2 * i]) << 8) | np.int64(data[at + 9 + 2 * i])
            power = (weight - i) * _DIGITS + scale
            while power < 0:
                if digit % 10:
                    slow[row] = True
                digit //= 10
                power += 1
            for _ in range(power if digit else 0):
                if digit > 10**17:
                    slow[row] = True
                    break
                digit *= 10
            if digit > 10**18 - value:
                slow[row] = True
                break
            value += digit
        out[row] = -value if sign == _NEGATIVE else value
