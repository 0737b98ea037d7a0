"""Hours of moments: an attribute beside their days, by SQL's own words, from every source alike."""

from __future__ import annotations

import datetime as dt
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.curator.rows.table import Rows
from hedgerow.errors import DomainMismatch, UnsupportedSQL
from hedgerow.queries.domain.days import as_days, as_hours
from hedgerow.queries.domain.hours import Hours
from hedgerow.service.declared import DeclaredColumn

KEY = bytes(32)
DOMAIN = hr.Domain(
    {
        "zone": ["a", "b"],
        "taken": hr.dates("2024-01-01", "2024-01-04", "day"),
        "at": {"hours": {"of": "taken"}},
        "fare": hr.bins(0, 30, 10, step=1),
    }
)


def rides(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    taken = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 3 * 86_400, n), unit="s")
    made = pd.DataFrame({"zone": rng.choice(["a", "b"], n), "taken": taken, "fare": rng.integers(0, 30, n)})
    made.loc[::40, "taken"] = pd.NaT
    return made


@pytest.fixture(scope="module")
def released():
    """A release in which noise is next to nothing."""
    curator = hr.Curator(
        hr.Table.open(rides(), DOMAIN),
        hr.Budget(epsilon=4000, delta=1e-9),
        ":memory:",
        entropy=hr.testing.seeded(1),
    )
    return hr.Factorization().release(curator, hr.marginals(DOMAIN, 2))


def test_a_moment_has_the_hour_that_its_own_clock_shows():
    texts = [
        "2024-02-29 07:59:59.9", "2024-02-29T23:00Z", "2024-02-29T23:30-05:00", "2024-02-29",
        "2024-02-29T24:00", "2024-02-29T23:59:60", "2024-02-29 soon", "2024-02-29T25:00", "2024-02-30T05:00",
        "", None, " 2024-02-29 05:00 ",
    ]  # fmt: skip
    hours, wrong = as_hours(pa.array(texts))
    assert np.nan_to_num(hours, nan=-1).tolist() == [7, 23, 23, 0, 0, 23, -1, -1, -1, -1, -1, 5]
    assert np.flatnonzero(wrong).tolist() == [6, 7, 8]


def test_an_hour_may_be_written_with_one_digit():
    texts = ["2024-01-02 5:15", "2024-01-02T5:15:59.5", "2024-01-02 05:15", "2024-01-02 5", "2024-01-02 :15"]
    hours = hr.Domain({"h": {"hours": {"of": "taken"}}})["h"]
    assert hours.encode(texts).tolist() == [5, 5, 5, 24, 24]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"])
def test_days_and_hours_of_a_zone_are_those_of_its_calendar(zone):
    clock = ZoneInfo(zone)
    moments = [dt.datetime(2024, 3, 30, tzinfo=dt.UTC) + dt.timedelta(minutes=17 * i) for i in range(200)]
    moments += [dt.datetime(2024, 10, 26, tzinfo=dt.UTC) + dt.timedelta(minutes=17 * i) for i in range(200)]
    local = [m.astimezone(clock) for m in moments]
    for array in (
        pa.array(moments, pa.timestamp("us", "UTC")),
        pa.array(moments, pa.timestamp("ns", "America/New_York")),
        pa.array([m.isoformat() for m in moments]),
    ):
        assert as_hours(array, zone)[0].tolist() == [m.hour for m in local]
        days = [m.date().toordinal() - dt.date(1970, 1, 1).toordinal() for m in local]
        assert as_days(array, zone)[0].tolist() == days


def test_hours_are_the_same_integers_from_every_source(tmp_path):
    frame = rides()
    frame.to_csv(tmp_path / "rides.csv", index=False)
    frame.to_parquet(tmp_path / "rides.parquet", index=False)
    cliques = [("taken", "at"), ("zone", "at", "fare")]
    hour = frame["taken"].dt.hour.fillna(24).astype(int)
    sources = [
        (frame, "memory"),
        (frame, "duckdb"),
        *((tmp_path / f"rides.{e}", "auto") for e in ("csv", "parquet")),
    ]
    for source, engine in sources:
        found = Rows(hr.Table.open(source, DOMAIN, engine=engine), KEY).tables(cliques)
        assert found["taken", "at"].sum(axis=0).tolist() == np.bincount(hour, minlength=25).tolist()
    bound = {"unit": "fare", "max_rows": 3}  # whoever has the same fare is one person here
    first, *others = [
        Rows(
            hr.Table.open(source, DOMAIN.project(["zone", "taken", "at"]), engine=engine, **bound), KEY
        ).tables([("taken", "at")])
        for source, engine in sources
    ]
    for other in others:
        np.testing.assert_array_equal(other["taken", "at"], first["taken", "at"])


