"""Population: a made-up small country, row by row, so that the demo needs nobody's data.

Every attribute is drawn given those before it, along the lines on which real censuses hang together: age
shapes school, work and marriage; school shapes work and pay; pay and place shape housing and travel. All
numbers are invented.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import Bins, bins, dates
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAY = (0, 10_000, 20_000, 30_000, 40_000, 60_000, 80_000, 120_000)
REGIONS = ("Harbour", "Old Town", "Mill Valley", "Northmoor", "Fenland", "Westhills")
UNIT, MAX_ROWS = "person_id", 2

_NEVER, _SURE = -9.0, 9.0
_CITY = (0, 1)
_TODAY = np.datetime64("2025-01-01")

People = dict[str, "NDArray[Any]"]


@dataclass(frozen=True)
class Population:
    """A made-up population: one row for each dwelling that a person is registered at.

    About three in a hundred people are registered twice or more often: students with a room elsewhere,
    workers with a second flat.

    Args:
        rows: how many rows.
        seed: for the same population again.

    >>> sorted(Population(100, seed=1).columns)[:3]
    ['age', 'commute', 'education']
    """

    rows: int
    seed: int = 2024

    @staticmethod
    def domain() -> Domain:
        """The declared schema: what an owner can write down before looking at any row."""
        area = {"city": list(REGIONS[:2]), "country": list(REGIONS[2:])}
        return Domain(
            {
                "region": Categorical(REGIONS, hierarchy={"area": area}),
                "sex": Categorical(["female", "male"]),
                "age": bins(0, 100, 10, step=1, missing=False),
                "education": Categorical(["none", "school", "vocational", "bachelor", "postgraduate"]),
                "work": Categorical(
                    ["child", "student", "employed", "self-employed", "unemployed", "at home", "retired"]
                ),
                "income": Bins(PAY, missing=True, step=100),
                "marital status": Categorical(["single", "married", "separated", "widowed"]),
                "housing": Categorical(["owned", "mortgaged", "rented", "social"], other=True, missing=True),
                "commute": Categorical(["none", "car", "public transport", "bicycle", "on foot"]),
                "moved_in": dates("2015-01-01", "2025-01-01", by="year", other="earlier"),
            }
        )

    @classmethod
    def every_number(cls) -> Domain:
        """The same with a bin for every number: what is computed in it follows from the rows' own ones."""
        numbers = {"age": bins(0, 100, 1, step=1, missing=False), "income": bins(0, PAY[-1], 100, step=100)}
        declared = cls.domain()
        return Domain({name: numbers.get(name, declared[name]) for name in declared})

    @cached_property
    def columns(self) -> People:
        """The rows, as columns of raw values; None where one is missing."""
        random = Generator(PCG64(self.seed))
        people = _people(random, max(self.rows, 1))
        rows = _second_homes(random, people)
        order = random.permutation(len(rows["age"]))[: self.rows]
        names = (UNIT, *self.domain().names)
        return {name: _plain(rows[name][order]) for name in names}

    def write(self, path: Path) -> None:
        """Write the rows as CSV."""
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(self.columns)
            out.writerows(zip(*(c.tolist() for c in self.columns.values()), strict=True))


def _draw(random: Generator, n: int, scores: dict[str, Any]) -> NDArray[Any]:
    """One label per person, with odds that grow by e for each point of score."""
    logits = np.stack([np.broadcast_to(np.asarray(s, dtype=np.float64), n) for s in scores.values()], axis=1)
    noise = random.gumbel(size=logits.shape)  # the argmax of logits + Gumbel noise has softmax odds
    labels: NDArray[Any] = np.array(list(scores), dtype=object)
    drawn: NDArray[Any] = labels[np.argmax(logits + noise, axis=1)]
    return drawn


def _people(random: Generator, n: int) -> People:
    """People with one dwelling each, attribute by attribute."""
    p: People = {UNIT: np.array([f"P{i:06d}" for i in range(n)], dtype=object)}
    place = random.choice(len(REGIONS), size=n, p=[0.27, 0.19, 0.18, 0.14, 0.12, 0.10])
    p["region"] = np.array(REGIONS, dtype=object)[place]
    p["city"] = np.isin(place, _CITY)
    p["age"] = _ages(random, p["city"])
    female = 0.488 + 0.09 * np.clip((p["age"] - 60) / 30, 0, 1)
    p["sex"] = np.where(random.random(n) < female, "female", "male").astype(object)
    p["education"] = _education(random, p)
    p["work"] = _work(random, p)
    p["income"] = _income(random, p)
    p["marital status"] = _marital(random, p)
    p["housing"] = _housing(random, p)
    p["commute"] = _commute(random, p)
    p["moved_in"] = _moved_in(random, p)
    return p


