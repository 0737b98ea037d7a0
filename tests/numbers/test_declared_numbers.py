"""A number has a range, a step and bins: what each of them means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.domain.lattice import Lattice
from hedgerow.service.wire import rows as rows_of

DOMAIN = hr.Domain(
    {
        "hour": hr.bins(0, 24, 1, step=1),
        "month": hr.bins(1, 13, 1, step=1),
        "minute": hr.Bins([0, 60, 120], step=1),
        "price": hr.Bins([0, 5, 20, 100], step=0.01),
    }
)


def told(where: str) -> list[str]:
    """The labels of the bins that a condition on one column keeps."""
    question = hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where}")
    (name,) = question.attributes
    weights = question.forms[0].weights()
    return [label for label, w in zip(DOMAIN[name].labels, weights, strict=True) if w]


@pytest.mark.parametrize(
    ("where", "bins"),
    [
        ("hour = 9", ["9"]),
        ("month IN (6, 7, 8)", ["6", "7", "8"]),
        ("hour BETWEEN 6 AND 9", ["6", "7", "8", "9"]),
        ("minute <= 59", ["0-59"]),
        ("minute > 59", ["60-119"]),
        ("month > 11", ["12"]),
        ("month >= 13", []),
        ("month <> 12", [str(m) for m in range(1, 12)]),
        ("hour = 9.5 OR hour = 3", ["3"]),
        ("hour = 99 OR hour = 3", ["3"]),
        ("price < 5", ["0-4.99"]),
        ("price <= 4.99", ["0-4.99"]),
        ("price > 19.99", ["20-99.99"]),
        ("price IS NULL", ["(missing)"]),
    ],
)
def test_comparisons_on_a_lattice_mean_what_they_say(where: str, bins: list[str]) -> None:
    if bins:
        assert told(where) == bins
    else:
        assert not hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where}").forms[0].pieces()


@pytest.mark.parametrize(
    ("where", "instead"),
    [
        ("minute = 30", "edges are 0 and 60: ask BETWEEN 0 AND 59"),
        ("minute <= 60", "ask < 60 or < 120"),
        ("minute < 61", "ask < 60 or < 120"),
        ("price >= 6", "ask >= 5 or >= 20"),
        ("price > 6", "ask >= 5 or >= 20"),
    ],
)
def test_a_cut_is_told_with_edges_for_the_same_direction(where: str, instead: str) -> None:
    assert instead in hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where}").cut


def test_rows_are_binned_alike_with_and_without_a_step_and_only_missing_ones_have_their_own_level() -> None:
    numbers = np.array([-3.0, 0, 4.99, 5, 5.004, 19.999, 20, 99.99, 100, 1e9, 59.7])
    plain, stepped = hr.Bins([0, 5, 20, 100]), hr.Bins([0, 5, 20, 100], step=0.01)
    assert plain.encode(numbers).tolist() == stepped.encode(numbers).tolist()
    assert stepped.encode([float("nan"), None, 7.0]).tolist() == [3, 3, 1]
    assert stepped.encode(["", "nan", "7"]).tolist() == [3, 3, 1]
    assert hr.Bins([0, 5, 20], step=1, missing=False).size == 2


def test_months_of_twelve_average_twelve() -> None:
    for attribute in (hr.bins(1, 13, 1, whole=True), hr.bins(1, 13, 1, step=1)):
        domain = hr.Domain({"month": attribute})
        counts = np.bincount(attribute.encode([12] * 50), minlength=attribute.size)
        question = hr.sql(domain, "SELECT AVG(month) FROM t")
        assert question.evaluate(lambda s, c=counts: c if s else c.sum()).value == 12


def test_a_value_is_the_nearest_multiple_and_never_leaves_its_bin() -> None:
    rng = np.random.default_rng(5)
    for attribute in (
        hr.Bins([0, 5, 20, 100], step=0.01),
        hr.Bins([-3, 0, 7], step=1),
        hr.Bins([0.5, 10.5, 20.5], whole=True),
        hr.Bins([-1, 0.3, 12]),
        hr.bins(0, 1, 0.1),
    ):
        lattice, edges = attribute.lattice, attribute.edge_array
        numbers = np.concatenate([rng.uniform(edges[0] - 3, edges[-1] + 3, 2000), edges, [np.nan, np.inf]])
        codes = attribute.encode(numbers)
        remainders = lattice.values(numbers, codes)
        bins = codes < len(lattice.low)
        assert (np.abs(remainders)[bins] <= lattice.half[codes[bins]]).all()
        value = (remainders[bins] + lattice.centre[codes[bins]]) * float(lattice.step) / 2
        clamped = np.clip(numbers[bins], edges[0], edges[-1])
        assert (np.abs(value - clamped)[np.isfinite(clamped)] <= float(lattice.step) * 1.000001).all()
        exact = lattice.low * float(lattice.step)
        again = lattice.values(exact, attribute.encode(exact))
        assert (again == -lattice.half).all() or not attribute.stepped


def test_steps_are_decimals_and_refused_where_they_make_no_sense() -> None:
    assert hr.Bins([0, 1, 2], step=0.1).labels[:2] == ("0-0.9", "1-1.9")
    assert hr.Bins([-10, -5, 0], step=1).labels[0] == "-10 to -6"
    assert hr.Bins([0, 5, 20], step=1).code("[0, 5)") == hr.Bins([0, 5, 20], step=1).code("0-4") == 0
    for options, sentence in (
        ({"step": 0}, "positive"),
        ({"step": 1e-12}, "too small"),
        ({"step": 30}, "holds none"),
        ({"step": 1, "whole": True}, "one of them"),
        ({"step": "1"}, "a number"),
    ):
        with pytest.raises(hr.errors.HedgerowError, match=sentence):
            hr.Bins([0, 5, 20], **options)


def test_a_schema_with_steps_reads_back_and_one_without_keeps_its_fingerprint(tmp_path) -> None:
    domain = hr.Domain({**DOMAIN, "n": hr.bins(0, 9, 3, step=1, missing=False)})
    for name in ("schema.yaml", "schema.json"):
        domain.save(tmp_path / name)
        again = hr.Domain.load(tmp_path / name)
        assert again == domain
        assert again.fingerprint == domain.fingerprint
        assert again.shape == (25, 13, 3, 4, 3)
    (tmp_path / "s.yaml").write_text("age: {bins: [0, 10, 5], step: 1}\nold: {bins: [0, 10, 5]}\n")
    assert hr.Domain.load(tmp_path / "s.yaml").shape == (3, 2)
    assert hr.Domain({"n": hr.bins(0, 4, 2)}).to_schema() == {"attributes": {"n": {"edges": [0, 2, 4]}}}


def test_the_lattice_of_numbers_without_a_step_is_fine_and_small_enough() -> None:
    for edges in ([0, 100], [0, 1e-9], [1e15, 1e15 + 4], [-1e300, 1e300], [0, 3, 1e12]):
        lattice = Lattice.of(edges, None)
        assert not lattice.declared
        assert 0 < lattice.half.max() < 2**31
        assert lattice.coarse <= (edges[-1] - edges[0]) / 1e5 or edges[0] == 1e15


def test_dates_have_the_views_of_the_calendar_that_their_periods_allow() -> None:
    days, months = hr.dates("2023-11-20", "2024-03-05", "day"), hr.dates("2023-01-01", "2025-01-01", "month")
    assert set(days.calendar) == {"day_of_week", "week", "month", "month_of_year", "quarter", "year"}
    assert set(months.calendar) == {"month", "month_of_year", "quarter", "year"}
    assert set(hr.dates("2023-01-01", "2025-01-01", "quarter").calendar) == {"quarter", "year"}
    weeks = hr.dates("2023-01-05", "2023-02-05", "week")  # Thursday to Wednesday, some in two months
    assert set(weeks.calendar) == {"quarter", "year"}
    domain = hr.Domain({"day": days, "visit": months})
    codes = days.encode(["2023-11-26", "2024-02-29", "2024-01-01"])
    names, parent = days.groups("day_of_week")
    assert [names[parent[c]] for c in codes] == ["7 Sunday", "4 Thursday", "1 Monday"]
    question = hr.sql(
        domain, "SELECT visit.year, COUNT(*) FROM t WHERE day.month = '2024-02' GROUP BY visit.year"
    )
    assert [label for (label,) in question.labels] == ["2023", "2024"]
    assert (
        hr.sql(domain, "SELECT visit.month_of_year, COUNT(*) FROM t GROUP BY visit.month_of_year").size == 12
    )
    assert domain.to_schema()["attributes"]["visit"] == {
        "dates": {"start": "2023-01-01", "stop": "2025-01-01", "by": "month"}
    }
    with pytest.raises(hr.errors.UnknownColumn):
        hr.sql(domain, "SELECT visit.week, COUNT(*) FROM t GROUP BY visit.week")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT EXTRACT(hour FROM day) AS h, COUNT(*) FROM t GROUP BY h",
        "SELECT COUNT(*) FROM t WHERE HOUR(day) = 3",
        "SELECT DATE_TRUNC('hour', day), COUNT(*) FROM t GROUP BY 1",
        "SELECT STRFTIME(day, '%H'), COUNT(*) FROM t GROUP BY 1",
    ],
)
def test_the_hour_of_a_date_is_refused_with_how_to_declare_one(text: str) -> None:
    domain = hr.Domain({"day": hr.dates("2020-01-01", "2020-03-01", "day")})
    with pytest.raises(hr.errors.UnsupportedSQL, match=r"hours: \{of: "):
        hr.sql(domain, text)


def test_times_of_day_are_grouped_by_the_hour() -> None:
    at = hr.Domain.from_schema({"at": {"bins": [0, 24, 1], "step": 1, "format": "%H:%M"}})["at"]
    assert [at.labels[k] for k in at.encode(["09:30", "23:59", "00:00", ""]).tolist()] == [
        "9",
        "23",
        "0",
        "(missing)",
    ]


RANGED = [
    "SELECT MEDIAN(cost) AS n FROM t",
    "SELECT MIN(cost) AS n FROM t",
    "SELECT MAX(cost) AS n FROM t",
    "SELECT AVG(cost) AS n FROM t",
    "SELECT AVG(100 - cost) AS n FROM t WHERE g = 'b'",
    "SELECT g, PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY cost) AS n FROM t GROUP BY g",
    "SELECT g, AVG(cost) AS n FROM t GROUP BY g",
    "SELECT g, MEDIAN(cost) AS n FROM t GROUP BY g HAVING COUNT(*) > -9",
    "SELECT MAX(n) AS n FROM (SELECT g, AVG(cost) AS n FROM t GROUP BY g) q",
]


@pytest.fixture(scope="module")
def asked() -> Any:
    """A session about few numbers near the beginning of a long range, with much noise."""
    rng = np.random.default_rng(3)
    frame = {"g": rng.choice(["a", "b"], 300, p=[0.6, 0.4]), "cost": rng.gamma(1.0, 400.0, 300).astype(int)}
    domain = hr.Domain({"g": ["a", "b"], "cost": hr.Bins([0, 500, 1000, 5000, 20_000], step=1)})
    curator = hr.Curator(
        hr.Table.open(frame, domain),
        hr.Budget(epsilon=2, delta=1e-6),
        ":memory:",
        entropy=hr.testing.seeded(2),
    )
    return hr.Session(epsilon=0.3).open(curator)


@pytest.mark.parametrize("text", RANGED)
def test_no_interval_leaves_the_declared_range_in_any_form(asked: Any, text: str) -> None:
    least, most = (-19_899, 100) if "100 - cost" in text else (0, 19_999)
    answer = asked.ask(text)
    again = asked.ask(text)
    error = np.ravel(answer.error)
    for said in (answer, again):
        frame = said.to_pandas()
        wired = [row["n"] for row in rows_of(said)["rows"]]
        ends = [
            (np.ravel(said.low), np.ravel(said.high)),
            (frame["n_low"].to_numpy(), frame["n_high"].to_numpy()),
            tuple(np.array([cell.get(k, np.nan) for cell in wired]) for k in ("low", "high")),
        ]
        for low, high in ends:
            value, known = np.ravel(said.value), np.isfinite(error)
            assert known.any()
            assert (low[known] >= least).all()
            assert (high[known] <= most).all()
            assert (low[known] <= value[known]).all()
            assert (high[known] >= value[known]).all()
            assert (value - low <= error + 1e-9)[known].all()
            assert (high - value <= error + 1e-9)[known].all()
    np.testing.assert_array_equal(error, np.ravel(again.error))


def test_a_session_s_own_quantiles_stay_in_the_declared_range(asked: Any) -> None:
    for q in (0.02, 0.5, 0.98):
        found = asked.quantile("cost", q, where={"g": "b"})
        assert 0 <= found.low <= found.value <= found.high <= 19_999
        assert found.to_pandas()["value_low"][0] == found.low
