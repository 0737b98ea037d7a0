"""Wire: answers, explanations, budgets, ledger lines, jobs and errors as plain data, the same at every door.

The shapes are promised to programs: a name is added, never taken away.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from hedgerow.figures import NULL
from hedgerow.service.people import accounts_of, spent_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hedgerow.mechanisms.session.explain import Explanation
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger.entry import Settings
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.privacy.ledger.receipt import Receipt
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.service.asking import Answered, FirstQuestion
    from hedgerow.service.publication import Published
    from hedgerow.synopsis import Synopsis
    from hedgerow.synopsis.answer import Answer

JOB_STATES = ("queued", "running", "done", "failed", "refused")

Plain = dict[str, Any]


def text(data: Plain) -> str:
    """JSON; it has no infinity, which becomes null, and bytes that were no text are escaped.

    >>> text({"error": float("inf")})
    '{\\n  "error": null\\n}'
    """
    said = json.dumps(plain(data), indent=2, ensure_ascii=False, default=str, allow_nan=False)
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def plain(data: Any) -> Any:
    """The same with null for every number that is not finite."""
    if isinstance(data, float):
        return data if isfinite(data) else None
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, (list, tuple)) else data


def price(cost: Budget | None) -> Plain | None:
    """A cost, or what remains; None where it was free."""
    return None if cost is None else {"epsilon": plain(cost.epsilon), "delta": cost.delta}


def point(receipt: Receipt | None) -> Plain | None:
    """The line of the ledger that a receipt was given for."""
    return None if receipt is None else {"seq": receipt.seq, "head": receipt.head}


def rows(answer: Answer) -> Plain:
    """An answer's columns and rows; each number with its error bound and its source."""
    from hedgerow.synopsis.frame import sources_of

    result, made = answer.table, []
    numbers = (x.tolist() for x in (result.values, result.errors, *result.ends))
    sources = {c.index: sources_of(answer, c.index) for c in result.show if c.aggregate}
    for at, (labels, *told) in enumerate(zip(result.groups, *numbers, strict=True)):
        row: Plain = {}
        for column in result.show:
            if column.aggregate:
                value, error, low, high = (numbers[column.index] for numbers in told)
                row[column.name] = number(value, error, (low, high), sources[column.index][at])
            else:
                label = labels[column.index]
                row[column.name] = None if label == NULL else label
        made.append(row)
    return {"columns": list(result.columns), "rows": made}


def number(value: float, error: float, ends: tuple[float, float], source: str) -> Plain:
    """A number of an answer, and between which two it lies, where that is known."""
    told: Plain = {"value": plain(value), "error": plain(error)}
    if isfinite(value) and isfinite(error):
        told |= {"low": ends[0], "high": ends[1]}
    return told | {"source": source}


def answered(given: Answered) -> Plain:
    """An answer to a question that was put to private rows."""
    answer, part = given.answer, given.budget.part
    return {
        **_answer(given.ask.sql, answer),
        "cost": price(answer.cost),
        "learning": None if given.learning.is_zero else part(given.learning).epsilon,
        "remaining": price(part(given.left)),
        "notes": list(answer.notes),
        "private": given.private,
        **({"claims": list(given.receipt.claims)} if given.receipt and given.receipt.claims else {}),
        "request": given.ask.request,
        "receipt": point(given.receipt),
    }


def released(sql: str, answer: Answer, synopsis: Synopsis) -> Plain:
    """An answer from a synopsis, which costs nothing."""
    return {
        **_answer(sql, answer),
        "cost": None,
        "notes": list(answer.notes),
        "private": synopsis.private,
        **({"claims": list(synopsis.claims)} if synopsis.claims else {}),
        "receipt": point(synopsis.receipt),
    }


def _answer(sql: str, answer: Answer) -> Plain:
    return {
        "sql": sql,
        **rows(answer),
        "confidence": answer.confidence,
        "source": answer.source,
        "cached": answer.cached,
        "simultaneous": answer.simultaneous,
    }


def explained(found: Explanation) -> Plain:
    """What asking would do."""
    import numpy as np

    error = np.asarray(found.error, dtype=np.float64)
    return {
        "source": found.source,
        "cached": found.cached,
        "confidence": found.confidence,
        "error": plain(error.tolist()),
        "cost": price(found.cost),
        "affordable": found.affordable,
        "needs_rows": None,
        "words": found.words,
    }


def first_question(found: FirstQuestion) -> Plain:
    """What asking would do before anything was learned."""
    foresight, part = found.foresight, found.budget.part
    return {
        "source": None,
        "cached": False,
        "confidence": None,
        "error": None,
        "learning": part(foresight.learning).epsilon,
        "question": foresight.question and part(foresight.question).epsilon,
        "needs_rows": foresight.needs_rows,
        "cost": price(part(foresight.cost)),
        "affordable": foresight.affordable,
        "words": f"{found.words} {found.costs}",
    }


def budget(ledger: Ledger, account: str | None = None) -> Plain:
    """A dataset's budget: what it is, what of it is spent and left, whom it protects, and what it buys.

    Args:
        ledger: the dataset's.
        account: of whoever asks, if they have a part of it.
    """
    from hedgerow.service.forecast import Forecast

    settings, whole = ledger.settings, ledger.budget
    return {
        "ledger": settings.ledger,
        "currency": ledger.currency,
        "neighbours": settings.neighbours,
        "unit": settings.unit,
        "max_rows": settings.max_rows,
        "raised_after_answers": bool(whole.raise_delta),
        **({} if settings.growing is None else _growth(ledger)),
        "budget": price(whole),
        "spent": price(whole.part(ledger.spent())),
        "remaining": price(whole.part(ledger.remaining())),
        "used": used(ledger),
        "yours": None if account is None else _account(ledger, account),
        "forecast": Forecast.of_ledger(ledger).to_json(),
    }