def _ages(random: Generator, city: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Whole years: a pyramid with a baby boom, young adults in the city, older people in the country."""
    years = np.arange(100)
    base = np.clip(1.25 - years / 95, 0.0, 1.0) ** 0.8 * (1 + 0.35 * np.exp(-(((years - 56) / 9) ** 2)))
    base[years > 80] *= np.exp(-(years[years > 80] - 80) / 7.0)
    young = 1 + 0.75 * np.exp(-(((years - 29) / 8) ** 2))
    old = 1 + 0.45 * np.exp(-(((years - 66) / 14) ** 2))
    out = np.zeros(len(city), dtype=np.int64)
    for here, shape in ((city, young), (~city, old)):
        weights = base * shape
        out[here] = random.choice(100, size=int(here.sum()), p=weights / weights.sum())
    return out


def _education(random: Generator, p: People) -> NDArray[Any]:
    """More schooling in later cohorts and in the city; nobody outruns their age."""
    age, later = p["age"], (60 - p["age"]) / 30
    adult = age >= 22
    return _draw(
        random,
        len(age),
        {
            "none": np.where(age < 16, _SURE, -1.6 - later),
            "school": np.where(age < 16, _NEVER, np.where(age < 20, 2.5, 0.9 - 0.5 * later)),
            "vocational": np.where(age < 18, _NEVER, 0.8 - 0.1 * later - 0.3 * p["city"]),
            "bachelor": np.where(adult, 0.1 + 0.55 * later + 0.5 * p["city"], _NEVER),
            "postgraduate": np.where(age >= 24, -1.2 + 0.6 * later + 0.8 * p["city"], _NEVER),
        },
    )


def _work(random: Generator, p: People) -> NDArray[Any]:
    """Childhood, study, working life, retirement; care work still falls on women more often."""
    age, woman = p["age"], p["sex"] == "female"
    degree = np.isin(p["education"], ["bachelor", "postgraduate"])
    of_age = (age >= 16) & (age < 75)
    tired = 0.3 * np.clip(age - 60, 0, 15)
    none = p["education"] == "none"
    return _draw(
        random,
        len(age),
        {
            "child": np.where(age < 16, 2 * _SURE, 2 * _NEVER),
            "student": np.where((age >= 16) & (age < 36), 3.4 - 0.42 * (age - 16), _NEVER),
            "employed": np.where(of_age, 2.0 + 0.5 * degree - 0.5 * none - tired, _NEVER),
            "self-employed": np.where(of_age & (age >= 20), -0.6 + 0.02 * (age - 20) - 0.35 * woman, _NEVER),
            "unemployed": np.where(of_age & (age < 65), -0.6 - 0.6 * degree + 0.9 * none, _NEVER),
            "at home": np.where(of_age, -1.9 + 1.1 * woman + 0.6 * ((age > 28) & (age < 48)), _NEVER),
            "retired": np.where(age >= 55, -3.0 + 0.42 * (age - 57), _NEVER),
        },
    )


def _income(random: Generator, p: People) -> NDArray[Any]:
    """Yearly pay or pension in whole hundreds; some people do not say."""
    n, age = len(p["age"]), p["age"]
    school = {"none": -0.35, "school": -0.15, "vocational": 0.05, "bachelor": 0.3, "postgraduate": 0.52}
    career = -0.0009 * (np.clip(age, 18, 67) - 50.0) ** 2
    level = 10.45 + np.vectorize(school.get)(p["education"]) + career
    level = level + 0.12 * p["city"] - 0.14 * (p["sex"] == "female")
    shift = {"student": -1.5, "unemployed": -1.2, "at home": -1.9, "retired": -0.5, "self-employed": 0.05}
    level = level + np.vectorize(lambda w: shift.get(w, 0.0))(p["work"])
    spread = np.where(p["work"] == "self-employed", 0.75, 0.42)
    pay = np.round(np.exp(level + spread * random.standard_normal(n)), -2)
    pay[p["work"] == "child"] = 0
    silent = random.random(n) < np.where(p["work"] == "self-employed", 0.14, 0.05) * (p["work"] != "child")
    return np.array([None if s else int(v) for s, v in zip(silent, pay, strict=True)], dtype=object)


def _marital(random: Generator, p: People) -> NDArray[Any]:
    age, woman = p["age"].astype(np.float64), p["sex"] == "female"
    return _draw(
        random,
        len(age),
        {
            "single": np.where(age < 18, _SURE, 2.6 - 0.11 * np.clip(age - 18, 0, 26) + 0.3 * p["city"]),
            "married": np.where(age < 18, _NEVER, -2.2 + 0.16 * np.clip(age - 18, 0, 22)),
            "separated": np.where(age < 22, _NEVER, -2.6 + 0.07 * np.clip(age - 22, 0, 30)),
            "widowed": np.where(age < 40, _NEVER, -4.5 + 0.095 * (age - 40) + 0.7 * woman),
        },
    )


def _housing(random: Generator, p: People) -> NDArray[Any]:
    """Renting when young or in the city, a mortgage in mid-life, owning later; some do not say."""
    n, age = len(p["age"]), p["age"].astype(np.float64)
    pay = np.array([12_000 if v is None else v for v in p["income"]]) / 30_000
    home = np.where(age < 20, 42.0, age)  # children live as their parents do
    pay = np.where(age < 20, 1.0, pay)
    housing = _draw(
        random,
        n,
        {
            "owned": -1.9 + 0.045 * (home - 25) + 0.2 * pay - 0.5 * p["city"],
            "mortgaged": -0.4 - 0.0022 * (home - 42) ** 2 + 0.7 * np.minimum(pay, 3) - 0.3 * p["city"],
            "rented": 1.1 - 0.022 * (home - 25) + 0.7 * p["city"],
            "social": -0.1 - 0.9 * np.minimum(pay, 3) + 0.2 * p["city"],
            "care home": np.where(age < 70, -5.5, -3.5 + 0.16 * (age - 70)),  # not in the schema: `other`
        },
    )
    housing[random.random(n) < 0.03] = None
    return housing


def _commute(random: Generator, p: People) -> NDArray[Any]:
    goes = np.isin(p["work"], ["employed", "self-employed", "student"])
    pupil = (p["work"] == "child") & (p["age"] >= 6)
    city, drives = p["city"], p["age"] >= 18
    return _draw(
        random,
        len(city),
        {
            "none": np.where(goes, -0.2 + 0.5 * np.isin(p["education"], ["bachelor", "postgraduate"]), 4.0)
            - 6.0 * pupil,
            "car": np.where(goes & drives, 1.3 - 1.1 * city, -3.0 + 2.0 * pupil),
            "public transport": np.where(goes, -0.6 + 1.7 * city, -2.5 + 2.5 * pupil),
            "bicycle": np.where(goes, -0.7 + 0.7 * city, -2.5 + 2.2 * pupil),
            "on foot": np.where(goes, -0.9 + 0.3 * city, -2.0 + 2.6 * pupil),
        },
    )


def _moved_in(random: Generator, p: People) -> NDArray[Any]:
    """The day of registration: tenants move often, owners seldom, nobody before birth."""
    age = p["age"].astype(np.float64)
    stay = np.where(np.isin(p["housing"].astype(str), ["rented", "social"]), 4.5, 14.0)
    years = np.minimum(random.exponential(stay * np.where(age > 65, 1.6, 1.0)), age + random.random(len(age)))
    days = np.maximum(np.round(years * 365.25), 1).astype("timedelta64[D]")
    return (_TODAY - days).astype("datetime64[D]").astype(str).astype(object)


def _second_homes(random: Generator, p: People) -> People:
    """All rows: a few people have a second dwelling, fewer a third, in another region and rented."""
    n, age = len(p["age"]), p["age"]
    pay = np.array([0 if v is None else v for v in p["income"]])
    odds = np.where((p["work"] == "student") & (age >= 18), 0.25, 0.0) + np.where(pay > 70_000, 0.10, 0.012)
    extra = np.where(random.random(n) < odds, random.geometric(0.95, n), 0)
    again = np.repeat(np.arange(n), extra)
    more = {name: column[again].copy() for name, column in p.items()}
    more["region"] = np.array(REGIONS, dtype=object)[random.integers(0, len(REGIONS), len(again))]
    more["housing"] = np.full(len(again), "rented", dtype=object)
    more["moved_in"] = _moved_in(random, more)
    return {name: np.concatenate([p[name], more[name]]) for name in p}


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Integers as integers, everything else as objects."""
    return column if column.dtype.kind == "i" else column.astype(object)
