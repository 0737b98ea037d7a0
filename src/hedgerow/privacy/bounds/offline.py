"""Error bounds of offline mechanisms: SmallDB, multiplicative weights, private choice [DR14], [W12]."""

from __future__ import annotations

from math import ceil, comb, exp, inf, log, sqrt

# ---- SmallDB ---------------------------------------------------------------------------------------------


def small_db_size(queries: int, alpha: float, dimension: int | None = None) -> int:
    """How many rows a small database has: ln|Q|/alpha^2, rounded up; enough for one or two queries as well.

    [DR14] Lemma 4.3 needs 2|Q| exp(-2 m alpha^2) < 1, which its m gives for more than two queries. Of a class
    of counting queries whose VC dimension is known, Thm 4.8's number is taken where that is smaller.

    >>> small_db_size(100, 0.5), small_db_size(1, 0.5)
    (19, 2)
    >>> small_db_size(10**30, 0.5), small_db_size(10**30, 0.5, dimension=1)
    (277, 243)
    """
    if queries <= 2:
        return max(1, ceil(log(2 * queries) / (2 * alpha**2)))
    sampled = max(1, ceil(log(queries) / alpha**2))
    return sampled if dimension is None else min(sampled, thm_4_8(dimension, alpha))


def sauer_shelah(points: int, dimension: int) -> int:
    """The most subsets of so many points that a class of this VC dimension cuts out: sum of C(points, i).

    >>> sauer_shelah(4, 2), sauer_shelah(3, 5)
    (11, 8)
    """
    total, term = 1, 1
    for i in range(min(points, dimension)):
        term = term * (points - i) // (i + 1)
        total += term
    return total


def thm_4_8(dimension: int, alpha: float) -> int:
    """[DR14] Thm 4.8 with a constant: so many rows of any table answer a class of counting queries alike.

    The least m with 4 Pi(2m) e^(-alpha^2 m / 8) < 1, Pi(2m) by Sauer and Shelah: by [VC71] m rows that are
    drawn from the table then miss some answer by more than alpha with a chance below 1, so some m rows do
    not. ([VC71] asks for alpha^2 m >= 2 as well; 4 Pi >= 4 makes it at least 11.) Below ln|Q|/alpha^2 only
    for classes of more than e^48 queries: `docs/theory.md` says where.

    Args:
        dimension: the VC dimension of the class.
        alpha: how far off an answer may be, as a fraction of the rows.

    >>> thm_4_8(1, 0.5), thm_4_8(0, 0.5)
    (243, 45)
    """
    low, high = 0, 1
    while not _uniform(high, dimension, alpha):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _uniform(middle, dimension, alpha) else (middle, high)
    return high


def _uniform(size: int, dimension: int, alpha: float) -> bool:
    return log(4.0) + log_whole(sauer_shelah(2 * size, dimension)) < alpha**2 * size / 8.0


def range_size(universe: int, size: int) -> int:
    """How many multisets of `size` elements a universe has.

    >>> range_size(4, 2)
    10
    """
    return comb(universe + size - 1, size)


def log_whole(number: int) -> float:
    """The natural logarithm of a whole number of any length."""
    shift = max(0, number.bit_length() - 900)
    return log(number >> shift) + shift * log(2) + (1e-12 if shift else 0.0)


def prop_4_4(
    rows: float,
    alpha: float,
    epsilon: float,
    log_range: float,
    beta: float,
    *,
    sensitivity: float = 1.0,
    total_off: float = 0.0,
) -> float:
    """[DR14] Prop. 4.4 in rows: how far off SmallDB is in any query, except with probability beta.

    The range is counted exactly (ln|R| after the ceiling in its size). When the number of rows is itself
    measured, `rows` is at least the true number and `total_off` how far the used one may be from it: some
    small database is then within alpha * rows + total_off.

    Args:
        rows: the number of rows.
        alpha: the accuracy that the size of the small databases was chosen for.
        epsilon: of the exponential mechanism.
        log_range: ln|R|.
        beta: how often the bound may fail.
        sensitivity: of a count.
        total_off: how far the number of rows used may be from the true one.

    >>> prop_4_4(1000, 0.1, 1.0, log_range=20.0, beta=0.05) < 146
    True
    """
    return alpha * rows + total_off + 2.0 * sensitivity * (log_range + log(1.0 / beta)) / epsilon


