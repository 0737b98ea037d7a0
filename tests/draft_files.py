"""Twenty files of all kinds, made from seeds: what data look like, with what programs write into them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Frame = pd.DataFrame
Maker = Callable[[np.random.Generator, int], dict[str, Any]]


def _gaps(rng: np.random.Generator, values: Any, part: float = 0.1) -> Any:
    """Some values missing: whole numbers become floats then, as they do in pandas."""
    held = pd.Series(values)
    return held.mask(rng.random(len(held)) < part)


def _days(rng: np.random.Generator, n: int, first: str, span: int) -> list[dt.date]:
    start = dt.date.fromisoformat(first)
    return [start + dt.timedelta(days=int(d)) for d in rng.integers(0, span, n)]


def flights(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Nineteen columns like those of the flights out of New York in 2013."""
    depart = rng.integers(5, 24, n) * 100 + rng.integers(0, 60, n)
    late = np.round(np.where(rng.random(n) < 0.4, rng.exponential(40, n), rng.normal(-4, 4, n)))
    gone = rng.random(n) < 0.025
    airports = np.array([f"{a}{b}{c}" for a in "ABCDE" for b in "FGHIJKL" for c in "XYZ"])
    tails = np.array([f"N{i:05d}" for i in rng.choice(99_999, 4000, replace=False)])
    month, day, hour = rng.integers(1, 13, n), rng.integers(1, 29, n), depart // 100

    def known(values: Any) -> Any:
        return pd.Series(values).mask(gone)

    return {
        "year": np.full(n, 2013),
        "month": month,
        "day": day,
        "dep_time": known(depart),
        "sched_dep_time": depart,
        "dep_delay": known(late),
        "arr_time": known((depart + 230) % 2400),
        "sched_arr_time": (depart + 215) % 2400,
        "arr_delay": known(np.round(late + rng.normal(-5, 15, n))),
        "carrier": rng.choice(["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "FL", "AS"], n),
        "flight": rng.integers(1, 8500, n),
        "tailnum": known(tails[rng.integers(0, 4000, n)]),
        "origin": rng.choice(["EWR", "JFK", "LGA"], n),
        "dest": airports[rng.integers(0, 105, n)],
        "air_time": known(np.round(rng.gamma(3, 50, n) + 20)),
        "distance": rng.choice(rng.integers(80, 4983, 200), n),
        "hour": hour,
        "minute": rng.choice([0, 30, 15, 45, *range(60)], n),
        "time_hour": pd.to_datetime({"year": month * 0 + 2013, "month": month, "day": day, "hour": hour}),
    }


KINDS: dict[str, Maker] = {
    "flights": flights,
    "survey": lambda r, n: (
        {f"q{i}": _gaps(r, r.integers(1, 6, n)) for i in range(8)} | {"age": r.integers(18, 95, n)}
    ),
    "codes": lambda r, n: {
        "sector": r.choice([11, 25, 101, 999], n),
        "gap": _gaps(r, r.choice([11, 25, 101], n)),
    },
    "spending": lambda r, n: {
        "spent": np.round(r.lognormal(5, 2, n) * (r.random(n) < 0.7), 2),
        "visits": r.poisson(3, n),
    },
    "wages": lambda r, n: {
        "wage": r.lognormal(2.5, 0.6, n),
        "log": r.normal(2.5, 0.6, n),
        "school": r.integers(0, 19, n),
    },
    "days": lambda r, n: {"seen": _days(r, n, "2014-01-01", 3650), "born": _days(r, n, "1930-05-05", 25_000)},
    "day first": lambda r, n: {
        "day": [f"{d:%d.%m.%Y}" for d in _days(r, n, "2022-01-01", 900)],
        "k": r.integers(0, 3, n),
    },
    "month first": lambda r, n: {
        "day": [f"{d:%m/%d/%Y}" for d in _days(r, n, "2022-01-01", 900)],
        "k": r.integers(0, 3, n),
    },
    "named months": lambda r, n: {
        "day": [f"{d:%d %b %Y}" for d in _days(r, n, "2022-01-01", 900)],
        "k": r.integers(0, 3, n),
    },
    "moments": lambda r, n: {
        "at": pd.to_datetime("2023-01-01") + pd.to_timedelta(r.integers(0, 10**7, n), unit="s")
    },
    "digits of days": lambda r, n: {
        "day": [int(f"{d:%Y%m%d}") for d in _days(r, n, "2020-01-01", 1500)],
        "x": r.normal(0, 1, n),
    },
    "times": lambda r, n: {
        "at": [f"{a:02d}:{b:02d}" for a, b in r.integers(0, (24, 60), (n, 2))],
        "k": r.integers(0, 3, n),
    },
    "commas": lambda r, n: {
        "price": [f"{v:.2f}".replace(".", ",") for v in r.gamma(2, 30, n)],
        "k": r.integers(0, 3, n),
    },
    "thousands": lambda r, n: {
        "pay": [f"{v:,.0f}" for v in r.gamma(2, 30_000, n) + 1000],
        "k": r.integers(0, 3, n),
    },
    "truths": lambda r, n: {
        "a": r.random(n) < 0.3,
        "b": _gaps(r, r.random(n) < 0.3),
        "c": r.choice(["Y", "N"], n),
        "d": r.choice(["yes", "No", "TRUE", "f"], n),
    },
    "postcodes": lambda r, n: {
        "plz": r.choice([f"{v:05d}" for v in r.integers(0, 99_999, 40)], n),
        "zip": r.choice([10001, 94110, 60601], n),
    },
    "people": lambda r, n: {
        "person_id": r.integers(0, n // 3, n),
        "name": [f"N{v}" for v in r.integers(0, n, n)],
        "sex": r.choice(["F", "M"], n),
        "k": r.integers(0, 3, n),
    },
    "words for nothing": lambda r, n: {
        "x": r.choice(["1", "2.5", "7", "NA", "-", "", "None", "N/A"], n),
        "w": r.choice(["a", "b", "NA", "NULL"], n),
        "n": r.choice([*map(str, range(40)), "nan"], n),
    },
    "many levels": lambda r, n: {
        "town": r.choice([f"T{i:03d}" for i in range(60)], n),
        "text": [f"{v:x}" for v in r.integers(0, 1 << 60, n)],
    },
    "odd": lambda r, n: {
        "one": ["x"] * n,
        "two": ["x"] * n,
        "none": [None] * n,
        "1 st": r.integers(-5, 5, n),
        "big": r.integers(0, 10**12, n),
        "tiny": r.normal(0, 1e-7, n),
    },
}


def frame(kind: str, rows: int, seed: int = 20) -> Frame:
    """One of the twenty."""
    rng = np.random.default_rng([seed, *kind.encode()])
    return pd.DataFrame(KINDS[kind](rng, rows))