@pytest.mark.parametrize(
    "hour",
    [
        "HOUR(taken)",
        "EXTRACT(HOUR FROM taken)",
        "DATE_PART('hour', taken)",
        "EXTRACT(HOUR FROM taken::TIMESTAMP)",
        "taken.hour",
        "at",
    ],
)
def test_every_way_to_write_an_hour_is_the_declared_attribute(released, hour):
    frame = rides()
    truth = frame["taken"].dt.hour.value_counts().sort_index().to_numpy()
    answer = released.answer(f"SELECT {hour} AS h, COUNT(*) FROM t GROUP BY h")
    assert [group[0] for group in answer.table.groups[:24]] == [str(h) for h in range(24)]
    np.testing.assert_allclose(np.ravel(answer.value)[:24], truth, atol=3)
    between = released.answer(f"SELECT COUNT(*) FROM t WHERE {hour} BETWEEN 7 AND 9 AND zone = 'a'")
    inside = frame["taken"].dt.hour.between(7, 9) & (frame["zone"] == "a")
    assert between.value == pytest.approx(inside.sum(), abs=3)


def test_by_the_hour_of_the_calendar_is_by_day_and_hour(released):
    frame = rides()
    answer = released.answer("SELECT DATE_TRUNC('hour', taken) AS h, COUNT(*) FROM t GROUP BY h ORDER BY h")
    truth = frame["taken"].dt.floor("h").value_counts().sort_index()
    found = dict(zip([g[0] for g in answer.table.groups], np.ravel(answer.value), strict=True))
    assert len([g for g in found if g.startswith("2024")]) == 72
    for moment, count in truth.items():
        assert found[f"{moment:%Y-%m-%d %H:%M:%S}"] == pytest.approx(count, abs=3)


def test_hours_pass_through_inner_statements_and_conditions(released):
    frame = rides()
    late = frame[(frame["taken"].dt.hour >= 22) | (frame["taken"].dt.hour < 5)]
    text = "WITH x AS (SELECT HOUR(taken) AS h FROM t) SELECT COUNT(*) FROM x WHERE h >= 22 OR h < 5"
    assert released.answer(text).value == pytest.approx(len(late), abs=10)
    mean = released.answer("SELECT AVG(HOUR(taken)) FROM t").value
    assert mean == pytest.approx(frame["taken"].dt.hour.mean(), abs=0.05)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT HOUR(taken), COUNT(*) FROM t GROUP BY 1", "taken_hour: {hours: {of: taken}}"),
        ("SELECT DATE_TRUNC('hour', taken), COUNT(*) FROM t GROUP BY 1", "taken_hour: {hours: {of: taken}}"),
        ("SELECT HOUR(fare), COUNT(*) FROM t GROUP BY 1", "no column of dates"),
        ("SELECT MINUTE(taken), COUNT(*) FROM t GROUP BY 1", "nothing finer"),
        ("SELECT COUNT(*) FROM t WHERE HOUR(taken + INTERVAL 1 DAY) = 3", "hours"),
    ],
)
def test_what_is_not_declared_is_refused_with_what_to_declare(text, words):
    with pytest.raises(UnsupportedSQL, match=words.replace("{", r"\{").replace("}", r"\}")):
        hr.sql(DOMAIN.project(["zone", "taken", "fare"]), text)


def test_hours_of_the_calendar_need_days():
    months = hr.Domain({"t": hr.dates("2024-01-01", "2025-01-01"), "h": {"hours": {"of": "t"}}})
    with pytest.raises(hr.errors.CutsBin):
        hr.sql(months, "SELECT DATE_TRUNC('hour', t), COUNT(*) FROM t GROUP BY 1")
    assert hr.sql(months, "SELECT HOUR(t), COUNT(*) FROM t GROUP BY 1")


