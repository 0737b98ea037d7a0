"""Parts of dates: the same of every way in which a file writes them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.question import Result
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

FORMATS = ["%m/%d/%Y %H:%M:%S", "%m/%d/%Y", "%d.%m.%Y", "%d/%m/%y %H:%M", "%d-%b-%y", "%Y%m%d"]
DAYS = [dt.date(1990, 1, 1) + dt.timedelta(days=11 * i) for i in range(160)]
BY_MONTH = [
    "SELECT COUNT(*) FROM t WHERE YEAR(d) = 1992",
    "SELECT COUNT(*) FROM t WHERE MONTH(d) IN (6, 7) AND DATE_TRUNC('year', d) >= DATE '1991-01-01'",
    "SELECT YEAR(d), COUNT(*) FROM t GROUP BY YEAR(d) ORDER BY 1",
    "SELECT EXTRACT(MONTH FROM d) AS m, COUNT(*) FROM t GROUP BY m ORDER BY m",
    "SELECT EXTRACT(QUARTER FROM d), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT DATE_TRUNC('month', d), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT DATE_TRUNC('quarter', d) AS q, COUNT(*) FROM t GROUP BY q ORDER BY q",
    "SELECT strftime(d, '%Y-%m'), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT SUM(YEAR(d)) FROM t",
    "SELECT AVG(n) FROM (SELECT YEAR(d) AS y, COUNT(*) AS n FROM t GROUP BY 1) q",
]
BY_DAY = [
    "SELECT EXTRACT(DOW FROM d), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT COUNT(*) FROM t WHERE DAYOFWEEK(d) IN (0, 6)",
    "SELECT COUNT(*) FROM t WHERE DAY(d) < 8",
]


class Held:
    """An exact answer."""

    def __init__(self, table: Result) -> None:
        self.table = table


def answered(domain: hr.Domain, rows: dict[str, list[str]], text: str) -> list[Any]:
    """What a statement says of public rows."""
    tables = exact_tables(rows, {"d": domain["d"].size}, domain)
    asked = sql(domain, text)
    if isinstance(asked, TwoStages):
        made, _ = asked.answered(lambda questions: [Held(q.evaluate(tables)) for q in questions])
        found = made.result
    else:
        found = asked.evaluate(tables)
    return [found.groups, np.asarray(found.values, dtype=np.float64).tolist()]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("by", "text"), [*(("month", text) for text in BY_MONTH), *(("day", text) for text in BY_DAY)]
)
def test_parts_of_dates_do_not_depend_on_how_a_file_writes_them(format: str, by: Any, text: str) -> None:
    plain, written = (
        hr.Domain({"d": hr.dates("1990-01-01", "1995-01-01", by, missing=True, **given)})
        for given in ({}, {"format": format})
    )
    want = answered(plain, {"d": [day.isoformat() for day in DAYS]}, text)
    got = answered(written, {"d": [day.strftime(format) for day in DAYS]}, text)
    assert got == want
    assert sum(map(sum, want[1])) > 0


def test_what_is_worked_out_of_numbers_does_not_depend_on_words_for_nothing() -> None:
    text = "SELECT FLOOR(d / 10), COUNT(*) FROM t GROUP BY 1 ORDER BY 1"
    numbers = [str(i % 90) for i in range(200)]
    domain, other = (hr.Domain({"d": hr.bins(0, 100, 10, step=1, missing=m)}) for m in (True, [99]))
    assert answered(other, {"d": numbers}, text) == answered(domain, {"d": numbers}, text)
