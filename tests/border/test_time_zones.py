"""Which day a moment falls on is the same on every machine and for every reader."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.queries.domain.days import as_days

BERLIN = ZoneInfo("Europe/Berlin")

SCRIPT = """
import datetime as dt, json, sys
from pathlib import Path
from zoneinfo import ZoneInfo
import pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq
import hedgerow as hr
from hedgerow.curator.rows.table import Rows

folder = Path(sys.argv[1])
berlin = ZoneInfo("Europe/Berlin")
late, early = dt.datetime(2020, 1, 31, 23, 30, tzinfo=berlin), dt.datetime(2020, 2, 1, 0, 30, tzinfo=berlin)
times = [late] * 50 + [early] * 40
frame = pd.DataFrame({"t": pd.to_datetime(times).as_unit("us")})
arrow = pa.table({"t": pa.array(times, pa.timestamp("us", "Europe/Berlin"))})
long = pa.table({"t": arrow["t"].cast(pa.timestamp("ns", "Europe/Berlin"))})
frame.to_csv(folder / "d.csv", index=False)
in_utc = [t.astimezone(dt.timezone.utc).isoformat() for t in times]
(folder / "utc.csv").write_text("\\n".join(["t", *in_utc]))
frame.to_parquet(folder / "pandas.parquet")
pl.from_pandas(frame).write_parquet(folder / "polars.parquet")
pq.write_table(arrow, folder / "plain.parquet", store_schema=False)
pq.write_table(long, folder / "int96.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
sources = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": arrow, "objects": {"t": times}}
sources |= {file.name: file for file in folder.iterdir()}
found = {}
for zone in (None, "Europe/Berlin", "UTC", "America/St_Johns"):
    domain = hr.Domain({"t": hr.dates("2020-01-01", "2020-03-01", zone=zone)})
    for name, source in sources.items():
        for engine in ["auto"] if isinstance(source, Path) else ["memory", "duckdb"]:
            table = hr.Table.open(source, domain, engine=engine)
            found[f"{name}/{engine}/{zone}"] = Rows(table, bytes(32)).tables([("t",)])[("t",)].tolist()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """What the script finds on machines in three zones."""
    made = []
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns"):
        folder = tmp_path_factory.mktemp("zone")
        command = [sys.executable, "-c", SCRIPT, str(folder)]
        ran = subprocess.run(
            command, env=os.environ | {"TZ": zone}, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        made.append(json.loads(ran.stdout))
    return made


def test_the_machines_zone_changes_no_count(everywhere):
    one, *others = everywhere
    assert all(other == one for other in others)


def test_a_declared_zone_is_the_zone_of_every_reader(everywhere):
    for name, counts in everywhere[0].items():
        zone = name.split("/", 2)[2]
        if zone != "None" and not name.startswith("int96"):  # whose moments say no zone
            assert counts == ([50, 40] if zone == "Europe/Berlin" else [90, 0]), name


def test_where_none_is_declared_a_moment_is_read_in_its_own_zone(everywhere):
    for name, counts in everywhere[0].items():
        source, _, zone = name.split("/", 2)
        if zone == "None":
            in_utc = source in ("utc.csv", "plain.parquet", "int96.parquet")
            assert counts == ([90, 0] if in_utc else [50, 40]), name


DAYS = {
    "2020-01-31": "2020-01-31",
    "2020-01-31T23:30+01:00": "2020-01-31",
    "2020-01-31 24:00": "2020-02-01",
    "2020-01-31T24:00:00.000Z": "2020-02-01",
    "2020-12-31T24:00:00+0530": "2021-01-01",
    "2020-01-31 24:00:01": "2020-01-31",
    "2020-01-31 25:00": "2020-01-31",
    "2016-12-31T23:59:60Z": "2016-12-31",
    "2020-01-31 23:59:99": "2020-01-31",
    "2020-01-31 soon": "2020-01-31",
    "9999-12-31 23:59": "9999-12-31",
    "9999-12-31 24:00": None,
    "0000-12-31 24:00": None,
    "0001-01-01": "0001-01-01",
    "12020-01-01": None,
    "-2020-01-01": None,
    "2021-02-29": None,
}


@pytest.mark.parametrize("text", DAYS)
def test_every_text_is_a_day_or_none(text):
    days, wrong = as_days(pa.array([text]))
    got = None if np.isnan(days[0]) else str(np.datetime64(int(days[0]), "D"))
    assert got == DAYS[text]
    assert wrong[0] == (got is None)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "UTC"])