def test_a_schema_keeps_hours_and_refuses_what_they_cannot_be(tmp_path):
    DOMAIN.save(tmp_path / "schema.yaml")
    again = hr.Domain.load(tmp_path / "schema.yaml")
    assert again == DOMAIN
    assert again.columns == ("zone", "taken", "fare")
    assert hr.Domain({"t": {"hours": True}}).columns == ("t",)
    assert hr.Domain({"h": {"hours": "t"}})["h"] == hr.Hours("t")
    assert hr.Hours("t", missing=False).to_schema() == {"hours": {"of": "t"}, "missing": False}
    wrong = (
        {"t": hr.dates("2024-01-01", "2025-01-01", zone="UTC"), "h": {"hours": "t"}},
        {"h": {"hours": "t"}, "g": {"hours": "t"}},
        {"h": {"hours": {"of": 5}}},
        {"h": {"hours": {"of": "t", "zone": "Nowhere"}}},
        {"h": {"hours": "t", "step": 1}},
        {"h": {"hours": "t", "format": "%d.%m.%Y"}},
    )
    for attributes in wrong:
        with pytest.raises(DomainMismatch):
            hr.Domain(attributes)


def test_a_console_keeps_hours_as_they_are():
    for attribute in (
        hr.Hours("t"),
        hr.Hours("t", zone="UTC", missing=["gone"]),
        hr.Hours("t", missing=False),
    ):
        held = DeclaredColumn.read("h", attribute.to_schema())
        assert hr.Domain({"h": held.to_schema()})["h"] == attribute


@pytest.mark.parametrize("format", ["%Y-%m-%d %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d.%m.%Y %H:%M"])
def test_a_draft_has_the_hours_of_moments_and_fits_its_file(tmp_path, format):
    frame = rides()
    frame["day"] = frame["taken"].dt.strftime("%Y-%m-%d 00:00:00")
    frame["taken"] = frame["taken"].dt.strftime(format)
    frame.to_csv(tmp_path / "rides.csv", index=False)
    inspector = Inspector(tmp_path / "rides.csv")
    domain = inspector.propose().domain
    assert domain is not None
    assert list(domain) == ["zone", "taken", "taken_hour", "fare", "day"]
    hours = domain["taken_hour"]
    assert isinstance(hours, hr.Hours)
    assert hours.of == "taken"
    assert domain["taken"].labels[:2] == ("2024-01-01", "2024-01-02")  # single days of one month
    fits = {f.name: f for f in inspector.fit(domain).fits}
    assert fits["taken_hour"].outside == 0
    assert fits["taken_hour"].missing == fits["taken"].missing == 75
    assert hr.sql(domain, "SELECT HOUR(taken), COUNT(*) FROM t GROUP BY 1")


MOMENTS = [dt.datetime(2024, 2, 28, 7, 59), dt.datetime(2024, 2, 28, 23), dt.datetime(2024, 2, 29), None]
EXACT = np.array(MOMENTS, dtype="M8[us]")
FORMS = {  # the same moments as objects, in units of NumPy that Arrow has not, in those that it has, as text
    "objects": lambda: np.array(MOMENTS, dtype=object),
    "list": lambda: list(MOMENTS),
    "pandas": lambda: pd.Series(MOMENTS, dtype=object),
    "scalars": lambda: [None if m is None else np.datetime64(m) for m in MOMENTS],
    **{
        f"M8[{u}]": partial(np.array(MOMENTS, dtype="M8[us]").astype, f"M8[{u}]")
        for u in ("h", "m", "s", "ms", "us", "ns")
    },
    "text": lambda: [None if m is None else str(m) for m in MOMENTS],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_moments_have_their_hours_however_a_frame_holds_them(form, engine):
    domain = hr.Domain({"t": hr.dates("2024-02-28", "2024-03-01", by="day"), "at": {"hours": {"of": "t"}}})
    table = hr.Table.open({"t": FORMS[form]()}, domain, engine=engine)
    found = Rows(table, KEY).tables([("t", "at")])["t", "at"]
    assert found.sum() == len(MOMENTS)
    assert found[0, 7] == found[0, 23] == found[1, 0] == found[:, 24].sum() == 1
    assert domain["at"].encode(FORMS[form]()).tolist() == [7, 23, 0, 24]


def test_an_hour_of_a_day_that_there_is_not_is_missing_as_a_whole():
    cells = ["28.02.2024 07:59", "31.02.2024 07:59", "30.04.2023 24:00", "29.02.2023 10:00", "", "?"]
    hours = Hours(format="%d.%m.%Y %H:%M")
    assert hours.encode(cells).tolist() == [7, 24, 24, 24, 24, 24]