def prop_4_4_best(
    rows: float, universe: float, queries: int, epsilon: float, beta: float, dimension: int | None = None
) -> float:
    """[DR14] Prop. 4.4 at its best alpha, as a fraction of the rows: Thm 4.5 and 4.9 before rounding.

    The small databases have Lemma 4.3's number of rows m, or Thm 4.8's where a VC dimension is given and that
    is fewer. |R| = C(N, j) is at most (e N / j)^j, N = |X| + m - 1 and j the least of m and |X| - 1.

    >>> prop_4_4_best(10**6, 100, 50, 1.0, 0.05) < thm_4_5(10**6, 100, 50, 1.0, 0.05)
    True
    """
    best, alpha, off = inf, 1.0, 0.0
    while off < best:  # a smaller alpha only makes the range larger
        alpha *= 0.97
        m = small_db_size(queries, alpha, dimension)
        j = max(1.0, min(m, universe - 1.0))
        log_range = min(m * log(universe), j * (1.0 + log((universe + m - 1.0) / j)))
        off = prop_4_4(rows, 0.0, epsilon, log_range, beta) / rows
        best = min(best, alpha + off)
    return best


def thm_4_5(rows: float, universe: float, queries: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.5: SmallDB's error at the best alpha, as a fraction of the rows.

    >>> 0.7 < thm_4_5(10_000, 100, 50, 1.0, 0.05) ** 3 * 100 < 4
    True
    """
    return float(((16 * log(universe) * log(queries) + 4 * log(1 / beta)) / (epsilon * rows)) ** (1 / 3))


def thm_4_5_rows(alpha: float, universe: float, queries: float, epsilon: float, beta: float) -> float:
    """[DR14] (4.3): how many rows SmallDB needs for an error of alpha."""
    return (16 * log(universe) * log(queries) + 4 * log(1 / beta)) / (epsilon * alpha**3)


def thm_4_5_queries(alpha: float, rows: float, universe: float, epsilon: float, beta: float) -> float:
    """[DR14] (4.3) for k: how many queries SmallDB answers within alpha; nearly exponential in the rows."""
    exponent = (epsilon * rows * alpha**3 - 4.0 * log(1.0 / beta)) / (16.0 * log(universe))
    return exp(exponent) if exponent < 700.0 else inf


def thm_4_6(rows: float, universe: float, queries: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.6: Thm 4.5 in rows."""
    return rows * thm_4_5(rows, universe, queries, epsilon, beta)


def thm_4_9(rows: float, universe: float, dimension: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.9: SmallDB's error by the VC dimension, order of; counting queries only."""
    return float(((log(universe) * dimension + log(1 / beta)) / (epsilon * rows)) ** (1 / 3))


def thm_4_9_rows(alpha: float, universe: float, dimension: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.9 the other way: how many rows SmallDB needs for an error of alpha, order of."""
    return (log(universe) * dimension + log(1 / beta)) / (epsilon * alpha**3)


# ---- offline multiplicative weights ----------------------------------------------------------------------


def cor_12_5(universe: float, alpha: float) -> int:
    """[W12] Cor. 12.5: after so many rounds no query can be wrong by more than alpha, 4 ln|X|/alpha^2."""
    return max(1, ceil(4.0 * log(universe) / alpha**2))


def thm_12_6(
    alpha: float, selection_off: float, measurement_off: float, total_off: float = 0.0, rows: float = 1.0
) -> float:
    """What [W12] Thm 12.6 gives with its constants, in rows; infinite when its conditions do not hold.

    Let every choice be within `selection_off` rows of the worst query, every measurement within
    `measurement_off`, the number of rows within `total_off`. A run that stops has |y| <= 2 alpha rows, so no
    query is wrong by more than 2 alpha rows + measurement_off + selection_off. Each round that does not stop
    is a true mistake of more than 2 alpha rows - measurement_off; against the true rows, whose number differs
    by total_off, the regret grows by more than alpha rows a round if measurement_off + total_off is at most
    alpha rows, and Cor. 12.5 ends the run.

    >>> thm_12_6(0.05, 100.0, 50.0, rows=10_000)
    1150.0
    >>> thm_12_6(0.05, 100.0, 600.0, rows=10_000)
    inf
    """
    if measurement_off + total_off > alpha * rows:
        return inf
    return 2.0 * alpha * rows + selection_off + measurement_off


def selection_off(candidates: float, epsilon: float, beta: float, sensitivity: float = 1.0) -> float:
    """[DR14] Thm 3.11: how far below the best the exponential mechanism's choice may be."""
    return 2.0 * sensitivity * (log(candidates) + log(1.0 / beta)) / epsilon


def thm_12_6_rows(alpha: float, universe: float, queries: float, epsilon: float, delta: float) -> float:
    """[W12] Thm 12.6: how many rows offline multiplicative weights needs for an error of alpha, order of."""
    return log(queries) * sqrt(log(universe) * log(1.0 / delta)) / (alpha**2 * epsilon)


def thm_12_6_alpha(rows: float, universe: float, queries: float, epsilon: float, delta: float) -> float:
    """[W12] Thm 12.6 the other way: the error that so many rows allow, order of."""
    return sqrt(log(queries) * sqrt(log(universe) * log(1.0 / delta)) / (rows * epsilon))
