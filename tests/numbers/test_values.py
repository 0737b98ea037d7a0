"""Sums are of rows' own numbers: exact on every engine, within their norms, in any order of the rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.curator.statistics.statistics import Answers
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.queries.moments import BinMoments
from hedgerow.queries.number_sums import numbers, ranged_numbers
from hedgerow.queries.query import ONE
from hedgerow.queries.valued import Fine

DOMAIN = hr.Domain(
    {
        "sex": ["F", "M"],
        "age": hr.bins(0, 100, 20, step=1),
        "pay": hr.Bins([-20, 0, 50, 2000], step=0.01),
        "year": hr.bins(1950, 2030, 10, step=1),
        "cost": hr.Bins([0, 1000, 1_000_000], step=0.01),
        "old": hr.bins(0, 10, 2.5),
    }
)
QUESTIONS = [
    "SELECT SUM(age) FROM t",
    "SELECT AVG(year) FROM t WHERE sex = 'F'",
    "SELECT sex, AVG(pay), SUM(pay) FROM t GROUP BY sex",
    "SELECT AVG(age - pay) FROM t WHERE age < 60",
    "SELECT SUM(CASE WHEN sex = 'F' THEN pay ELSE 1 END) FROM t",
    "SELECT SUM(cost), AVG(cost + 1) FROM t",
    "SELECT SUM(-old), AVG(old) FROM t",
    "SELECT age, SUM(age) FROM t GROUP BY age",
    "SELECT SUM(age * age), AVG((age - 50) * (pay - 7.25)) FROM t WHERE sex = 'F'",
    "SELECT AVG((year - 1990) * (year - 1990) - 3 * age) FROM t WHERE age >= 33 AND year <> 1999",
    "SELECT SUM(CASE WHEN sex = 'F' THEN pay * old ELSE age * 2 END) FROM t",
]
LONG = "SELECT SUM(cost * cost) FROM t"  # more binary digits than are weighed


def rows(n: int = 400, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    pay = np.round(rng.gamma(1.5, 60, n) - 30, 2)
    pay[::17] = np.nan
    return {
        "sex": rng.choice(["F", "M"], n),
        "age": rng.integers(-5, 120, n).astype(float),
        "pay": pay,
        "year": rng.integers(1940, 2040, n).astype(float),
        "cost": np.round(rng.lognormal(8, 2, n), 2),
        "old": np.round(rng.uniform(-1, 11, n), 4),
        "person": rng.integers(0, n // 4, n),
    }


def clamped(frame: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the rows count as: the truth that an error bar is about."""
    out = dict(frame)
    for name, attribute in DOMAIN.items():
        if name != "sex":
            lattice = attribute.lattice
            step = float(lattice.step)
            near = np.rint(frame[name] / step)
            out[name] = np.clip(near, lattice.low[0], lattice.high[-1]) * step
    return out


def exact(text: str, table: hr.Table) -> np.ndarray:
    """The statement's values without noise."""
    target = MeasureTarget.of(text, DOMAIN)
    law = hr.Noise("none", 0, target.statistic.denominator)
    values = target.statistic.exact(Rows(table, bytes(32)))
    return np.ravel(target.measurement(law, values, False).reply(0.95).value)


def truth(text: str, frame: dict[str, np.ndarray]) -> np.ndarray:
    import duckdb
    import pandas as pd

    data = pd.DataFrame(clamped(frame))
    data["bin"] = DOMAIN["age"].encode(frame["age"])
    duck = duckdb.connect()
    duck.register("raw", data)
    duck.execute(
        "CREATE TABLE t AS SELECT * REPLACE (CASE WHEN isnan(pay) THEN NULL ELSE pay END AS pay) FROM raw"
    )
    text = text.replace("SELECT age, ", "SELECT bin, ").replace("GROUP BY age", "GROUP BY bin ORDER BY bin")
    text += " ORDER BY sex" if text.endswith("GROUP BY sex") else ""
    drop = 1 if "GROUP BY" in text else 0
    return np.ravel([[float(v) for v in row[drop:]] for row in duck.execute(text).fetchall()])


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_without_noise_a_measured_sum_is_the_sum_of_the_clamped_rows(text, engine):
    frame = rows()
    got = exact(text, hr.Table.open(frame, DOMAIN, engine=engine))
    want = truth(text, frame)
    np.testing.assert_allclose(got[: len(want)], want, rtol=1e-9, atol=1e-9)


