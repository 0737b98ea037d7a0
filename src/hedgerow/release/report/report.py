"""Report: a self-contained HTML page about one release - views with error bars, promise, cost, receipt."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import exp
from pathlib import Path
from typing import Any

import hedgerow
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.ledger.receipt import resting
from hedgerow.queries.query import Query
from hedgerow.release.numerals import amount, bound, rest, signed, small
from hedgerow.release.report import charts, stills, views
from hedgerow.release.report.pairs import Pairs
from hedgerow.release.report.views import View
from hedgerow.synopsis import Synopsis
from hedgerow.synopsis.answer import Answer

_EXAMPLES, _RANKED, _MANY = 3, 10, 12
ABOUT = "Statistics of private rows, released once, with noise that hides each of them."


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that was put to the release, with its answer.

    Args:
        words: the question for people.
        sql: the question as it was asked.
        answer: the released answer.
        truth: the answer on the true rows; only ever known for a population that was made up.
    """

    words: str
    sql: str
    answer: Answer
    truth: Any = None


@dataclass(frozen=True)
class Report:
    """A page about one release; it reads only what the release made public.

    Args:
        synopsis: the release.
        name: what to call the data.
        asked: questions and answers to show.
        about: a sentence below the title.
        synthetic: how many synthetic rows were written with it.
        confidence: of the error bars.
    """

    synopsis: Synopsis
    name: str
    asked: Sequence[AnsweredQuestion] = ()
    about: str = ABOUT
    synthetic: int | None = None
    confidence: float = 0.95

    def write(self, path: Path) -> None:
        """Write the page to a file."""
        path.write_text(self.html(), encoding="utf-8")

    def html(self) -> str:
        """The whole page, with styles, data and the drawing script in it: it opens without a network."""
        from jinja2 import Environment

        page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        return page.from_string(_resource("report.html.jinja")).render(self._content())

    def facts(self) -> dict[str, Any]:
        """What is said of the release in words and numbers, for pages that draw it in their own way."""
        return {**self._summary(), **self._promise()}

    def _content(self) -> dict[str, Any]:
        """Everything the template asks for."""
        singles = views.one_way(self.synopsis, self.confidence)
        pairs = Pairs.of(self.synopsis, self.confidence)
        shown, domain = pairs.shown, self.synopsis.domain
        return {
            **self.facts(),
            **self._unscripted(singles, pairs),
            "singles": [charts.attribute_title(v.attributes[0]) for v in singles],
            "pairs": [_title(v) for v in shown],
            "left_out": f"{pairs.left_out:,}" if pairs.left_out else "",
            "looked": f"{len(pairs.strengths):,}",
            "chosen_confidence": f"{pairs.confidence:.2%}" if pairs.confidence > self.confidence else "",
            "many": len(domain) > _MANY,
            "examples": [_title(v) for v in shown[1 : 1 + _EXAMPLES]],
            "asked": [_question(a) for a in self.asked],
            "told": any(a.truth is not None for a in self.asked),
            "data": self._drawn(singles, pairs),
            "style": _resource("report.css"),
            "vega": charts.vega_script(),
            "script": _resource("report.js"),
            "version": hedgerow.__version__,
            "made": f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC",
        }

    def _summary(self) -> dict[str, Any]:
        """The title's facts and the receipt's lines."""
        s, receipt = self.synopsis, self.synopsis.receipt
        noises = sorted(
            {
                (m.noise.family, float(m.noise.scale) / m.noise.denominator)
                for m in s.measurements
                if m.strategy is None  # a strategy's steps are not rows
            }
        )
        other = "discrete Gaussian" if s.measurements else "each record randomised on its own"
        return {
            "learned": s.source == "learned",
            "name": self.name,
            "about": self.about,
            "private": s.private,
            "confidence": f"{self.confidence:.4g}" if self.confidence > 0.99 else f"{self.confidence:.0%}",
            "total": self._total(),
            "epsilon": small(s.cost.epsilon),
            "delta": small(receipt.settings.budget.delta) if s.cost.delta else "",
            "attributes": len(s.domain),
            "held": f"{len(s.measurements):,}" if s.measurements else "",
            "queries": f"{sum(m.values.size for m in s.measurements):,}",
            "synthetic": f"{self.synthetic:,}" if self.synthetic is not None else "",
            "receipt": [
                ("mechanism", s.provenance.mechanism),
                ("noise on each number", _laws(noises) or other),
                ("cost of this release", amount(s.cost, receipt.settings.budget)),
                ("ledger", f"{receipt.settings.ledger}, line {receipt.seq}"),
                *([("claims", resting(receipt.claims))] if receipt.claims else []),
            ],
            "head": receipt.head,
            "mechanism": s.provenance.mechanism,
            "line": receipt.seq,
            "citations": s.citation().splitlines(),
        }

    def _total(self) -> dict[str, str] | None:
        try:
            answer = self.synopsis.answer(Query.total(), confidence=self.confidence)
        except UnsupportedQuery:
            return None
        value, error = float(answer.value), float(answer.error)
        return {"value": signed(value, error), "error": bound(error)}

    def _promise(self) -> dict[str, Any]:
        """Whom the budget protects, how well, and how much of it is spent."""
        settings, spent, cost = (
            self.synopsis.receipt.settings,
            self.synopsis.receipt.spent,
            self.synopsis.cost,
        )
        budget = settings.budget
        whole, now = float(budget.cost.amount), float(cost.cost.amount)
        before = max(float(spent.amount) - now, 0.0)
        meter = [("now", now, f"this release: {amount(cost, budget)}")]
        meter += [("before", before, "earlier releases")] if before > 1e-6 * whole else []
        meter += [("left", 0.0, f"left: {rest(budget.cost - spent, budget)}")]
        return {
            "unit": settings.unit,
            "max_rows": settings.max_rows,
            "neighbours": settings.neighbours,
            "odds": f"{exp(budget.epsilon):,.3g}" if budget.epsilon < 300 else "any number of",
            "budget": {
                "epsilon": small(budget.epsilon),
                "delta": small(budget.delta) if budget.delta else "",
                "chance": f"1 in {1 / budget.delta:,.0f}" if budget.delta else "",
                "words": amount(budget),
            },
            "meter": [{"kind": k, "width": round(100 * v / whole, 2), "words": w} for k, v, w in meter],
        }

    def _unscripted(self, singles: list[View], pairs: Pairs) -> dict[str, Any]:
        """The same for browsers that run no script: pictures as SVG, the strongest pairs as tables."""
        domain, most = self.synopsis.domain, pairs.shown[: 1 + _EXAMPLES]
        ranked = list(pairs.strengths.items())[:_RANKED]
        return {
            "stills": [stills.bars(v, domain[v.attributes[0]]) for v in singles],
            "still_pairs": [stills.Still.of(v, domain, _title(v)) for v in most],
            "ranked": [(" × ".join(map(charts.attribute_title, p)), f"{s:.2f}") for p, s in ranked],
        }

    def _drawn(self, singles: list[View], pairs: Pairs) -> str:
        """What the drawing script reads, as JSON that no label can break out of."""
        domain = self.synopsis.domain
        paired = domain.order(a for v in pairs.shown for a in v.attributes)
        data = {
            "theme": charts.THEME,
            "thousands": charts.THOUSANDS,
            "colours": {"pale": charts.PALE, "leaf": charts.LEAF},
            "axes": {name: views.short_labels(domain[name]) for name in paired},
            "singles": [charts.one_way(v, domain[v.attributes[0]]) for v in singles],
            "pairs": [views.table_data(v) for v in pairs.shown],
            "associations": charts.associations(pairs) if len(pairs.shown) > 1 else None,
            "strongest": list(range(len(pairs.shown)))[: 1 + _EXAMPLES],
        }
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")


