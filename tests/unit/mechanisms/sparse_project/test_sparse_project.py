"""SparseProject: the hash family, the sketch, the charge, and what it answers."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.sketch import LengthOfCounts, SketchOf
from hedgerow.queries.strategies.hash_kernels import (
    fold_table,
    polynomial_binary,
    polynomial_mersenne,
    times_binary,
    times_mersenne,
)
from hedgerow.queries.strategies.sketch_matrix import FIELDS, SketchMatrix
from sizes import size

P = (1 << 61) - 1
SEED = bytes(range(32))
NAMES = ["oak"] * 40 + ["ash"] * 25 + ["elm"] * 3 + [f"tree {i}" for i in range(200)]


def make(budget=None, names=None, **options) -> hr.Curator:
    table = hr.Table.open(NAMES if names is None else names, hr.OpenDomain(), **options.pop("unit", {}))
    return hr.Curator(table, budget or hr.Budget(1.0, 1e-6), ":memory:", **options)


def carryless(a: int, b: int, bits: int, low: int) -> int:
    """The schoolbook product in GF(2^bits)."""
    out = 0
    for i in range(bits):
        if b >> i & 1:
            out ^= a << i
    for i in range(2 * bits - 2, bits - 1, -1):
        if out >> i & 1:
            out ^= ((1 << bits) | low) << (i - bits)
    return out


@pytest.mark.parametrize("bits", FIELDS)
def test_each_field_is_a_field(bits):
    # Rabin: t^(2^s) = t, and t^(2^(s/q)) - t is invertible for every prime q dividing s; s = 5 or 2^j
    low = FIELDS[bits]

    def frobenius(times: int) -> int:
        x = 2
        for _ in range(times):
            x = carryless(x, x, bits, low)
        return x

    assert frobenius(bits) == 2
    rest = frobenius(bits // 2 if bits != 5 else 1) ^ 2
    a, b = (1 << bits) | low, rest
    while b:  # gcd of polynomials over GF(2)
        while a.bit_length() >= b.bit_length():
            a ^= b << (a.bit_length() - b.bit_length())
        a, b = b, a
    assert a == 1


def value(coefficients, x: int, bits: int) -> int:
    low, c = np.uint64(FIELDS[bits]), np.array(coefficients, dtype=np.uint64)
    scratch = np.zeros(16, dtype=np.uint64)
    return int(polynomial_binary(c, np.uint64(x), bits, low, fold_table(bits, low), scratch))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.sampled_from(list(FIELDS)))
def test_products_in_binary_fields_are_the_schoolbooks(a, b, bits):
    a, b = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
    low = np.uint64(FIELDS[bits])
    want = carryless(a, b, bits, FIELDS[bits])
    assert int(times_binary(np.uint64(a), np.uint64(b), bits, low)) == want
    assert value([a, 0], b, bits) == want  # a x + 0


@given(st.integers(0, P - 1), st.integers(0, P - 1))
def test_products_modulo_the_mersenne_prime_are_exact(a, b):
    assert int(times_mersenne(np.uint64(a), np.uint64(b))) == a * b % P


def test_the_mersenne_polynomial_is_horners():
    rng = np.random.default_rng(1)
    c = rng.integers(0, P, 7, dtype=np.uint64)
    for x in rng.integers(0, P, 50, dtype=np.uint64):
        want = sum(int(k) * pow(int(x), 6 - i, P) for i, k in enumerate(c)) % P
        assert int(polynomial_mersenne(c, x)) == want


@pytest.mark.parametrize(("bits", "r"), [(4, 2), (4, 3), (5, 2)])
def test_signs_over_a_small_field_are_exactly_r_wise_independent(bits, r):
    # over all polynomials of r coefficients, any r distinct points see every pattern equally often
    size = 1 << bits
    bit = np.array([[value(c, x, bits) & 1 for x in range(size)] for c in product(range(size), repeat=r)])
    for points in combinations(range(1 << bits), r):
        patterns = bit[:, points] @ (1 << np.arange(r))
        assert len(set(np.bincount(patterns, minlength=1 << r).tolist())) == 1


@pytest.mark.parametrize("columns", ["blocks", "signs"])
def test_columns_have_exactly_the_norms_that_sensitivity_is_read_from(columns):
    a = SketchMatrix(64, SEED, columns=columns, blocks=8)
    seen = [a.apply([f"name {i}"], [1]) for i in range(300)]
    for column in seen:
        assert int(np.abs(column).sum()) == a.norms.l1
        assert int(column @ column) == a.norms.l2_squared
        if columns == "blocks":
            assert (np.abs(column.reshape(8, 8)).sum(axis=1) == 1).all()
    gaps = [x - y for x, y in combinations(seen, 2)]
    assert max(int(np.abs(g).sum()) for g in gaps) <= a.norms.replace_l1
    assert max(int(g @ g) for g in gaps) <= a.norms.replace_l2_squared
    assert a.norms.replace_l2_squared == 4 * a.norms.l2_squared  # opposite signs in one place reach it


def test_the_sketch_has_no_collisions_between_coordinates_of_dense_columns():
    a = SketchMatrix(256, SEED, columns="signs", independence=8)
    many = np.stack([a.apply([f"n{i}"], [1]) for i in range(400)])
    assert abs(many.mean()) < 6 / np.sqrt(many.size)  # false alarm below 1e-6


def test_sketches_of_disjoint_halves_with_one_seed_add_up():
    for columns in ("blocks", "signs"):
        a = SketchMatrix(128, SEED, columns=columns)
        parts = [
            SketchOf(a).exact(Rows(hr.Table.open(names, hr.OpenDomain()), bytes(32)))
            for names in (NAMES[::2], NAMES[1::2], NAMES)
        ]
        assert np.array_equal(parts[0] + parts[1], parts[2])


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
)
def test_the_length_of_counts_moves_by_no_more_than_the_rows_added(names, more):
    def length(rows):
        return int(LengthOfCounts().exact(Rows(hr.Table.open(rows or [None], hr.OpenDomain()), bytes(32))))

    assert abs(length(names + more) - length(names)) <= len(more) + (not names)


def test_the_whole_price_is_charged_and_not_a_grain_more():
    curator = make()
    synopsis = hr.SparseProject().release(curator)
    assert curator.ledger.spent("owner") == curator.ledger.budget.cost or curator.remaining.rho < 1e-12
    assert synopsis.cost.rho <= curator.budget.rho
    with pytest.raises(hr.BudgetExceeded):
        hr.SparseProject(epsilon=0.1).release(curator)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("k", [1, 3])
def test_noise_follows_the_relation_and_the_rows_of_a_unit(neighbours, k):
    unit = {"unit": "who", "max_rows": k} if k > 1 else {}
    frame = {"name": NAMES, "who": list(range(len(NAMES)))}
    curator = make(names=frame, unit=unit, neighbours=neighbours)
    synopsis = hr.SparseProject(length=100, size=256, rows=300).release(curator)
    sigma_squared = float(synopsis.measurements[0].noise.scale) ** 2
    l2_squared = 8 * k * k * (4 if neighbours == "replace" else 1)
    assert sigma_squared == pytest.approx(l2_squared / (2 * curator.spent.rho), rel=1e-6)


def test_the_papers_form_charges_what_the_scale_composes_to():
    for neighbours, step in (("add_remove", 1), ("replace", 2)):
        curator = make(names=["a", "b"], neighbours=neighbours)
        made = hr.SparseProject(
            mode="theorem", epsilon=0.5, delta=1e-6, rows=2, sparsity=1, queries=2, size=512
        ).release(curator)
        b = made.measurements[0].noise.scale
        sigma = 0.5 / np.sqrt(8 * np.log(1e6))
        assert float(b) == pytest.approx(step * np.sqrt(512) / sigma, rel=1e-6)
        assert curator.ledger.spent("owner").amount >= 512 * (Fraction(step) / b) ** 2 / 2
        # [BR11] Thm 4.5 through [DRV10] Thm 3.3: the composition stays within the paper's epsilon
        each = step / float(b)
        assert np.sqrt(2 * 512 * np.log(1e6)) * each + 512 * each * np.expm1(each) <= 0.5


def test_answers_stay_within_their_bound_and_near_the_noises_own_size():
    rng = np.random.default_rng(5)
    names = [f"n{i}" for i in (rng.random(30_000) ** 2 * 20_000).astype(int)]
    counts = Counter(names)
    with hr.testing.seeded(5):  # half as much again as the noise is five deviations off: too few for chance
        synopsis = hr.SparseProject().release(make(hr.Budget(rho=0.5, delta=1e-6), names))
    pool, m = list(counts), 60
    asked = [dict.fromkeys(rng.choice(pool, m, replace=False).tolist(), 1) for _ in range(400)]
    answers = synopsis.answer([hr.SparseQuery.of(q) for q in asked])
    errors = answers.value - [sum(counts[e] for e in q) for q in asked]
    theory = np.sqrt(m / (2 * 0.5))
    assert errors.std() <= 1.5 * theory
    assert (np.abs(errors) <= answers.error).mean() >= 0.95
    assert abs(synopsis.total - len(names)) < 1000


@pytest.mark.slow
def test_the_papers_form_meets_theorem_4_9_on_few_rows():
    # n = 2, m = 1, k = 2: the paper's own T; the bound holds except with probability beta, here far inside
    names = ["oak", "ash"]
    for _ in range(size(1, 20)):
        synopsis = hr.SparseProject(
            mode="theorem", epsilon=0.9, delta=1e-6, beta=0.1, rows=2, sparsity=1, queries=2
        ).release(make(names=names))
        parameters = synopsis.provenance.parameters
        assert parameters["size"] > 500_000
        assert parameters["independence"] % 2 == 0
        queries = [hr.SparseQuery.of({"oak": 1}), hr.SparseQuery.of({"yew": 1})]
        errors = np.abs(synopsis.answer(queries).value - [1, 0])
        assert errors.max() <= parameters["theorem_error"]
        assert parameters["vacuous"] is True  # two rows cannot be told apart from none, and it says so


def test_the_papers_error_grows_with_the_root_of_the_sparsity():
    curator = make(hr.Budget(rho=10**6, delta=1e-6), ["a"] * 3)
    paper = hr.SparseProject(
        mode="theorem", epsilon=0.9, delta=1e-6, rows=3, sparsity=64, queries=400, size=128
    )
    synopsis = paper.release(curator)
    spread = {}
    for m in (4, 64):
        asked = [hr.SparseQuery.of({f"{m}-{j}-{i}": 1 for i in range(m)}) for j in range(200)]
        spread[m] = synopsis.answer(asked).value.std()
    # sqrt(16) = 4; of 200 answers each the logarithm has deviation 0.071, and this is six of it
    assert 2.6 < spread[64] / spread[4] < 6.2


def test_many_threads_get_the_answers_of_one():
    synopsis = hr.SparseProject(size=1 << 15).release(make(hr.Budget(rho=10, delta=1e-6)))
    queries = [hr.SparseQuery.of({f"tree {i + j}": 1 for i in range(150)}) for j in range(20)]
    alone = synopsis.answer(queries).value
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: synopsis.answer(queries).value, range(24)))
    assert all(np.array_equal(alone, values) for values in together)


def test_the_theorem_is_not_claimed_for_another_size():
    paper = hr.SparseProject(
        mode="theorem", epsilon=0.9, delta=1e-6, rows=200, sparsity=1, queries=1, size=16
    )
    parameters = paper.release(make(names=["x"] * 200)).provenance.parameters
    assert parameters["theorem_error"] is None
    assert parameters["vacuous"] is True


def test_a_saved_sketch_answers_the_same(tmp_path):
    synopsis = hr.SparseProject(seed=SEED).release(make())
    synopsis.save(tmp_path / "s.hedgerow")
    again = hr.Synopsis.load(tmp_path / "s.hedgerow")
    query = hr.SparseQuery.of({"oak": 1, "ash": 0.5})
    assert again.answer(query).value == synopsis.answer(query).value
    assert again.answer(query).error == synopsis.answer(query).error
    assert again.domain == hr.OpenDomain()
    assert again.provenance.parameters["seed"] == SEED.hex()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "exact"}, "mode"),
        ({"blocks": 0}, "blocks"),
        ({"blocks": 3, "size": 64}, "blocks"),
        ({"size": 0}, "size"),
        ({"size": 2**24 + 8}, "coordinates"),
        ({"distortion": 0.0}, "distortion"),
        ({"distortion": float("nan")}, "distortion"),
        ({"length": -1.0}, "length"),
        ({"seed": b"short"}, "seed"),
        ({"beta": 0.0}, "beta"),
        ({"sparsity": 0}, "sparsity"),
        ({"mode": "theorem"}, "epsilon strictly .* delta strictly .* rows=.* workload, or sparsity="),
        ({"mode": "theorem", "epsilon": 1.0, "delta": 1e-6, "rows": 2}, "epsilon"),
        ({"mode": "theorem", "epsilon": 0.5, "rows": 2}, "delta"),
        ({"mode": "theorem", "epsilon": 0.5, "delta": 1e-6}, "rows"),
        ({"mode": "theorem", "epsilon": 0.5, "delta": 1e-6, "rows": 2}, "workload"),
        ({"mode": "theorem", "epsilon": 0.5, "delta": 1e-6, "rows": 9, "queries": 9, "sparsity": 3}, "tuned"),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(options, words):
    curator = make()
    with pytest.raises(hr.HedgerowError, match=words) as error:
        hr.SparseProject(**options).release(curator)
    assert "\n" not in str(error.value)
    assert curator.spent.rho == 0


def test_what_it_cannot_do_is_refused_before_anything_is_charged():
    finite = hr.Curator(hr.Table.open({"a": [0, 1]}, hr.Domain({"a": 2})), hr.Budget(1.0, 1e-6), ":memory:")
    with pytest.raises(hr.UnsupportedQuery, match="OpenDomain"):
        hr.SparseProject().release(finite)
    pure = make(hr.Budget(1.0))
    with pytest.raises(hr.UnsupportedQuery, match="delta"):
        hr.SparseProject().release(pure)
    theorem = hr.SparseProject(
        mode="theorem", epsilon=0.5, delta=1e-6, rows=2, sparsity=1, queries=1, size=64
    )
    with pytest.raises(hr.UnsupportedQuery, match="beyond"):
        theorem.release(make(), [hr.SparseQuery.of({"a": 1, "b": 1})])
    synopsis = hr.SparseProject(size=64).release(make())
    for question in ("SELECT 1", [1], hr.Query.total()):
        with pytest.raises(hr.UnsupportedQuery, match="sparse queries"):
            synopsis.answer(question)
    assert finite.spent.rho == 0
    assert pure.spent.epsilon == 0