def test_files_and_frames_give_the_same_integers_in_any_order(tmp_path):
    import pandas as pd

    frame = rows()
    data = pd.DataFrame(frame)
    shuffled = data.sample(frac=1, random_state=3)
    data.to_csv(tmp_path / "a.csv", index=False)
    shuffled.to_parquet(tmp_path / "b.parquet")
    tables = [
        hr.Table.open(source, DOMAIN, unit="person", max_rows=2)
        for source in (frame, shuffled, tmp_path / "a.csv", tmp_path / "b.parquet")
    ]
    target = MeasureTarget.of(QUESTIONS[2], DOMAIN).statistic
    for statistic in (target, RemainderSums(DOMAIN)):
        found = [statistic.exact(Rows(table, bytes(range(32)))) for table in tables]
        for one, other in pairwise(found):
            np.testing.assert_array_equal(one, other)


def test_which_bins_are_kept_of_a_person_does_not_depend_on_values_and_which_values_not_on_position():
    rng = np.random.default_rng(4)
    domain = hr.Domain({"n": hr.bins(0, 100, 50, step=1)})
    plain = hr.Domain({"n": {"edges": [0, 50, 100], "missing": True}})
    value, person = rng.integers(0, 100, 300), rng.integers(0, 40, 300)
    order = rng.permutation(300)

    def kept(domain: hr.Domain, at: np.ndarray) -> Rows:
        frame = {"n": value[at].astype(float), "person": person[at]}
        return Rows(hr.Table.open(frame, domain, unit="person", max_rows=2), bytes(range(32)))

    here, there = kept(domain, np.arange(300)), kept(domain, order)
    for name in (("n",),):
        counts = [r.tables([name])[name] for r in (here, there, kept(plain, order))]
        np.testing.assert_array_equal(counts[0], counts[1])
        np.testing.assert_array_equal(counts[0], counts[2])
    sums = [r.remainder_sums(("n",))[("n", "n")] for r in (here, there)]
    np.testing.assert_array_equal(*sums)


def corner_rows() -> dict[str, list[object]]:
    """Rows at the first and last value of every bin, beyond the ends, and missing."""
    columns: dict[str, list[object]] = {name: [] for name in DOMAIN}
    ends = {
        name: [float(a.lattice.step * int(k)) for k in (*a.lattice.low, *a.lattice.high)]
        + [-1e7, 1e7, np.nan]
        for name, a in DOMAIN.items()
        if name != "sex"
    }
    rng = np.random.default_rng(2)
    for i in range(120):
        columns["sex"].append("FM"[i % 2])
        for name, values in ends.items():
            columns[name].append(values[i] if i < len(values) else float(rng.choice(values)))
    return columns


@pytest.mark.parametrize("text", QUESTIONS)
def test_no_row_moves_a_sum_by_more_than_its_norms(text):
    statistic = MeasureTarget.of(text, DOMAIN).statistic
    columns = corner_rows()
    singles = [
        statistic.exact(Rows(hr.Table.open({k: v[i : i + 1] for k, v in columns.items()}, DOMAIN), bytes(32)))
        for i in range(60)
    ]
    norms = statistic.norms
    assert max(int(np.abs(s).sum()) for s in singles) <= norms.l1
    assert max(int((s.astype(object) ** 2).sum()) for s in singles) <= norms.l2_squared
    for a, b in pairwise(singles):
        assert int(np.abs(a - b).sum()) <= norms.replace_l1
        assert int(((a - b).astype(object) ** 2).sum()) <= norms.replace_l2_squared


