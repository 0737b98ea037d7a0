"""Log: what a session has done, as lines of the ledger that every process of the session follows."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import BudgetExceeded, LedgerError
from hedgerow.mechanisms.session.snapshot import SealedFile
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import OWNER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.ledger.ledger import Entry, Ledger

_MEDIA = "application/json"
_TAIL = 200  # lines are read in a few milliseconds
_MANY = 4096  # newly noted questions, which take more memory than those in order
_RESERVE = re.compile(r"(session .+): reserve [0-9a-f]{12}")


class AnswerPlaces:
    """Numbers of lines by the hashes of their questions; whoever reads a line there sees whose answer it is.

    Args:
        keys: hashes in order.
        lines: the line of each.

    >>> places = AnswerPlaces()
    >>> places.add(7, ["how many?"])
    >>> places.settled().find("how many?"), places.find("how many?"), places.find("how few?")
    ([7], [7], [])
    """

    def __init__(
        self, keys: NDArray[np.uint64] | None = None, lines: NDArray[np.int64] | None = None
    ) -> None:
        whole = np.zeros(0, np.uint64) if keys is None else keys
        self._settled = whole, np.zeros(0, np.int64) if lines is None else lines
        self._new: dict[int, list[int]] = {}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> AnswerPlaces:
        """The inverse of `arrays`."""
        return cls(arrays["keys"], arrays["lines"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was settled."""
        return dict(zip(("keys", "lines"), self._settled, strict=True))

    def add(self, line: int, keys: Iterable[str]) -> None:
        """Note one more line."""
        for key in keys:
            self._new.setdefault(_hash(key), []).append(line)
        if len(self._new) > _MANY:
            self._settled = self.settled()._settled
            self._new = {}

    def settled(self) -> AnswerPlaces:
        """All places, old and newly noted, in an order that can be searched."""
        noted = [(key, line) for key, lines in self._new.items() for line in lines]
        new = np.array(noted, dtype=np.uint64).reshape(-1, 2)
        keys = np.concatenate([self._settled[0], new[:, 0]])
        lines = np.concatenate([self._settled[1], new[:, 1].astype(np.int64)])
        order = np.argsort(keys, kind="stable")
        return AnswerPlaces(keys[order], lines[order])

    def find(self, key: str, *, new: bool = True) -> list[int]:
        """The lines that may answer a question, in order.

        Args:
            key: the question's.
            new: also those that were noted newly, and are not settled.
        """
        wanted = _hash(key)
        noted = list(self._new.get(wanted, ())) if new else []  # read first: it may be settled meanwhile
        keys, lines = self._settled
        first, last = (int(np.searchsorted(keys, np.uint64(wanted), side=side)) for side in ("left", "right"))
        return sorted({*lines[first:last].tolist(), *noted})


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())


class Log:
    """A session's lines in the ledger, in order, under its name.

    A line says what is about to be done; what it did is found in the ledger under the line's request id, so a
    process that dies in between leaves no doubt. Lines are written by whoever has the session's turn (see
    `Core.turn`), after reading everybody else's.

    Args:
        curator: who opened the session.
        name: the session's name in the ledger.
    """

    def __init__(self, curator: Curator, name: str) -> None:
        self.curator = curator
        self.name = name
        self.paid: dict[str, str] = {}
        """Which account paid for what, by request id."""
        self._paid_for: dict[str, list[str]] = {}
        self._sorted = 0  # requests that are in it
        self._seen = -1
        self._places = AnswerPlaces()
        self._acts: list[tuple[int, dict[str, Any]]] = []  # all lines but answers
        self._owed: list[tuple[int, dict[str, Any]]] = []  # the last line of answers, for what guards owe
        self._tail = 0  # lines that are in no file
        self._file = SealedFile(curator.ledger, name, "log")

    def news(self) -> list[tuple[int, dict[str, Any]]]:
        """The lines that others wrote since this process last looked, or wrote itself, with their numbers.

        The first time those that a file holds come first, without the answers that are in them: `answers`
        finds these.
        """
        lines = self._kept() if self._seen < 0 else []
        for entry, line in lines_of(self.curator.ledger, self.name, self._seen):
            self._seen = entry.seq
            if line is not None:
                lines.append((entry.seq, line))
                self._note(entry.seq, line)
            elif entry.request is not None:
                self.paid[entry.request] = entry.account
        return lines

    def paid_for(self, what: str) -> list[str]:
        """The requests about one thing that were paid, in that order.

        Args:
            what: with which they begin, after the session's name: a word and what it is about.
        """
        for request in islice(self.paid, self._sorted, None) if self._sorted < len(self.paid) else ():
            about = request.removeprefix(f"{self.name}: ").split(" ", 2)[:2]
            self._paid_for.setdefault(" ".join(about), []).append(request)
        self._sorted = len(self.paid)
        return self._paid_for.get(what, [])

    def answers(self, key: str, whole: bool = True) -> Iterator[dict[str, Any]]:
        """The answers to one question in the ledger.

        Args:
            key: the question's.
            whole: also those in lines that `news` gave.
        """
        for seq in self._places.find(key, new=whole):
            for _, line in lines_of(self.curator.ledger, self.name, seq - 1):
                yield from (answer for answer in (line or {}).get("answers", ()) if answer["key"] == key)
                break

    def save(self) -> None:
        """Keep what was read for the next process, once it takes long to read."""
        if self._tail <= _TAIL or self._file.path is None:
            return
        self._places, self._tail = self._places.settled(), 0
        self._file.save({"acts": [*self._acts, *self._owed], "paid": self.paid}, self._places.arrays)

    def _kept(self) -> list[tuple[int, dict[str, Any]]]:
        """The lines that a file holds, in order."""
        held = self._file.load()
        if held is None:
            return []
        self._seen, self.paid, self._places = held.seq, held.data["paid"], AnswerPlaces.of(held.arrays)
        acts = [(seq, line) for seq, line in held.data["acts"]]
        self._acts = [act for act in acts if act[1]["do"] != "answers"]
        self._owed = [act for act in acts if act[1]["do"] == "answers"]
        return sorted(acts, key=lambda act: act[0])

    def _note(self, seq: int, line: dict[str, Any]) -> None:
        """Remember a line for that file."""
        self._tail += 1
        if line["do"] != "answers":
            self._acts.append((seq, line))
            return
        self._owed = [(seq, {**line, "answers": []})]
        self._places.add(seq, (answer["key"] for answer in line["answers"]))

    def write(self, line: dict[str, Any], *, durable: bool = True) -> None:
        """Keep one line; only what costs nothing may do without waiting for the disk."""
        entry = self.curator.ledger.record(
            json.dumps(line).encode(),
            account=self.curator.account,
            analyst=self.curator.account,
            note=f"Session: {line['do']}",
            run=self.name,
            content_type=_MEDIA,
            durable=durable,
        )
        self._seen = entry.seq
        self._note(entry.seq, line)

    def payer(self, account: str) -> Curator:
        """The curator of an account that paid for something here."""
        return self.curator if account == self.curator.account else self.curator.child(account)

    def request(self, what: str) -> str:
        """A request id that nobody has used."""
        return f"{self.name}: {what} {secrets.token_hex(6)}"