def _growth(ledger: Ledger) -> Plain:
    """The blocks of data that grow, what each was charged, and what all of them amount to."""
    settings, part = ledger.settings, ledger.budget.part
    blocks = [
        {
            "number": b.number,
            "name": b.name,
            "by": b.by,
            "year": b.year,
            "spent": price(part(ledger.charged(b.cell(settings.growing)))),
        }
        for b in ledger.blocks()
    ]
    return {
        "growing": settings.growing,
        "years": settings.years,
        "lifetime": ledger.lifetime(),
        "blocks": blocks,
    }


def used(ledger: Ledger) -> float:
    """Which part of a budget is used up, from 0 to 1, in what the ledger adds up."""
    most = float(ledger.budget.cost.amount)
    return min(float(ledger.spent().amount) / most, 1.0) if most else 1.0


def _account(ledger: Ledger, name: str) -> Plain | None:
    """What somebody may spend, has spent and has left; None if nobody gave them a part or a limit."""
    if not (mine := accounts_of(ledger, name)):
        return None
    spent, left, part, limit = (
        spent_by(ledger, name),
        ledger.remaining(mine[-1]),
        ledger.budget.part,
        ledger.limit(mine[-1]),
    )
    most = spent + left if limit is None else limit.most
    if most is None:
        return None
    if limit is not None:
        most = most + spent_by(ledger, name, before=True)
    return {"limit": price(part(most)), "spent": price(part(spent)), "remaining": price(part(left))}


def ledger_lines(ledger: Ledger) -> Plain:
    """Every line of a ledger in words, and the releases that were begun and not finished."""
    from hedgerow.service import lines, runs
    from hedgerow.service.spendings import spendings

    held = [(run.run, ledger.budget.part(run.holds)) for run in runs.unfinished(ledger)]
    return {
        "unfinished": [{"run": name, **(price(part) or {})} for name, part in held],
        "spendings": [spending.to_json(ledger.budget) for spending in spendings(ledger)],
        "lines": [line.to_json() for line in lines.lines_of(ledger)],
    }


def published(done: Published) -> Plain:
    """A release, and where its files are."""
    from hedgerow.service.forecast import Forecast

    synopsis = done.synopsis
    receipt, whole = synopsis.receipt, synopsis.receipt.settings.budget
    return {
        "folder": str(done.folder),
        "files": list(done.files),
        "mechanism": synopsis.provenance.mechanism,
        "why": done.why or None,
        "workload": done.workload,
        "private": synopsis.private,
        "cost": price(synopsis.cost),
        "remaining": price(whole.part(whole.cost - receipt.spent)),
        "forecast": Forecast.after(synopsis).to_json(),
        "synthetic_rows": done.synthetic,
        "mean_error": done.error,
        "resumed": done.resumed,
        "receipt": receipt.to_json(),
    }


def schema(domain: Domain, settings: Settings) -> Plain:
    """What may be asked about, and whom the budget protects."""
    from hedgerow.queries.domain.bins import Bins, Dates

    told = []
    for name, a in domain.items():
        kind = "date" if isinstance(a, Dates) else "bins" if isinstance(a, Bins) else "levels"
        told.append(
            {
                "name": name,
                "kind": kind,
                "levels": list(a.labels[: a.size - a.missing]),
                "step": 1 if getattr(a, "whole", False) else getattr(a, "step", None),
                "missing": bool(a.missing),
            }
        )
    whom = {"unit": settings.unit, "max_rows": settings.max_rows, "neighbours": settings.neighbours}
    return {"attributes": told, **whom}


def asked(seq: int, time: str, who: str, given: Answered) -> Plain:
    """A line of a dataset's history: who asked what, and what it cost; no exact number is ever in it."""
    cost = price(given.answer.cost)
    return {"seq": seq, "time": time, "who": who, "sql": given.ask.sql, "source": given.answer.source,
            "cost": cost, "request": given.ask.request}  # fmt: skip


def history(items: Iterable[Plain], after: int = -1, limit: int = 100) -> Plain:
    """A page of a dataset's history.

    Args:
        items: all of it, oldest first, as `asked` gives them.
        after: the number of the last line that is known.
        limit: the most lines of a page.

    >>> history([{"seq": 1}, {"seq": 2}, {"seq": 5}], after=1, limit=1)
    {'items': [{'seq': 2}], 'next': 2}
    """
    later = [item for item in items if item["seq"] > after]
    page: Sequence[Plain] = later[:limit]
    return {"items": list(page), "next": page[-1]["seq"] if page and len(later) > limit else None}


def job(id: str, kind: str, state: str, part: float | None, words: str, result: Plain | None = None) -> Plain:
    """Long work: what it is, how far it is, and what came of it."""
    if state not in JOB_STATES:
        raise ValueError(f"a job is {', '.join(JOB_STATES)}, not {state!r}")
    return {"id": id, "kind": kind, "state": state, "part": part, "words": words, "result": result}


def error(raised: BaseException) -> Plain:
    """An error for programs; what is not known of it is null, and a fault of our own quotes nothing."""
    from hedgerow.service.failure import Failure, sentence

    failure = Failure.of(raised)
    at, needed = (getattr(failure.cause, name, None) for name in ("position", "needed"))
    return {
        "error": {
            "code": failure.code,
            "message": sentence(failure.words),
            "hint": failure.hint and sentence(failure.hint),
            "needed": price(needed),
            "remaining": price(getattr(failure.cause, "remaining", None)),
            "affordable": None if needed is None else getattr(failure.cause, "affordable", None),
            "position": None if at is None else {"line": at[0], "column": at[1]},
        }
    }