@pytest.mark.parametrize("total", [False, True])
def test_the_norms_of_remainders_are_reached_at_bin_ends_and_a_swap_needs_four_times_their_square(total):
    domain = hr.Domain({"a": 2, "n": hr.bins(0, 40, 10, step=1), "m": hr.Bins([0, 7], step=1)})
    statistic = RemainderSums(domain, total=total)

    def alone(n: float, m: float) -> np.ndarray:
        table = hr.Table.open({"a": [0], "n": [n], "m": [m]}, domain)
        return statistic.exact(Rows(table, bytes(32)))

    low, high = alone(0, 0), alone(9, 6)
    assert int(np.abs(low).sum()) == statistic.norms.l1
    assert int((low**2).sum()) == statistic.norms.l2_squared
    assert int(((low - high) ** 2).sum()) == statistic.norms.replace_l2_squared == 4 * int((low**2).sum())
    assert int(((low - high) ** 2).sum()) > 2 * statistic.norms.l2_squared  # what `nonnegative` would say
    assert numbers(domain) == {"n": 1, "m": 1}


def test_sums_of_ranges_move_by_the_norms_of_bin_ends_and_no_more():
    """Convex within each bin: the largest column is that of an end, which the norms are reached by."""
    edges = {"x": hr.Bins([0, 1, 3, 13, 15, 18, 30, 33, 60], step=1), "y": hr.Bins([-2, 0.5, 2], step=0.5)}
    domain = hr.Domain(edges | {"a": 2, "z": hr.bins(0, 60, 3, step=1)})
    assert ranged_numbers(domain) == ("z",)
    statistic = RemainderSums(domain, total=True, ranged=True)
    places = [
        (x, y) for x in (0, 1, 2, 3, 8, 12, 13, 33, 59, -5, 99, None) for y in (-2, 0, 0.5, 1, 1.5, None)
    ]

    def alone(x: float | None, y: float | None) -> np.ndarray:
        columns = {"x": [x], "y": [y], "a": [0], "z": [x]}
        frame = pa.table(
            {n: pa.array(v, pa.int64() if n == "a" else pa.float64()) for n, v in columns.items()}
        )
        return statistic.exact(Rows(hr.Table.open(frame, domain), bytes(32))).astype(object)

    columns, norms = [alone(*place) for place in places], statistic.norms
    assert max(int(np.abs(c).sum()) for c in columns) == norms.l1
    assert max(int((c**2).sum()) for c in columns) == norms.l2_squared
    for a, b in combinations(columns, 2):
        assert int(np.abs(a - b).sum()) <= norms.replace_l1
        assert int(((a - b) ** 2).sum()) <= norms.replace_l2_squared


def test_a_sum_of_a_range_is_that_of_rows_own_numbers():
    domain = hr.Domain({"a": 3, "x": hr.bins(0, 400, 20, step=0.5)})
    rng = np.random.default_rng(2)
    x = np.where(rng.random(500) < 0.1, np.nan, rng.exponential(60, 500).round())
    rows_ = Rows(hr.Table.open({"a": rng.integers(0, 3, 500), "x": x}, domain), bytes(32))
    exact = RemainderSums(domain, total=True, ranged=True).exact(rows_)
    moments = BinMoments(domain, exact, hr.Noise("none", 0), ranged=True)
    middle, total, _ = moments.ranges["x"]
    there = np.clip(x[~np.isnan(x)], 0, 399.5)
    assert total == pytest.approx((there - middle).sum())
    plain = BinMoments(domain, RemainderSums(domain).exact(rows_), hr.Noise("none", 0))
    assert moments.totals["x"][0] == pytest.approx(plain.totals["x"][0])
    assert RemainderSums(domain, total=True, ranged=True).norms.l2_squared > 0


