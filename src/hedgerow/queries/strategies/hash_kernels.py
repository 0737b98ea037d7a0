"""The compiled loops of `sketch_matrix`: arithmetic in GF(2^s) and modulo the Mersenne prime 2^61 - 1."""

# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False, disallow-untyped-calls=False

import numpy as np

from hedgerow.compiled import njit

_P = np.uint64((1 << 61) - 1)
_ZERO, _ONE, _LOW = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)
_S3, _S29, _S32, _S61 = np.uint64(3), np.uint64(29), np.uint64(32), np.uint64(61)


@njit(cache=True, nogil=True)
def times_mersenne(a, b):
    """a b modulo 2^61 - 1, for a, b below it: four half products, then 2^61 = 1 and 2^64 = 8."""
    a1, a0 = a >> _S32, a & _LOW
    b1, b0 = b >> _S32, b & _LOW
    middle = a1 * b0 + a0 * b1  # each half product is below 2^61
    low = a0 * b0
    high = a1 * b1  # counts 2^64
    total = (high << _S3) + (middle >> _S29) + (low >> _S61) + (low & _P)
    total += (middle & np.uint64((1 << 29) - 1)) << _S32
    total = (total & _P) + (total >> _S61)
    return total - _P if total >= _P else total


@njit(cache=True, nogil=True)
def polynomial_mersenne(coefficients, x):
    """A polynomial's value at x, by Horner's rule."""
    value = _ZERO
    for c in coefficients:
        value = times_mersenne(value, x) + c
        if value >= _P:
            value -= _P
    return value


@njit(cache=True, nogil=True)
def times_binary(a, b, bits, low):
    """a b in GF(2^bits), the field of polynomials modulo t^bits + low."""
    top = _ONE << np.uint64(bits - 1)
    product = _ZERO
    while b:
        if b & _ONE:
            product ^= a
        carry = a & top
        a = (a ^ carry) << _ONE
        if carry:
            a ^= low
        b >>= _ONE
    return product


@njit(cache=True, nogil=True)
def fold_table(bits, low):
    """i t^bits for the 16 polynomials i of degree below 4: what four bits shifted out come back as."""
    table = np.zeros(16, dtype=np.uint64)
    for i in range(16):
        for j in range(4):
            if i >> j & 1:
                power = low
                for _ in range(j):
                    power = times_binary(power, np.uint64(2), bits, low)
                table[i] ^= power
    return table


@njit(cache=True, nogil=True)
def polynomial_binary(coefficients, x, bits, low, fold, window):
    """A polynomial's value at x in GF(2^bits), bits at least 4, four bits of Horner's value at a time.

    `fold` is the field's `fold_table`; `window` is scratch for the 16 multiples of x.
    """
    top = _ONE << np.uint64(bits - 1)
    mask = (top - _ONE) | top
    window[0] = _ZERO
    window[1] = x
    for i in range(2, 16):
        if i & 1:
            window[i] = window[i - 1] ^ x
        else:
            half = window[i >> 1]
            window[i] = ((half << _ONE) & mask) ^ (low if half & top else _ZERO)
    digits = (bits + 3) // 4
    over = np.uint64(bits - 4)
    value = _ZERO
    for c in coefficients:
        product = _ZERO
        for d in range(digits - 1, -1, -1):
            product = ((product << np.uint64(4)) & mask) ^ fold[product >> over]
            product ^= window[(value >> np.uint64(4 * d)) & np.uint64(15)]
        value = product ^ c
    return value


@njit(cache=True, nogil=True)
def add_blocks(points, weights, coefficients, width, out):
    """Add w to one signed bucket of every block: out += A w, sparse columns."""
    for i in range(len(points)):
        x = points[i] % _P
        for b in range(len(coefficients)):
            h = polynomial_mersenne(coefficients[b], x)
            place = b * width + np.int64((h >> _ONE) % np.uint64(width))
            out[place] += weights[i] if h & _ONE else -weights[i]


@njit(cache=True, nogil=True)
def read_blocks(points, weights, coefficients, width, vector, scratch):
    """<A w, vector>, |A w|^2 and the largest |entry| of A w; `scratch` is zero before and after."""
    blocks = len(coefficients)
    places = np.empty(len(points) * blocks, dtype=np.int64)
    for i in range(len(points)):
        x = points[i] % _P
        for b in range(blocks):
            h = polynomial_mersenne(coefficients[b], x)
            place = b * width + np.int64((h >> _ONE) % np.uint64(width))
            places[i * blocks + b] = place
            scratch[place] += weights[i] if h & _ONE else -weights[i]
    inner, square, largest = 0.0, 0.0, 0.0
    for place in places:
        entry = float(scratch[place])
        if entry != 0.0:
            inner += entry * vector[place]
            square += entry * entry
            largest = max(largest, abs(entry))
            scratch[place] = 0
    return inner, square, largest


@njit(cache=True, nogil=True)
def add_signs(points, weights, coefficients, bits, low, shift, out):
    """Add w, with a sign, to every coordinate: out += A w, dense columns."""
    fold, window = fold_table(bits, low), np.zeros(16, dtype=np.uint64)
    for i in range(len(points)):
        base = points[i] << np.uint64(shift)
        for t in range(len(out)):
            x = base | np.uint64(t)
            h = polynomial_binary(coefficients, x, bits, low, fold, window)
            out[t] += weights[i] if h & _ONE else -weights[i]