def _laws(noises: Sequence[tuple[str, float]]) -> str:
    """The noise of what was measured; of many scales the smallest and the largest."""
    words = []
    for family in dict.fromkeys(f for f, _ in noises):
        scales = [scale for f, scale in noises if f == family]
        least, most = f"{min(scales):,.4g}", f"{max(scales):,.4g}"
        words.append(
            f"discrete {family.capitalize()} of scale {least}{'' if least == most else f' to {most}'} rows"
        )
    return "; ".join(words)


def _title(view: View) -> str:
    return " × ".join(charts.attribute_title(a) for a in view.attributes)


def _question(asked: AnsweredQuestion) -> dict[str, Any]:
    """One question as rows of text."""
    result, truth = asked.answer.table, asked.truth
    known = {} if truth is None else dict(zip(truth.groups, truth.values.tolist(), strict=True))
    keys = [c for c in result.show if not c.aggregate]
    numbers = [c for c in result.show if c.aggregate]
    rows = []
    for labels, values, errors in zip(
        result.groups, result.values.tolist(), result.errors.tolist(), strict=True
    ):
        cells = [
            {
                "value": signed(values[c.index], errors[c.index]),
                "error": bound(errors[c.index]),
                "truth": signed(known[labels][c.index], errors[c.index]) if labels in known else "",
            }
            for c in numbers
        ]
        rows.append({"labels": [labels[c.index] for c in keys], "cells": cells})
    return {
        "words": asked.words,
        "sql": asked.sql,
        "groups": [c.name for c in keys],
        "numbers": [c.name for c in numbers],
        "told": truth is not None,
        "rows": rows,
    }


def _resource(name: str) -> str:
    return files("hedgerow.release.report").joinpath(name).read_text(encoding="utf-8")
