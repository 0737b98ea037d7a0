"""How long it takes to read and compile a SQL statement, accepted or refused."""

from __future__ import annotations

import sys
import time
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import bins, dates
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.sql.statement import sql

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"], missing=True),
        "age": bins(0, 100, 5, missing=True),
        "income": bins(0, 200_000, 5_000, other=True),
        "children": Categorical(range(8), missing=True),
        "region": Categorical([f"region {i:02d}" for i in range(50)], other="elsewhere"),
        "employed": Categorical([True, False], missing=True),
        "arrival": dates("2015-01-01", "2025-01-01", by="month"),
    }
)
ACCEPTED = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 30",
    "SELECT AVG(income) AS mean FROM t WHERE age BETWEEN 20 AND 100 AND employed",
    "SELECT sex, COUNT(*) AS n, AVG(age) FROM t GROUP BY sex ORDER BY n DESC LIMIT 2",
    "SELECT region, SUM(income) / COUNT(*) FROM t WHERE children > 1 GROUP BY region ORDER BY 2 LIMIT 10",
    "SELECT COUNT(*) FROM t WHERE region IN ('region 01', 'region 02') OR NOT employed AND children IS NULL",
    "SELECT COUNT(*) FROM t WHERE arrival >= '2020-01-01' AND arrival <= '2020-12-31' AND region LIKE '%7'",
    "SELECT age, 100.0 * SUM(CASE WHEN employed THEN 1 ELSE 0 END) / COUNT(employed) p FROM t GROUP BY age",
)
REFUSED = (
    "SELECT * FROM t",
    "SELECT COUNT(*) FROM t JOIN u ON t.a = u.a",
    "SELECT COUNT(*) FROM t WHERE age > 33",
    "SELECT COUNT(*) FROM t WHERE region = 'nowhere'",
    "SELECT sex, MEDIAN(income) FROM t GROUP BY sex",
    "SELECT COUNT(*) FROM t WHERE income IN (SELECT income FROM t)",
)


def run(repeats: int = 200) -> list[dict[str, Any]]:
    """Mean milliseconds a statement, best of five rounds: by the clock, and of processor time.

    The work is one thread's, so on an idle machine the two agree; on a busy one only the clock shows it.
    """
    rows = []
    for name, statements in (("accepted", ACCEPTED), ("refused", REFUSED), ("all", ACCEPTED + REFUSED)):
        rounds = [_round(statements, repeats) for _ in range(5)]
        for i, measure in enumerate(("clock", "processor")):
            best = min(r[i] for r in rounds)
            label = f"parse + compile, {name}, {measure} ms"
            rows.append({"name": label, "ours": best, "bar": 1.0, "passed": best < 1.0})
    return rows


def _round(statements: tuple[str, ...], repeats: int) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        for text in statements:
            try:
                sql(DOMAIN, text)
            except HedgerowError:
                continue
    each = 1e3 / (repeats * len(statements))
    return each * (time.perf_counter() - clock), each * (time.process_time() - processor)


if __name__ == "__main__":
    for row in run():
        verdict = "passed" if row["passed"] else "MISSED"
        sys.stdout.write(f"{row['name']:44} {row['ours']:8.3f} {row['bar']:8.3f}  {verdict}\n")
