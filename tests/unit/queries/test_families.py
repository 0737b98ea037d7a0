"""Families of questions by brute force: members, sensitivities, digests; exact answers of public rows."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.packing import pack_workload, unpack_workload
from hedgerow.queries.query import ONE

BITS = hr.Domain({"a": 2, "b": 2, "wide": 3, "c": 2})
PLANE = hr.Domain({"x": hr.bins(0, 4, 1), "y": hr.bins(10, 40, 10, missing=True), "z": 2})
UNEVEN = hr.Domain({"x": hr.Bins([0, 1, 3, 10]), "y": hr.Bins([0, 0.1, 0.3, 7])})


def masks(workload: hr.Workload) -> list[bytes]:
    return [(q.weights == ONE).tobytes() for q in workload]


# ---- monotone conjunctions -------------------------------------------------------------------------------


def test_monotone_conjunctions_of_all_sizes_are_products_of_bits():
    found = {q.attributes: q for q in hr.monotone_conjunctions(BITS)}
    assert len(found) == 2**3
    for size in range(4):
        for names in combinations("abc", size):
            weights = found[names].weights
            for z in product((0, 1), repeat=size):
                assert weights[z] == ONE * np.prod(z, dtype=int)


def test_monotone_conjunctions_are_not_marginals():
    assert len(hr.conjunctions(BITS, [("a", "b")], negation=False)) == 4
    assert len(hr.monotone_conjunctions(BITS, 2)) == 3
    assert hr.monotone_conjunctions(BITS, 2).digest != hr.marginals(BITS, [("a", "b")]).digest


def test_their_vc_dimension_is_the_number_of_bits():
    assert hr.theory.vc_dimension(BITS, hr.monotone_conjunctions(BITS)) == hr.theory.vc_conjunctions(3)


def test_parities_and_conjunctions_refuse_what_has_no_two_levels_and_what_is_too_many():
    for family in (hr.parities, hr.monotone_conjunctions):
        with pytest.raises(hr.UnsupportedQuery, match="exactly two levels"):
            family(BITS, [("wide",)])
        with pytest.raises(hr.UnsupportedQuery, match="not enough"):
            family(BITS, 4)
        with pytest.raises(hr.UnsupportedQuery, match="not enough"):
            family(hr.Domain({"wide": 3}), 1)
    with pytest.raises(hr.RangeTooLarge):
        hr.monotone_conjunctions(hr.Domain({f"b{i}": 2 for i in range(30)}))


# ---- halfspaces ------------------------------------------------------------------------------------------


def separable(points: np.ndarray, inside: np.ndarray) -> bool:
    """Whether some line has exactly these points on one side, by a linear program."""
    from scipy import optimize

    signs = np.where(inside, 1.0, -1.0)
    a = signs[:, None] * np.column_stack([points, -np.ones(len(points))])  # a x + b y - c <= -1, or >= 1
    return optimize.linprog(np.zeros(3), A_ub=a, b_ub=-np.ones(len(a)), bounds=(None, None)).status == 0


@pytest.mark.parametrize("domain", [PLANE, UNEVEN, hr.Domain({"x": hr.bins(0, 5, 1), "y": hr.bins(0, 2, 1)})])
def test_halfspaces_are_exactly_the_sets_that_a_line_cuts_off(domain):
    middles = [(np.array(e[:-1]) + np.array(e[1:])) / 2 for e in (domain["x"].edges, domain["y"].edges)]
    points = np.array(list(product(*middles)))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    workload = hr.halfspaces(domain, ["x", "y"])
    proper = tuple(slice(len(m)) for m in middles)
    found = {(q.weights[proper] == ONE).reshape(-1).tobytes() for q in workload}
    assert len(found) == len(workload) <= len(points) * (len(points) - 1) + 1
    every = ((np.arange(2 ** len(points))[:, None] >> np.arange(len(points))) & 1).astype(bool)[1:]
    rng = np.random.default_rng(0)
    some = every[rng.choice(len(every), 150, replace=False)]
    for inside in [*some, *(np.frombuffer(f, dtype=bool) for f in sorted(found)[::7])]:
        assert (inside.tobytes() in found) == separable(points, inside)


def test_halfspaces_shatter_three_points_and_no_four():
    assert hr.theory.vc_dimension(UNEVEN, hr.halfspaces(UNEVEN, ["x", "y"])) == 3


def test_random_lines_are_all_among_them():
    rng = np.random.default_rng(4)
    known = set(masks(hr.halfspaces(PLANE, ["x", "y"])))
    x, y = np.meshgrid([0.5, 1.5, 2.5, 3.5], [15.0, 25.0, 35.0], indexing="ij")
    for _ in range(500):
        a, b = rng.normal(size=2) * (1.0, 0.1)
        mask = np.zeros((4, 4), dtype=bool)
        mask[:, :3] = a * x + b * y <= rng.choice((a * x + b * y).ravel())
        assert mask.tobytes() in known


def test_nobody_whose_number_is_missing_is_in_a_halfspace():
    assert all(not q.weights[:, 3].any() for q in hr.halfspaces(PLANE, ("y", "x")))


@pytest.mark.parametrize("over", [("x",), ("x", "x"), ("x", "z"), "xy", ("x", "y", "z")])
def test_halfspaces_need_two_numbers(over):
    with pytest.raises(hr.UnsupportedQuery, match="two different attributes"):
        hr.halfspaces(PLANE, over)


def test_too_many_halfspaces_are_refused_before_they_are_made():
    with pytest.raises(hr.RangeTooLarge, match="wider bins"):
        hr.halfspaces(hr.Domain({"x": hr.bins(0, 100, 1), "y": hr.bins(0, 100, 1)}), ["x", "y"])


# ---- all of them -----------------------------------------------------------------------------------------

FAMILIES = [
    (BITS, hr.monotone_conjunctions(BITS)),
    (BITS, hr.monotone_conjunctions(BITS, 2)),
    (BITS, hr.monotone_conjunctions(BITS, [("a", "c"), ("b",)])),
    (UNEVEN, hr.halfspaces(UNEVEN, ["x", "y"])),
    (BITS, hr.parities(BITS, 2)),
]


@pytest.mark.parametrize(("domain", "workload"), FAMILIES)
def test_sensitivities_bound_every_row_and_every_exchange_of_rows(domain, workload):
    cells = np.array(list(np.ndindex(domain.shape)))
    columns = np.array([workload.truth(dict(zip(domain, cell[:, None], strict=True))) for cell in cells])
    norms = workload.norms
    assert norms.l1 == columns.sum(axis=1).max()
    differences = np.abs(columns[:, None] - columns[None])
    assert differences.sum(axis=2).max() <= norms.replace_l1
    assert (differences**2).sum(axis=2).max() <= norms.replace_l2_squared


@pytest.mark.parametrize(("domain", "workload"), FAMILIES)
def test_families_have_a_digest_of_their_own_that_survives_a_file(domain, workload):
    arrays: dict[str, np.ndarray] = {}
    again = unpack_workload(pack_workload(workload, arrays), arrays)
    assert again.digest == workload.digest
    assert len({w.digest for _, w in FAMILIES}) == len(FAMILIES)


def test_digests_of_families_that_files_hold_are_what_they_were():
    """Ledgers and synopses of earlier versions name their questions by these."""
    domain = hr.Domain({"a": 2, "b": 3, "c": hr.bins(0, 4, 1), "d": 2})
    found = {
        "marginals": hr.marginals(domain, 2),
        "conjunctions": hr.conjunctions(domain, 2),
        "plain": hr.conjunctions(domain, 2, negation=False),
        "ranges": hr.ranges(domain, 1),
        "prefixes": hr.prefixes(domain, 1),
        "parities": hr.parities(domain, 2),
    }
    assert {name: w.digest[:12] for name, w in found.items()} == DIGESTS


DIGESTS = {
    "marginals": "81e2e7b3db0d",
    "conjunctions": "e3e8f3c94381",
    "plain": "81e2e7b3db0d",
    "ranges": "1c4df96833c4",
    "prefixes": "0f047bdd389b",
    "parities": "731ce798f480",
}


# ---- sparse enumerators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["1*0*", "***", "01", "*1**0"])
def test_sparse_questions_name_exactly_the_rows_that_meet_them(pattern):
    free = [i for i, c in enumerate(pattern) if c == "*"]
    rows = ["".join(b) for b in product("01", repeat=len(pattern))]
    met = [r for r in rows if all(c in ("*", b) for c, b in zip(pattern, r, strict=True))]
    ones = {r: sum(r[i] == "1" for i in free) for r in met}
    assert set(hr.literal_conjunction(pattern).weights) == set(met)
    assert set(hr.literal_parity(pattern).weights) == {r for r in met if ones[r] % 2 == 0}
    assert set(hr.literal_parity(pattern, even=False).weights) == {r for r in met if ones[r] % 2 == 1}
    assert set(hr.literal_disjunction(pattern).weights) == {r for r in met if ones[r]}
    tuples = hr.literal_disjunction(pattern, elements="tuple").weights
    assert set(tuples) == {tuple(map(int, r)) for r in met if ones[r]}


def test_sparse_families_are_as_sparse_as_their_number_of_open_bits_says():
    for d, k in ((6, 3), (40, 2)):
        parities, disjunctions = list(hr.literal_parities(d, k)), list(hr.literal_disjunctions(d, k))
        assert len(parities) == len(disjunctions) == hr.theory.br11.remark_3_10(d, k)
        assert {len(q.weights) for q in parities} == {2 ** (k - 1)}
        assert {len(q.weights) for q in disjunctions} == {2**k - 1}
        assert len({q.digest for q in (*parities, *disjunctions)}) == 2 * len(parities)
        assert {q.norms.l1 for q in (*parities, *disjunctions)} == {1}


def test_sparse_questions_are_asked_of_a_mechanism():
    table = hr.Table.open(["110", "111", "011", "111"], hr.OpenDomain())
    budget = hr.Budget(epsilon=20, delta=1e-3)
    curator = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(1))
    synopsis = hr.SparseProject(size=1 << 14).release(curator)
    assert abs(synopsis.answer(hr.literal_disjunction("11*")).value - 2) < 3


# ---- exact answers on public rows ------------------------------------------------------------------------


def test_truth_is_what_a_release_without_noise_would_say():
    import pandas as pd

    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 25), "city": 3})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 50), "age": rng.integers(0, 100, 50), "city": rng.integers(0, 3, 50)}
    )
    half = hr.Query.of(domain, ["city"], [0.0, 0.5, 1.0], scale=10.0)
    workload = hr.Workload.of([*hr.marginals(domain, 2), hr.Query.total(), half])
    truth = workload.truth(frame, domain)
    assert truth.tolist() == workload.truth(domain.encode(frame)).tolist()
    assert truth.tolist() == workload.truth({a: frame[a].tolist() for a in frame}, domain).tolist()
    assert truth[-2] == 50
    assert truth[-1] == pytest.approx(
        10 * (0.5 * (frame.city == 1).sum() + (frame.city == 2).sum()), abs=1e-4
    )
    assert truth[:8].reshape(2, 4)[1, 3] == ((frame.sex == "M") & (frame.age >= 75)).sum()
    table = hr.Table.open(frame, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=10**6), ":memory:", entropy=hr.testing.seeded(1))
    said = hr.LaplaceBaseline().release(curator, workload).answer(workload).value
    np.testing.assert_allclose(said, truth, atol=0.01)


def test_truth_is_not_for_private_rows_and_refuses_what_has_no_codes():
    domain = hr.Domain({"a": 2})
    one = hr.marginals(domain, 1)
    table = hr.Table.open({"a": [0, 1]}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=1), ":memory:")
    for private in (table, curator):
        with pytest.raises(hr.UnsupportedQuery, match="public rows"):
            one.truth(private)
    with pytest.raises(hr.DomainMismatch, match="no column"):
        one.truth({"b": [1]})
    for bad in (["x"], [2], [0.5], [[0]]):
        with pytest.raises(hr.DomainMismatch, match="codes of 2 levels"):
            one.truth({"a": bad})
    with pytest.raises(hr.DomainMismatch, match="different numbers"):
        hr.marginals(hr.Domain({"a": 2, "b": 2}), 1).truth({"a": [0], "b": [0, 1]})
    assert hr.Workload.of([hr.Query.total()]).truth({"a": [0, 1, 1]}).tolist() == [3.0]