def test_whoever_forges_what_rows_are_worth_does_not_move_the_sum_beyond_its_norms():
    (piece, *_) = hr.sql(DOMAIN, "SELECT SUM(age) FROM t").forms[0].rounded()
    query, fine = piece.query, piece.query.fine
    value = fine.value
    forged = replace(value, base=value.base * 50)
    asked = replace(query, fine=Fine(forged, fine.masks))
    table = hr.Table.open({k: v[:1] for k, v in rows(8).items()}, DOMAIN)
    steps = Answers(hr.Workload.grouped([asked])).exact(Rows(table, bytes(32)))
    assert 0 <= int(steps[0]) <= asked.largest <= ONE
    with pytest.raises(hr.errors.HedgerowError):
        replace(value, most=value.most * ONE)
    with pytest.raises(hr.errors.HedgerowError):
        replace(query, fine=object())
    other = hr.Domain({**DOMAIN, "age": hr.bins(0, 100, 25, step=1)})
    with pytest.raises(hr.DomainMismatch):
        MeasureTarget.of([query], other)


def test_squares_of_many_digits_are_rounded_row_by_row_and_the_error_says_so():
    frame = rows()
    table = hr.Table.open(frame, DOMAIN)
    pieces = hr.sql(DOMAIN, LONG).forms[0].rounded()
    answers = Answers(hr.Workload.grouped([piece.query for piece in pieces]))
    steps = answers.exact(Rows(table, bytes(32)))
    value = sum(p.worth * float(s) / ONE for p, s in zip(pieces, steps, strict=True))
    off = sum(piece.off for piece in pieces) * len(frame["cost"])
    want = truth(LONG, frame)[0]
    assert 0 < off < 1e-9 * want
    assert abs(value - want) <= off + 1e-12 * want
    assert all(int(piece.query.most.max()) <= ONE for piece in pieces)


def test_variances_of_rows_are_those_of_the_clamped_rows():
    frame = rows()
    budget, entropy = hr.Budget(epsilon=1e6, delta=1e-6), hr.testing.seeded(1)  # below 0 there is no root
    curator = hr.Curator(hr.Table.open(frame, DOMAIN), budget, ":memory:", entropy=entropy)
    session = hr.Session(epsilon=5).open(curator)
    for what in ("VAR_POP(year)", "STDDEV(pay)", "COVAR_POP(age, year)", "VARIANCE(age - pay)"):
        text = f"SELECT {what} FROM t"
        answer = session.ask(text, within_count=1)
        want = truth(text, frame)[0]
        assert answer.source == "measured"
        assert abs(answer.value - want) <= 3 * answer.error  # noise beyond three times its error: below 1e-8


def test_all_weights_are_whole_and_below_the_largest_that_is_allowed():
    for text in QUESTIONS:
        for form in hr.sql(DOMAIN, text).forms:
            off = next((f.worth.coarse(DOMAIN) for f in form.factors if f.worth is not None), 0.0)
            assert (off > 0.0) == ("old" in text and form.attributes != () and form.reach() is not None)
            for i, piece in enumerate(form.rounded()):
                assert 0 <= int(piece.query.most.min()) <= int(piece.query.most.max()) <= ONE < 2**31
                assert piece.off == (0.0 if i else off)  # only a column without a step is rounded, once


def test_the_error_of_a_sum_holds_how_far_numbers_without_a_step_are_rounded():
    n, number = 400_000, 10.00049  # rounded to a lattice, each row is off by as much, and all one way
    domain = hr.Domain({"x": hr.bins(0, 40, 10)})
    curator = hr.Curator(
        hr.Table.open({"x": np.full(n, number)}, domain), hr.Budget(epsilon=1e7, delta=1e-6), ":memory:"
    )
    session = hr.Session(epsilon=5).open(curator)
    answer = session.ask("SELECT SUM(x) FROM t", within_count=1)
    assert abs(answer.value - n * number) <= answer.error
    assert abs(answer.value - n * number) > 40  # beyond what noise alone was allowed
    mean = session.ask("SELECT AVG(x) FROM t", within_count=1)
    assert abs(mean.value - number) <= mean.error
