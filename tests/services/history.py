"""A history checker in the manner of Jepsen: could a single curator have said all this, and charged it once?

Clients note everything that they sent and heard. The ledger says what was charged. Between them must hold:

- every answer that somebody saw and that has an accuracy was charged, once, before it was seen, with the
  value that was shown, and nobody was told twice that they paid;
- nothing was charged that nobody asked;
- the same question is answered alike, whoever asks, whichever server answers, whatever was killed meanwhile;
- receipts name lines that are still there, and whoever asks after somebody was answered sees no older ledger;
- a free answer that is asked for after an accurate one was seen does not fall back behind it.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.pieces import read_all


@dataclass(frozen=True)
class Sent:
    """One attempt of a client, answered or not.

    Args:
        who: whose token.
        request: its request id.
        question: which question, see `question_of`.
        accurate: whether an accuracy was asked for, so that it is charged.
        sent, got: when; `got` is None if no answer came.
        value: what was answered.
        source, cost, receipt: as the answer says; the cost in epsilon.
    """

    who: str
    request: str | None
    question: str
    accurate: bool
    sent: float
    got: float | None = None
    value: float | None = None
    source: str | None = None
    cost: float | None = None
    receipt: tuple[int, str] | None = None


@dataclass(frozen=True)
class Paid:
    """One charge for an answer.

    Args:
        seq: its line.
        question: which one.
        who: whose account.
        value: what was measured; below zero it is shown as zero.
        epsilon: what it cost.
    """

    seq: int
    question: str
    who: str
    value: float
    epsilon: float


class Notebook:
    """What all clients sent and heard, from any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sent: list[Sent] = []
        self.answers = 0

    def note(self, sent: Sent) -> None:
        """Write one attempt down."""
        with self._lock:
            self.sent.append(sent)

    def heard(self, told: dict[str, Any], **about: Any) -> None:
        """Write down an attempt that was answered."""
        receipt = told["receipt"] and (told["receipt"]["seq"], told["receipt"]["head"])
        cost = None if told["cost"] is None else told["cost"]["epsilon"]
        value = float(told["rows"][0]["n"]["value"])
        self.note(Sent(**about, value=value, source=told["source"], cost=cost, receipt=receipt))
        self.answers += 1


def question_of(domain: Domain, sql: str) -> str:
    """What the session knows a count by, whatever its words are."""
    asked: Any = read_all(domain, sql, None)
    return hashlib.sha256("".join(q.digest for q in asked.pieces).encode()).hexdigest()[:24]


def charges(ledger: Ledger) -> list[Paid]:
    """The charges for answers that were measured for one question each."""
    found = []
    for entry in ledger.replay(None):
        if entry.kind == "charge" and "own measurement" in entry.note:
            assert entry.request is not None
            assert entry.answer is not None
            counts = np.load(io.BytesIO(entry.answer))["arr_0"]
            question = entry.request.split(": direct ")[1].split()[0]
            epsilon = ledger.budget.part(entry.cost).epsilon
            found.append(Paid(entry.seq, question, entry.account, float(counts[0]), epsilon))
    return found


def problems(sent: Iterable[Sent], paid: Iterable[Paid], hash_at: Callable[[int], str | None]) -> list[str]:
    """Why no single curator can have said this; nothing if one can."""
    sent, bought = list(sent), list(paid)
    answered = [s for s in sent if s.got is not None]
    accurate = [s for s in answered if s.accurate]
    lines: dict[str, list[Paid]] = defaultdict(list)
    for one in bought:
        lines[one.question].append(one)
    found = [f"{q} was charged {len(some)} times" for q, some in lines.items() if len(some) > 1]
    asked = {s.question for s in sent if s.accurate}
    found += [f"{q} was charged, and nobody asked it" for q in lines if q not in asked]
    for s in accurate:
        found += _unlike_its_line(s, lines.get(s.question, []))
    found += _told_twice(accurate) + _lost(answered, hash_at) + _out_of_order(answered)
    return found + _fell_back(answered)


def _unlike_its_line(s: Sent, lines: list[Paid]) -> list[str]:
    if not lines:
        return [f"{s.question} was answered, and never charged"]
    line = lines[0]
    found = []
    if s.value != max(line.value, 0.0):
        found.append(f"{s.question} was answered with another value than was charged")
    if s.receipt is not None and s.receipt[0] < line.seq:
        found.append(f"{s.question} was answered before it was charged")
    if s.cost is not None and s.who != line.who:
        found.append(f"{s.question} was paid by somebody else than was told so")
    if s.cost is not None and abs(s.cost - line.epsilon) > 1e-9:
        found.append(f"{s.question} cost something else than was told")
    return found


def _told_twice(answered: list[Sent]) -> list[str]:
    found = []
    told: dict[str, int] = defaultdict(int)
    requests: dict[tuple[str, str], set[float | None]] = defaultdict(set)
    for s in answered:
        told[s.question] += s.cost is not None
        if s.request is not None:
            requests[s.who, s.request].add(s.value)
    found += [f"{q} was told to cost something {n} times" for q, n in told.items() if n > 1]
    return found + [f"the request {r} got two answers" for r, values in requests.items() if len(values) > 1]


def _lost(answered: list[Sent], hash_at: Callable[[int], str | None]) -> list[str]:
    """Receipts of lines that are not there."""
    receipts = {s.receipt for s in answered if s.receipt is not None}
    return [f"line {seq} was lost or changed" for seq, head in sorted(receipts) if hash_at(seq) != head]


def _out_of_order(answered: list[Sent]) -> list[str]:
    """Whoever asks after an answer was seen must see at least as much of the ledger as it was given from."""
    first: dict[Any, Sent] = {}
    for s in sorted(answered, key=lambda s: s.got or 0.0):  # what is sent again gets the same reply again
        first.setdefault((s.who, s.request, s.receipt) if s.request else s, s)
    some = [s for s in first.values() if s.receipt is not None]
    ends = sorted(some, key=lambda s: s.got or 0.0)
    found, at, seen = [], 0, -1
    for s in sorted(some, key=lambda s: s.sent):
        while at < len(ends) and (ends[at].got or 0.0) < s.sent:
            seen, at = max(seen, (ends[at].receipt or (-1,))[0]), at + 1
        if s.receipt is not None and s.receipt[0] < seen:
            found.append(f"{s.question} was answered from an older ledger than somebody had seen before")
    return found


def _fell_back(answered: list[Sent]) -> list[str]:
    """Free answers that contradict an accurate one which was seen before they were asked for."""
    first: dict[str, tuple[float, float | None]] = {}
    for s in sorted(answered, key=lambda s: s.got or 0.0):
        if s.accurate:
            first.setdefault(s.question, (s.got or 0.0, s.value))
    return [
        f"{s.question} was answered free, and otherwise than somebody had seen before"
        for s in answered
        if not s.accurate and s.question in first
        and first[s.question][0] < s.sent and s.value != first[s.question][1]
    ]  # fmt: skip


def check(notebook: Notebook, ledger: Ledger) -> list[Paid]:
    """Fail unless a single curator could have said all of it; the charges."""
    bought = charges(ledger)
    wrong = problems(notebook.sent, bought, ledger.hash_at)
    assert not wrong, wrong[:5]
    outcome = ledger.verify()
    assert outcome.ok, outcome.describe()
    return bought
