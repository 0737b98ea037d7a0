"""A process that holds a session: takes questions as JSON lines on stdin, says the answers on stdout."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import numpy as np

import hedgerow as hr

DOMAIN = hr.Domain({"a": 4, "b": 3, "c": hr.bins(0, 60, 10)})
ROWS = 6000
BUDGET = hr.Budget(rho=1, delta=1e-6)
PLAN = hr.Session(budget=hr.Budget(rho="1/20", delta=0), within=0.04, questions=60)
ALLOTTED = {"ann": "1/20", "bob": "1/5", "cat": "1/1000000"}
STATEMENTS = [
    "SELECT COUNT(*) FROM t WHERE a = 1",
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT a, AVG(c) FROM t GROUP BY a",
    "SELECT SUM(c) FROM t WHERE b = 2",
    "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC LIMIT 2",
]


def table() -> hr.Table:
    """The same rows in every process."""
    rng = np.random.default_rng(3)
    a = rng.choice(4, ROWS, p=[0.55, 0.3, 0.1, 0.05])
    return hr.Table.open(
        {"a": a, "b": (a + rng.integers(0, 2, ROWS)) % 3, "c": 10 * a + rng.integers(0, 30, ROWS)}, DOMAIN
    )


def question(i: int) -> Any:
    """Statements, whole tables, lists, and queries about one to three attributes."""
    if i % 7 == 0:
        return STATEMENTS[i // 7 % len(STATEMENTS)]
    rng = np.random.default_rng(i)
    if i % 7 == 1:
        return [("a", "b"), ("b", "c"), ("c",)][i // 7 % 3]
    if i % 7 == 2:
        return [question(7 * j + 3) for j in range(i // 7 % 4, i // 7 % 4 + 3)]
    names = rng.choice(list(DOMAIN), rng.integers(1, 4), replace=False)
    masks = {a: rng.random(DOMAIN[a].size) < 0.5 for a in names}
    return hr.Query.where(DOMAIN, {a: m if m.any() else ~m for a, m in masks.items()})


def open_session(path: str) -> tuple[hr.Curator, Any, dict[str, Any]]:
    """A curator, its session, and the session of every analyst."""
    curator = hr.Curator(table(), BUDGET, path)
    session = PLAN.open(curator)
    analysts = {"owner": session}
    for name in ALLOTTED:
        analysts[name] = session.share(curator.child(name))
    return curator, session, analysts


def begin(path: str) -> None:
    """A ledger with everybody's allotments."""
    curator = hr.Curator(table(), BUDGET, path)
    for name, rho in ALLOTTED.items():
        curator.allot(hr.Budget(rho=rho, delta=0), name)
    curator.ledger.close()


def answered(who: Any, order: dict[str, Any]) -> dict[str, Any]:
    """One answer as plain data."""
    try:
        if order["do"] == "explain":
            return {"source": who.explain(question(order["i"])).source}
        if order["do"] == "median":
            answer = who.median("c")
        elif order["do"] == "learn":
            core = who._core
            with core.turn():
                core.learn_table(core.curator, ("a", "c"), core.curator.price(hr.Budget(rho="1/50", delta=0)))
            return {}
        elif order["do"] == "table":
            return {"value": who.table(("a", "c")).tolist()}
        elif order["do"] == "close":
            who.close()
            return {}
        else:
            options = {"within": order["within"]} if "within" in order else {}
            answer = who.ask(question(order["i"]), **options)
        value, error = (np.asarray(x).tolist() for x in (answer.value, answer.error))
        cost = None if answer.cost is None else answer.cost.rho
        return {
            "value": value, "error": error, "source": answer.source, "cached": answer.cached, "cost": cost
        }  # fmt: skip
    except hr.BudgetExceeded:
        return {"refused": True}


def work(analysts: dict[str, Any], mine: list[Any], said: list[Any]) -> None:
    """What one thread does."""
    for order in mine:
        said.append([order, answered(analysts[order["who"]], order)])


def talk() -> None:
    """Answer orders until stdin ends; several threads when an order is a list of lists."""
    analysts: dict[str, Any] = {}
    for line in sys.stdin:
        orders = json.loads(line)
        if isinstance(orders, str):
            _, _, analysts = open_session(orders)
            os.write(1, b'"ready"\n')
            continue
        if isinstance(orders, dict):
            os.write(1, (json.dumps(answered(analysts[orders["who"]], orders)) + "\n").encode())
            continue
        out: list[list[Any]] = [[] for _ in orders]

        threads = [
            threading.Thread(target=work, args=(analysts, mine, said))
            for mine, said in zip(orders, out, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.write(1, (json.dumps([fact for said in out for fact in said]) + "\n").encode())


if __name__ == "__main__":
    talk()
