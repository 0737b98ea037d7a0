"""The ledger audit: read a ledger's lines again and add up what was spent with arithmetic of its own.

It reads the exported JSON and calls neither the accountant nor the ledger's own verification: every formula
is written out a second time.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, log, log1p
from typing import Any

import numpy as np

from hedgerow.audit.cap_replay import OWNER, Caps
from hedgerow.audit.finding import Finding
from hedgerow.audit.growth_replay import Cells
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.queries.measurement import Measurement

_PURE = (
    "laplace",
    "exponential",
    "permute_and_flip",
    "report_noisy_max",
    "randomized_response",
    "pure",
    "bounded_range",
)


@dataclass
class Replay:
    """What a ledger should say.

    Args:
        currency: "epsilon" or "rho".
        spent: the owner's total by this arithmetic.
        recorded: the owner's total by the ledger.
        problems: one sentence for each mismatch.
        promise: the (epsilon, delta) that the cap keeps, by this arithmetic.
    """

    currency: str
    spent: float
    recorded: float
    problems: list[str] = field(default_factory=list)
    promise: tuple[float, float] = (inf, 0.0)

    @property
    def ok(self) -> bool:
        """Whether everything matches."""
        return not self.problems

    def finding(self, name: str) -> Finding:
        """The replay as a row of an audit: claimed is what the ledger says, found what it should say."""
        words = " ".join(self.problems) or "Every line costs what its act costs."
        return Finding(name, self.recorded, self.spent, not self.ok, 0.0, "ledger", words)


def replay(ledger: Ledger | Mapping[str, Any], released: Iterable[Measurement] = ()) -> Replay:
    """Replay a ledger, or an export of one made with its answers.

    Args:
        ledger: the ledger.
        released: measurements that somebody holds; each must be the answer of a charged line.
    """
    export = ledger.export(answers=True) if isinstance(ledger, Ledger) else ledger
    lines = [entry["line"] for entry in export["entries"]]
    details = lines[0]["details"]
    cells = Cells(details.get("growing"), details.get("years"))
    walk = _Walk(details["currency"], int(details["grain"]), cells)
    for entry in export["entries"]:
        answer = base64.b64decode(entry["answer"]) if "answer" in entry else None
        walk.step(entry["line"], answer)
    for measurement in released:
        walk.backed(measurement)
    if isinstance(ledger, Ledger):
        walk.states(ledger.budget.epsilon, ledger.budget.delta)
    recorded = [line for line in lines if line["account"] == OWNER][-1]["spent"][walk.currency]
    total = Fraction(walk.spent.get(OWNER, (0, 0))[0] + walk.missing, walk.grain)
    held = float(Fraction(int(recorded), walk.grain))
    return Replay(walk.currency, float(total), held, walk.problems, walk.caps.promise)


class _Walk:
    """Line by line: what each costs, what each account has, what each run may still say."""

    def __init__(self, currency: str, grain: int, cells: Cells) -> None:
        self.currency, self.grain, self.cells = currency, grain, cells
        self.caps = Caps(currency, grain)
        self.spent: dict[str, tuple[int, int]] = {}
        self.runs: dict[str, dict[str, int]] = {}
        self.laplace: dict[int, tuple[Fraction, Fraction]] = {}  # answers that nobody has refined yet
        self.answers: list[bytes] = []
        self.problems: list[str] = []
        self.missing = 0

    def step(self, line: Mapping[str, Any], answer: bytes | None) -> None:
        """Recompute one line."""
        self.problems += [*self.caps.step(line), *self.cells.step(line)]
        account, kind = line["account"], line["kind"]
        amount, delta = self.spent.get(account, (0, 0))
        moved = int(line["cost"][self.currency]), int(line["cost"].get("delta", 0))
        if kind == "charge":
            expected = self._grains(line["event"])
            if any(abs(m - e) > slack for m, (e, slack) in zip(moved, expected, strict=True)):
                self.problems.append(f"Line {line['seq']} does not cost what its act costs.")
            amount, delta = self._after(line, expected[0][0], expected[1][0])
            self._open_run(line, answer)
            self._refine(line)
        elif kind == "allot":
            amount, delta = self._after(line, *moved)
        elif kind == "return":
            amount, delta = self._after(line, -moved[0], -moved[1])
        elif kind == "note" and line["run"] is not None:
            self._continue_run(line, answer)
        self.spent[account] = amount, delta
        said = int(line["spent"][self.currency])
        if abs(said - amount) > amount // 10**9 + self.grain // 10**15:
            self.problems.append(f"Line {line['seq']} has the wrong total.")
            self.spent[account] = said, delta

    def _after(self, line: Mapping[str, Any], amount: int, delta: int) -> tuple[int, int]:
        """An account's total after a line; of growing data the owner's is the largest of blocks or years."""
        if line["account"] == OWNER and self.cells.apart:
            return self.cells.moved(line, amount, delta)
        before = self.spent.get(line["account"], (0, 0))
        return before[0] + amount, before[1] + delta

    def states(self, epsilon: float, delta: float) -> None:
        """What the ledger says it promises is no better than what its cap keeps."""
        if epsilon * (1 + 1e-9) < self.caps.promise[0] or delta * (1 + 1e-9) < self.caps.promise[1]:
            self.problems.append("The ledger states a better promise than its cap keeps.")

    def _grains(self, event: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
        """Amount and delta in grains, each with how far a correctly rounded line may be off."""
        amount, delta, approximate = price(event, self.currency)
        grains = amount * self.grain
        slack = int(grains / 10**9) if approximate else acts(event)
        return (int(grains), slack), (int(delta * self.grain), acts(event))

    def _refine(self, line: Mapping[str, Any]) -> None:
        """A refined answer follows one of the noise that it says, which nothing else refines."""
        event = line["event"]
        if event["kind"] == "refined_laplace":
            noise = Fraction(event["sensitivity"]), Fraction(event["weaker_scale"])
            if self.laplace.pop(int(Fraction(event["line"])), None) != noise:
                self.problems.append(f"Line {line['seq']} refines an answer that it cannot refine.")
        if event["kind"] in ("laplace", "refined_laplace"):
            self.laplace[line["seq"]] = Fraction(event["sensitivity"]), Fraction(event["scale"])

    def _open_run(self, line: Mapping[str, Any], answer: bytes | None) -> None:
        if answer is not None:
            self.answers.append(answer)
        event, run = line["event"], line["run"]
        if run is not None and event["kind"].endswith("sparse_vector"):
            length = int(Fraction(event.get("length", "0"))) or 10**18
            self.runs[run] = {"above": int(Fraction(event.get("count", "1"))), "length": length}

    def _continue_run(self, line: Mapping[str, Any], answer: bytes | None) -> None:
        """A free line of a sparse vector: the run must have been paid for, and must still be open."""
        if answer is None or line["answer"]["type"] != "application/json":
            return
        said = json.loads(answer)
        if "above" not in said:
            return
        run = self.runs.get(line["run"])
        if run is None:
            self.problems.append(f"Line {line['seq']} answers for a run that nobody paid for.")
            return
        run["above"] -= len(said["above"])
        run["length"] -= said["answered"]
        if min(run.values()) < 0:
            self.problems.append(f"Line {line['seq']} says more than its run was paid for.")

    def backed(self, measurement: Measurement) -> None:
        """A measurement that somebody holds is the answer of a charged line."""
        for answer in self.answers:
            if any(np.array_equal(a, measurement.values) for a in _arrays(answer)):
                return
        noise = measurement.noise
        self.problems.append("A released measurement is the answer of no charged line.")
        if noise.family == "laplace" and self.currency == "epsilon":  # at the least, a count's sensitivity
            self.missing += int(noise.denominator / noise.scale * self.grain)


def _arrays(answer: bytes) -> list[Any]:
    try:
        with np.load(io.BytesIO(answer), allow_pickle=False) as held:
            return [held[name] for name in held.files]
    except ValueError:
        return []


def acts(event: Mapping[str, Any]) -> int:
    """How many simple acts an event is made of: each may be rounded up by one grain."""
    kind = event["kind"]
    if kind == "repeat":
        return int(event["times"]) * acts(event["event"])
    if kind == "together":
        return sum(acts(part) for part in event["events"])
    return 2 * int(Fraction(event["count"])) if kind == "sparse_vector" else 1


def price(event: Mapping[str, Any], currency: str) -> tuple[Fraction, Fraction, bool]:
    """(amount, delta, whether the amount is only approximate) of an event, from its JSON."""
    kind = event["kind"]
    x = {k: Fraction(v) for k, v in event.items() if isinstance(v, str) and k != "kind"}
    if kind in ("repeat", "together"):
        parts = [event["event"]] * int(event["times"]) if kind == "repeat" else event["events"]
        prices = [price(part, currency) for part in parts]
        amount = sum((p[0] for p in prices), Fraction(0))
        return amount, sum((p[1] for p in prices), Fraction(0)), any(p[2] for p in prices)
    if kind == "nothing":
        return Fraction(0), Fraction(0), False
    if kind == "sparse_vector":
        return _sparse(x, currency), Fraction(0), False
    if kind == "paired_sparse_vector":
        return _paired(x, currency), Fraction(0), False
    if kind == "one_sided_sparse_vector":
        threshold, question = (x["sensitivity"] / x[f"{what}_scale"] for what in ("threshold", "query"))
        width = threshold + 2 * question
        return (threshold + question if currency == "epsilon" else width * width / 8), Fraction(0), False
    if kind in _PURE:
        eps = x["sensitivity"] / x["scale"] if kind == "laplace" else x["epsilon"]
        square = eps * eps / (8 if kind in ("exponential", "bounded_range") else 2)
        return (eps if currency == "epsilon" else square), Fraction(0), False
    if kind == "refined_laplace" and currency == "epsilon":
        return x["sensitivity"] / x["scale"] - x["sensitivity"] / x["weaker_scale"], Fraction(0), False
    if currency == "epsilon":
        raise ValueError(f"a pure ledger holds an act of kind {kind!r}")
    if kind == "gaussian":
        return x["sensitivity_squared"] / (2 * x["sigma"] * x["sigma"]), Fraction(0), False
    if kind == "zcdp":
        return x["rho"], x["delta"], False
    if kind == "approximate":
        return x["epsilon"] ** 2 / 2, x["delta"], False
    if kind == "gaussian_sparse_vector":
        eps = Fraction(_gaussian_sparse_epsilon(x))
        return eps * eps / 2, x["delta"], True
    raise ValueError(f"there is no price for an act of kind {kind!r}")


def _sparse(x: Mapping[str, Fraction], currency: str) -> Fraction:
    threshold = x["sensitivity"] / x["threshold_scale"]
    question = 2 * x["sensitivity"] / x["query_scale"]
    value = x["sensitivity"] / x["value_scale"] if x["value_scale"] else Fraction(0)
    c = x["count"]
    compare = [threshold + question] * int(c) if x["refreshed"] else [threshold + c * question]
    parts = [*compare, *[value] * int(c)]
    return sum(parts, Fraction(0)) if currency == "epsilon" else sum((p * p / 2 for p in parts), Fraction(0))


def _paired(x: Mapping[str, Fraction], currency: str) -> Fraction:
    first, each = x["sensitivity"] / x["threshold_scale"], x["shift"] / x["query_scale"]
    epsilon, times = (
        (first + each, x["count"]) if x["refreshed"] else (first + x["count"] * each, Fraction(1))
    )
    return times * (epsilon if currency == "epsilon" else epsilon * epsilon / 2)


def _gaussian_sparse_epsilon(x: Mapping[str, Fraction]) -> float:
    """min over alpha of c (alpha rho + ln(1+L)/(alpha-1)) + the conversion's terms, on a fine grid."""
    s2 = float(x["sensitivity"] ** 2)
    rho = s2 / (2 * float(x["threshold_sigma"]) ** 2) + 2 * s2 / float(x["query_sigma"]) ** 2
    c, spread, d = float(x["count"]), log1p(float(x["length"])), log(float(x["delta"]))

    def at(log_a: float) -> float:
        a = exp(log_a)
        return c * ((1 + a) * rho + spread / a) + (-d - log1p(a)) / a + log_a - log1p(a)

    middle = 0.0
    for width in (40.0, 0.1, 0.0005):
        middle = min((middle + width * i / 1000 for i in range(-1000, 1001)), key=at)
    return at(middle)
