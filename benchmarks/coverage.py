"""How often error bars hold, and how wide they are: counts of many shapes, sums and averages of five tables.

`python -m benchmarks coverage`. First counts and shares of a release, by shape and kind of question: the part
of numbers inside their bars at 80, 95 and 99% ("ours"), and the mean width of bars over the 80th, 95th, 99th
percentile of true errors. At least the nominal part less one point is to be inside; widths are to be at most
1.4 where a table was measured, 2 elsewhere. Numbers of one release have most of their noise in common, the
more so the fewer attributes they are about: four times as many releases are asked for one and two, and for
shares. Where bars differ much from question to question - shares of few
rows beside shares of many - their mean is more than a percentile of errors even if they are exact: "by the
bars' own law" says what the same figures would be of errors that are drawn as the bars say.

Made-up rows like real ones: flights with delays and distances, medical spending with a long tail, ages and
wages, visits by day over ten years, a survey with codes; and, by themselves ("few rows"), 4,000 rows of many
countries, where tables are chosen and numbers hang together that no table was measured of. Every class of
question - overall, by group, with WHERE, both - is asked of a release (`query`) and of a session (`ask`); of
all rows in 100 of each, as they have few numbers. The truth is that of the clamped rows.
"inside" is the part of numbers that lies within its bar (at least 0.94 are wanted), the mean over releases of
the part of each with its standard error: numbers of one release share its noise. "width" is the mean width
of bars over the 95th percentile of true errors (at most 2 for sums and averages). At last the 95th percentile
of the relative errors of every number's overall average, beside the largest one: at most 1% is wanted where
noise allows that, which is where a tenth of the price, spent on nothing but this one sum, would do it 95
times of 100 (`allowed`).
Results of a run are kept in `out/coverage`, so that a run can go on where it stopped. Command: `python -m
benchmarks coverage`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _bars

ROWS = 100_000
FEW = 4_000  # rows, where tables are chosen
RUNS = 20  # of each table: some 30 CPU seconds for one of all five
MORE = 100  # of numbers about all rows: a release has few, which share its noise
GOAL = 0.01  # relative error of an overall average, where noise allows that
SHARE = 0.1  # of the price: so much to overall sums is what noise is said to allow
KEPT = Path(__file__).parent.parent / "out" / "coverage"
Columns = dict[str, Any]


def _clip(values: Any, low: float, high: float) -> Any:
    return np.clip(values, low, high)


def flights(rng: np.random.Generator) -> tuple[Columns, Any]:
    """Delays with a long tail, distances in clusters, hours and months."""
    import hedgerow as hr

    carrier = rng.choice(8, ROWS, p=rng.dirichlet(np.full(8, 2.0)))
    month, hour = rng.integers(1, 13, ROWS), np.clip(rng.normal(13, 4.5, ROWS), 5, 23).astype(int)
    late = rng.random(ROWS) < 0.25 + 0.02 * carrier
    delay = np.where(late, rng.exponential(25 + hour * 2, ROWS), rng.normal(-4, 5, ROWS)).round()
    hubs = rng.choice([184, 214, 719, 1069, 1400, 2475], 40)
    distance = hubs[(carrier * 5 + rng.integers(0, 5, ROWS))] + rng.integers(-90, 90, ROWS)
    columns = {"carrier": carrier, "month": month, "hour": hour, "delay": delay, "distance": distance}
    domain = hr.Domain(
        {
            "carrier": 8,
            "month": hr.bins(1, 13, 1, step=1),
            "hour": hr.bins(5, 24, 1, step=1),
            "delay": hr.Bins([-30, -10, -5, 0, 5, 15, 30, 60, 120, 240, 480], step=1),
            "distance": hr.bins(0, 2800, 200, step=1),
        }
    )
    return columns, domain


def medical(rng: np.random.Generator) -> tuple[Columns, Any]:
    """Spending with a long tail, visits, health and plan."""
    import hedgerow as hr

    health, plan = rng.choice(4, ROWS, p=[0.55, 0.3, 0.12, 0.03]), rng.integers(0, 3, ROWS)
    age = np.clip(rng.gamma(3, 12, ROWS), 0, 99).round()
    spend = np.where(rng.random(ROWS) < 0.2, 0.0, rng.lognormal(4.5 + 0.5 * health, 1.4)).round(2)
    visits = rng.poisson(1.5 + health * 2)
    columns = {"health": health, "plan": plan, "age": age, "spend": spend, "visits": visits}
    domain = hr.Domain(
        {
            "health": 4,
            "plan": 3,
            "age": hr.bins(0, 100, 10, step=1),
            "spend": hr.Bins([0, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000], step=0.01),
            "visits": hr.Bins([0, 1, 2, 3, 5, 10, 20], step=1),
        }
    )
    return columns, domain


def wages(rng: np.random.Generator) -> tuple[Columns, Any]:
    """Ages, schooling, hours and hourly wages."""
    import hedgerow as hr

    sex, region = rng.integers(0, 2, ROWS), rng.choice(4, ROWS, p=[0.3, 0.3, 0.2, 0.2])
    age = np.clip(18 + rng.gamma(2.5, 9, ROWS), 18, 89).astype(int)
    school = np.clip(rng.normal(12.5, 2.5, ROWS), 0, 20).round()
    wage = np.exp(1.2 + 0.09 * school + 0.15 * sex + 0.006 * age + rng.normal(0, 0.45, ROWS)).round(2)
    hours = np.where(rng.random(ROWS) < 0.5, 40, np.clip(rng.normal(36, 11, ROWS), 1, 98)).round()
    columns = {"sex": sex, "region": region, "age": age, "school": school, "wage": wage, "hours": hours}
    domain = hr.Domain(
        {
            "sex": 2,
            "region": 4,
            "age": hr.bins(15, 90, 5, step=1),
            "school": hr.bins(0, 21, 3, step=1),
            "wage": hr.Bins([0, 5, 10, 15, 20, 30, 50, 100, 200], step=0.01),
            "hours": hr.bins(0, 100, 10, step=1),
        }
    )
    return columns, domain


def visits(rng: np.random.Generator) -> tuple[Columns, Any]:
    """Visits by day over ten years: length of stay, charge, ward."""
    import hedgerow as hr

    day = np.datetime64("2014-01-01") + (3650 * rng.beta(1.3, 1.0, ROWS)).astype(int)
    ward = rng.choice(6, ROWS, p=rng.dirichlet(np.full(6, 3.0)))
    stay = np.clip(rng.geometric(0.22 + 0.03 * ward), 1, 60)
    charge = (stay * rng.gamma(4, 60, ROWS) + 50 * ward).round(1)
    columns = {"day": day, "ward": ward, "stay": stay, "charge": charge}
    domain = hr.Domain(
        {
            "day": hr.dates("2014-01-01", "2024-01-01", "quarter"),
            "ward": 6,
            "stay": hr.Bins([1, 2, 3, 5, 8, 13, 21, 34, 61], step=1),
            "charge": hr.Bins([0, 200, 500, 1000, 2000, 4000, 8000, 16000], step=0.1),
        }
    )
    return columns, domain


def survey(rng: np.random.Generator) -> tuple[Columns, Any]:
    """A survey with codes, a score and an income with missing values."""
    import hedgerow as hr

    q1, q2, q3 = (rng.choice(5, ROWS, p=rng.dirichlet(np.full(5, 2.0))) for _ in range(3))
    score = np.clip(rng.normal(50 + 4 * q1, 15, ROWS), 0, 100).round(1)
    income = np.clip(rng.lognormal(7.6 + 0.1 * q2, 0.6), 0, 20000).round(-1)
    income = np.where(rng.random(ROWS) < 0.15, np.nan, income)
    columns = {"q1": q1, "q2": q2, "q3": q3, "score": score, "income": income}
    domain = hr.Domain(
        {
            "q1": 5,
            "q2": 5,
            "q3": 5,
            "score": hr.bins(0, 100.1, 10, step=0.1),
            "income": hr.Bins([0, 500, 1000, 1500, 2000, 3000, 5000, 10000, 20000], step=10),
        }
    )
    return columns, domain


def countries(rng: np.random.Generator) -> tuple[Columns, Any]:
    """Few rows of many countries: tables are chosen, and numbers hang together that none was measured of."""
    import hedgerow as hr

    country, year = rng.integers(0, 150, FEW), rng.integers(0, 22, FEW)

    def along(r: float, x: Any) -> Any:
        return r * (x - x.mean()) / x.std() + (1.0 - r * r) ** 0.5 * rng.normal(0.0, 1.0, FEW)

    life = along(0.15, year)
    income = along(0.2, life)
    school = along(0.15, income)
    columns = {
        "country": country,
        "code": country * 7 % 150,
        "year": 2000 + year,
        "life": _clip(65 + 9 * life, 40, 90).round(1),
        "income": _clip(8 * np.exp(income), 0.2, 100).round(1),
        "school": _clip(0.5 + 0.15 * school, 0, 1).round(2),
    }
    domain = hr.Domain(
        {
            "country": hr.Categorical(range(150)),
            "code": hr.Categorical(range(150)),
            "year": hr.Bins(list(range(2000, 2023)), step=1),
            "life": hr.Bins([40, *range(46, 86, 2), 90], step=0.1),
            "income": hr.Bins([0, *range(1, 11), 12, 14, 16, 20, 25, 30, 40, 60, 100], step=0.1),
            "school": hr.bins(0, 1, 0.05, step=0.01),
        }
    )
    return columns, domain


TABLES = {f.__name__: f for f in (flights, medical, wages, visits, survey)}
CHOSEN = {countries.__name__: countries}  # of few rows


def questions(rng: np.random.Generator, columns: Columns, domain: Any) -> Iterator[tuple[Any, ...]]:
    """Kind, class, column, SQL and the true values: overall, by group, with WHERE, by group with WHERE."""
    from hedgerow.queries.domain.bins import Bins, Dates

    codes = domain.encode(columns)
    rows = len(next(iter(columns.values())))
    numbers = [n for n, a in domain.items() if isinstance(a, Bins) and not isinstance(a, Dates)]
    groups = [n for n, a in domain.items() if a.size <= 26]
    for number in numbers:
        lattice = domain[number].lattice
        step = float(lattice.step)
        raw = np.asarray(columns[number], dtype=float)
        value = _clip(raw, lattice.low[0] * step, lattice.high[-1] * step)
        there = ~np.isnan(raw)
        for klass in ("overall", "by group", "where", "by group, where"):
            for _ in range(1 if klass == "overall" else 2):
                keep, where, by, on, levels = np.ones(rows, dtype=bool), "", "", "", range(0)
                if "where" in klass:
                    where, keep, on, levels = _where(rng, domain, codes)
                group = np.zeros(rows, dtype=int)
                names, number_of = "", 1
                if "group" in klass:
                    g = str(rng.choice([g for g in groups if g != number]))
                    group, names, by, number_of = codes[g], f"{g}, ", f" GROUP BY {g}", domain[g].size
                kinds = ("AVG", "SUM", "MEDIAN", "COUNT")
                for kind in kinds[: None if klass != "overall" or number == numbers[0] else 3]:
                    truth = [
                        _truth(kind, value[keep & there & (group == i)], int((keep & (group == i)).sum()))
                        for i in range(number_of)
                        if not by or on != g or i in levels  # SQL has no groups that are excluded
                    ]
                    what = "COUNT(*)" if kind == "COUNT" else f"{kind}({number})"
                    yield kind, klass, number, f"SELECT {names}{what} FROM t{where}{by}", truth


def _where(rng: np.random.Generator, domain: Any, codes: Columns) -> tuple[str, Any, str, range]:
    """A condition on one column, on levels of it: the rows that meet it, the column, the levels."""
    from hedgerow.queries.domain.bins import Bins, Dates

    name = str(rng.choice([n for n, a in domain.items() if not isinstance(a, Dates)]))
    a = domain[name]
    if isinstance(a, Bins):
        first = int(rng.integers(0, len(a.values) - 1))
        last = int(rng.integers(first + 1, len(a.values)))
        low, high = (a.lattice.spell(int(k)) for k in (a.lattice.low[first], a.lattice.high[last]))
        inside = (codes[name] >= first) & (codes[name] <= last)
        return f" WHERE {name} BETWEEN {low} AND {high}", inside, name, range(first, last + 1)
    level = int(rng.integers(0, len(a.values)))
    return f" WHERE {name} = {a.values[level]}", codes[name] == level, name, range(level, level + 1)


def _truth(kind: str, values: Any, rows: int) -> float:
    if kind == "COUNT":
        return float(rows)
    if kind == "SUM":
        return float(values.sum())
    if not len(values):
        return float("nan")
    return float(values.mean() if kind == "AVG" else np.median(values))


def measure(table: str, seed: int, epsilon: float = 1.0) -> list[Any]:
    """(door, kind, class, column, true error, bar, relative error) of every number of one run."""
    import hedgerow as hr

    rng = np.random.default_rng(seed)
    columns, domain = (TABLES | CHOSEN)[table](rng)
    out = []
    for door in ("query", "ask"):
        budget = hr.Budget(epsilon=epsilon, delta=1e-9)
        curator = hr.Curator(hr.Table.open(columns, domain), budget, ":memory:")
        if door == "query":
            synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
            ask = synopsis.answer
        else:
            ask = hr.Session(epsilon=epsilon).open(curator).ask
        for kind, klass, column, text, truth in questions(np.random.default_rng(seed + 1), columns, domain):
            answer = ask(text)
            values, bars = np.atleast_1d(answer.value).ravel(), np.atleast_1d(answer.error).ravel()
            for value, bar, true in zip(values, bars, truth, strict=True):
                if np.isfinite(true) and np.isfinite(value):
                    off = abs(value - true)
                    out.append((door, kind, klass, column, off, bar, off / max(abs(true), 1e-9)))
    return out


def found(table: str, seed: int) -> list[Any]:
    """The same, from the file of an earlier run if there is one."""
    path = KEPT / f"{table}-{seed}.json"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(measure(table, seed)))
    return list(json.loads(path.read_text()))


def overall(table: str, door: str) -> list[list[Any]]:
    """What `measure` finds of all rows - counts, averages and sums - in more releases, or sessions."""
    import hedgerow as hr
    from hedgerow.queries.domain.bins import Bins, Dates

    path = KEPT / f"overall-{table}-{door}.json"
    kept: list[list[Any]] = json.loads(path.read_text()) if path.exists() else []
    for seed in range(len(kept), MORE):
        columns, domain = TABLES[table](np.random.default_rng(seed))
        curator = hr.Curator(hr.Table.open(columns, domain), hr.Budget(epsilon=1.0, delta=1e-9), ":memory:")
        if door == "query":
            ask: Any = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2)).answer
        else:
            ask = hr.Session(epsilon=1.0).open(curator).ask
        asked = [("COUNT", "COUNT(*)", "", float(len(next(iter(columns.values())))))]
        for name in (n for n, a in domain.items() if isinstance(a, Bins) and not isinstance(a, Dates)):
            lattice, raw = domain[name].lattice, np.asarray(columns[name], dtype=float)
            ends = (float(lattice.step) * int(k) for k in (lattice.low[0], lattice.high[-1]))
            true = _clip(raw[~np.isnan(raw)], *ends)
            asked.append(("AVG", f"AVG({name})", name, float(true.mean())))
            asked.append(("SUM", f"SUM({name})", name, float(true.sum())))
        own = []
        for kind, what, name, true in asked:
            answer = ask(f"SELECT {what} FROM t")
            off = abs(float(np.ravel(answer.value)[0]) - true)
            bar = float(np.ravel(answer.error)[0])
            own.append([door, kind, "overall", name, off, bar, off / max(abs(true), 1e-9)])
        kept.append(own)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept))
    return kept[:MORE]


def run() -> Iterator[dict[str, Any]]:
    """Counts by shape; then coverage and width by door, kind and class; then averages of all rows."""
    for shape in _bars.SHAPES:
        yield from _bars.lines(shape)
    yield from _by_class(TABLES)
    yield from _by_class(CHOSEN, ", few rows")
    for table, column, all_of_them, alone in allowed():
        for door in ("query", "ask"):
            off = [n[-1] for one in overall(table, door) for n in one if n[1] == "AVG" and n[3] == column]
            can, usual = alone <= GOAL, float(np.quantile(off, 0.95))
            why = f"noise allows {alone:.4f} to it alone, {all_of_them:.4f} to all"
            yield {
                "name": f"{door}: AVG({table}.{column}), relative error of 95% of {len(off)} releases "
                f"(largest {max(off):.4f}); {why}",
                "ours": usual,
                "bar": f"<= {GOAL}" if can else None,
                "passed": usual <= GOAL if can else None,
            }


def _by_class(tables: Iterable[str], of: str = "") -> Iterator[dict[str, Any]]:
    """Coverage and width by door, kind and class, of releases of some tables."""
    runs = {(table, seed): found(table, seed) for table in tables for seed in range(RUNS)}
    for table in (t for t in tables if t in TABLES):
        for seed in range(RUNS):
            runs[table, seed] = [n for n in runs[table, seed] if n[2] != "overall" or n[1] == "MEDIAN"]
        for door in ("query", "ask"):
            more = enumerate(overall(table, door), RUNS if door == "query" else RUNS + MORE)
            runs |= {(table, seed): own for seed, own in more}
    numbers: list[Any] = [(table, *n) for (table, _), run in runs.items() for n in run]
    for door in ("query", "ask"):
        for kind in ("COUNT", "AVG", "SUM", "MEDIAN"):
            for klass in ("overall", "by group", "where", "by group, where"):
                some = [n for n in numbers if n[1:4] == (door, kind, klass)]
                each = [
                    [e <= bar for *said, e, bar, _ in run if said[:3] == [door, kind, klass]]
                    for run in runs.values()
                ]
                parts = [float(np.mean(held)) for held in each if held]
                inside, doubt = float(np.mean(parts)), float(np.std(parts)) / max(len(parts) - 1, 1) ** 0.5
                yield {
                    "name": f"{door}: {kind} {klass}{of}, inside of {len(some)} in {len(parts)} releases",
                    "ours": f"{inside:.3f}+-{doubt:.3f}",
                    "bar": ">= 0.94",
                    "passed": inside >= 0.94,
                }
                ratio = _width(some)
                yield {
                    "name": f"{door}: {kind} {klass}{of}, width",
                    "ours": ratio,
                    "bar": "<= 2" if kind in ("AVG", "SUM") else None,
                    "passed": ratio <= 2.0 if kind in ("AVG", "SUM") else None,
                }


def allowed(epsilon: float = 1.0) -> Iterator[tuple[str, str, float, float]]:
    """For each number the relative error of its overall average that noise allows, 95 times of 100.

    That of an act which measures nothing but overall sums, each once and from the middle of its range, with
    how many rows there are known, at `SHARE` of the price: first where the sums of all numbers of the table
    share that evenly, then where this one has it alone, which is what the bar goes by. Range, number of rows
    and price are public; the average that it is relative to is that of the made-up rows.
    """
    import hedgerow as hr
    from hedgerow.queries.domain.bins import Bins, Dates

    few = hr.Table.open({"a": [0]}, hr.Domain({"a": 2}))
    rho = float(hr.Curator(few, hr.Budget(epsilon=epsilon, delta=1e-9), ":memory:").left.amount)
    for table, make in TABLES.items():
        columns, domain = make(np.random.default_rng(0))
        names = [n for n, a in domain.items() if isinstance(a, Bins) and not isinstance(a, Dates)]
        for name in names:
            lattice = domain[name].lattice
            low, high = (float(lattice.step) * int(k) for k in (lattice.low[0], lattice.high[-1]))
            value = np.asarray(columns[name], dtype=float)
            value = _clip(value[~np.isnan(value)], low, high)
            alone = 1.96 * (high - low) / 2.0 / (2.0 * rho * SHARE) ** 0.5 / abs(float(value.sum()))
            yield table, name, alone * len(names) ** 0.5, alone


def _width(some: list[Any]) -> float:
    """The mean width of bars by the 95th percentile of true errors, both in units of a column's usual bar."""
    errors, bars = [], []
    for column in sorted({(n[0], n[4]) for n in some}):
        own = np.array([n[5:7] for n in some if (n[0], n[4]) == column], dtype=float)
        own = own[np.isfinite(own[:, 1])]
        scale = float(np.median(own[:, 1])) if len(own) else 0.0
        if not scale:  # bins of one value have nothing to be wrong about
            continue
        errors += (own[:, 0] / scale).tolist()
        bars += (own[:, 1] / scale).tolist()
    return float(np.mean(bars) / np.quantile(errors, 0.95))