class Reserve:
    """Money set aside for the worst that a comparison can lead to: one account for each payer of a session.

    It is an account of its own: whatever else the payer does meanwhile, in whichever process, the worst case
    stays affordable, because it is paid from there. All processes of a session share it. One that dies leaves
    it behind for the next; `give_back` is for the owner who wants it at once.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._held: dict[str, str] = {}
        self._left: dict[str, Cost] = {}  # in those accounts, as far as nobody has spent from them

    def follow(self, line: dict[str, Any]) -> None:
        """Another process set this aside."""
        self._held[line["payer"]] = line["account"]

    def refresh(self) -> None:
        """Forget what someone else has given back, or spent."""
        ledger = self._log.curator.ledger
        self._left.clear()
        self._held = {payer: name for payer, name in self._held.items() if _is_open(ledger, name)}

    def held(self, payer: Curator) -> Cost:
        """What is set aside for a payer now."""
        ledger, name = self._log.curator.ledger, self._held.get(payer.account)
        if name is None:
            return Cost.zero(ledger.currency)
        if name not in self._left:
            self._left[name] = ledger.remaining(name)
        return self._left[name]

    def hold(self, payer: Curator, amount: Cost) -> bool:
        """Whether so much is set aside now; False if the payer cannot afford it."""
        if payer.account in self._held and amount <= self.held(payer):
            return True
        self.release(payer)
        name = f"{self._log.name}: reserve {secrets.token_hex(6)}"
        try:
            payer.ledger.check(amount, payer.account)
            self._log.write({"do": "reserve", "account": name, "payer": payer.account})
            payer.ledger.allot(
                name, amount, parent=payer.account, note="Session: the worst a comparison can cost"
            )
        except BudgetExceeded:
            return False
        self._held[payer.account] = name
        return True

    def fund(self, payer: Curator) -> Curator:
        """The curator that pays from what was set aside, or the payer when nothing is."""
        name = self._held.get(payer.account)
        if name is None:
            return payer
        self._left.pop(name, None)
        return payer.child(name)

    def release(self, payer: Curator) -> None:
        """Give the payer's reserve back."""
        name = self._held.pop(payer.account, None)
        if name is not None:
            _settle(self._log.curator.ledger, name)

    def close(self) -> None:
        """Give everything back; a process that goes on sets it aside again."""
        for name in self._held.values():
            _settle(self._log.curator.ledger, name)
        self._held.clear()


def give_back(ledger: Ledger) -> int:
    """Give back what sessions have set aside, and say how many accounts that closed.

    Safe while a session is in use: it waits for the question that is being answered, and the session sets
    aside what it needs before it compares again.

    Args:
        ledger: the dataset's ledger.
    """
    closed = 0
    for name in list(_accounts(ledger)):
        found = _RESERVE.fullmatch(name)
        if found is None or not _set_aside(ledger, found[1], name):
            continue
        with ledger.alone():
            if _is_open(ledger, name):
                ledger.settle(name, "Session: given back by the owner")
                closed += 1
    return closed


def _accounts(ledger: Ledger, under: str = OWNER) -> Iterator[str]:
    for name in ledger.children(under):
        if not ledger.is_closed(name):
            yield name
            yield from _accounts(ledger, name)


def _set_aside(ledger: Ledger, session: str, account: str) -> bool:
    """Whether a session's own lines say that an account is its reserve: a name alone could be anybody's."""
    lines = (line for _, line in lines_of(ledger, session) if line is not None)
    return any(line["do"] == "reserve" and line["account"] == account for line in lines)


def lines_of(ledger: Ledger, name: str, after: int = -1) -> Iterator[tuple[Entry, dict[str, Any] | None]]:
    """A session's charges, and its own lines with what they say, in order."""
    for entry in ledger.replay(name, after):
        if entry.kind == "note" and entry.content_type == _MEDIA and entry.answer is not None:
            yield entry, json.loads(entry.answer)
        elif entry.kind == "charge":
            yield entry, None


def _is_open(ledger: Ledger, name: str) -> bool:
    try:
        return not ledger.is_closed(name)
    except LedgerError:  # it was written down, and the process ended before it was opened
        return False


def _settle(ledger: Ledger, name: str) -> None:
    try:
        ledger.settle(name)
    except LedgerError:  # never opened, or closed already
        return