def test_days_of_a_zone_are_pythons(zone, size):
    rng, local = np.random.default_rng(1), ZoneInfo(zone)
    moments = [
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=int(s))
        for s in rng.integers(-3 * 10**9, 8 * 10**9, size(300, 20_000))
    ]
    offset = dt.timezone(dt.timedelta(hours=-3, minutes=-30))
    texts = [m.astimezone(offset).isoformat(rng.choice(["T", " "])) for m in moments]
    expected = [(m.astimezone(local).date() - dt.date(1970, 1, 1)).days for m in moments]
    assert as_days(pa.array(texts), zone)[0].tolist() == expected
    assert as_days(pa.array(moments, pa.timestamp("us", "UTC")), zone)[0].tolist() == expected
    assert as_days(pa.array(moments, pa.timestamp("us", zone)))[0].tolist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "+05:30"])
def test_no_moment_is_an_error(unit, zone):
    values = [2**63 - 1, -(2**63) + 1, 2**62, 0, None, 253402300800, -62135596801]
    array = pa.array(values, pa.timestamp(unit, zone))
    attribute = hr.dates("0001-01-01", "9999-12-31", by="year", other=True, missing=True)
    codes = attribute.encode(array)
    assert codes[4] == attribute.missing_code
    assert set(codes[np.abs(as_days(array)[0]) < 1]) <= set(attribute.encode(["1970-01-01", "1969-12-31"]))
    if unit == "s":
        assert (codes[[0, 1, 2]] == attribute.other_code).all()
    hr.Categorical(["a"], other=True).encode(array)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "Europe", 7])
def test_a_zone_that_does_not_exist_is_one_sentence(zone):
    with pytest.raises(hr.DomainMismatch, match="time zone like Europe/Berlin"):
        hr.Domain({"t": {"dates": {"start": "2020-01-01", "stop": "2021-01-01", "zone": zone}}})


def test_a_column_in_a_zone_that_is_not_known_is_refused_when_it_is_opened():
    table = pa.table({"t": pa.array([0], pa.timestamp("us", "Mars/Olympus"))})
    with pytest.raises(hr.DomainMismatch, match="zone that is not known"):
        hr.Table.open(table, hr.Domain({"t": hr.dates("2020-01-01", "2021-01-01")}))


def test_a_schema_keeps_its_zone_and_an_old_one_its_fingerprint(tmp_path):
    zoned = hr.Domain({"t": hr.dates("2020-01-01", "2021-01-01", zone="Europe/Berlin")})
    zoned.save(tmp_path / "s.yaml")
    assert hr.Domain.load(tmp_path / "s.yaml") == zoned
    plain = hr.Domain({"t": hr.dates("2020-01-01", "2021-01-01")})
    assert plain != zoned
    assert "zone" not in json.dumps(plain.to_schema())


@pytest.mark.parametrize("name", ["localtime", "posixrules", "posix/localtime", "right/localtime"])
def test_a_name_for_this_machines_own_zone_is_no_zone(name):
    with pytest.raises(hr.DomainMismatch, match="is not a time zone like Europe/Berlin"):
        hr.dates("2020-01-01", "2021-01-01", zone=name)
    column = pa.array([0]).cast(pa.timestamp("s", name))
    with pytest.raises(hr.DomainMismatch, match="a zone that is not known here"):
        hr.Table.open(pa.table({"t": column}), hr.Domain({"t": hr.dates("1970-01-01", "1971-01-01")}))


@pytest.mark.parametrize("here", ["UTC", "Europe/Berlin"])
def test_times_of_pandas_in_this_machines_own_zone_are_refused_by_their_type(here, monkeypatch):
    import time

    import pandas as pd
    from dateutil.tz import tzlocal

    monkeypatch.setenv("TZ", here)
    time.tzset()
    try:
        column = pd.Series(pd.to_datetime(["2020-01-31"])).dt.tz_localize(tzlocal())
        domain = hr.Domain({"t": hr.dates("2020-01-01", "2021-01-01")})
        for held in (column, column.astype("category"), column[:0]):
            with pytest.raises(hr.DomainMismatch, match="column 't' has times in a zone that is not known"):
                hr.Table.open(pd.DataFrame({"t": held}), domain)
        hr.Table.open(pd.DataFrame({"t": column, "a": [0]}), hr.Domain({"a": 2}))
    finally:
        monkeypatch.undo()
        time.tzset()
