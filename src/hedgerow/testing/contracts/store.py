"""What a store owes a ledger: whole transactions, one writer at a time, every line as it was written."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from fractions import Fraction
from typing import Any

from hedgerow.errors import BudgetExceeded, HedgerowError, LedgerError, RequestReused
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger, verify_export
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.store import Store
from hedgerow.testing.contracts.check import Check, Suite, refused, require

Opened = Any  # a Store, a path or ":memory:": whatever `Ledger.open` takes
Make = Callable[[], Callable[[], Opened]]

BUDGET = Budget(epsilon=1)
BYTES = bytes(range(256)) + "ʻ ✓".encode()
WAIT = 30.0  # seconds after which somebody who waits for a turn is taken to wait for ever

STORE = Suite("a store")


def store_checks(make: Make) -> list[Check]:
    """The checks of a store.

    Args:
        make: makes a new, empty place and returns a function that opens it: each call is another handle of
            the same lines, as another program would have it. Those that are not durable may be new each time.
    """
    return STORE.checks(make)


def check_store(make: Make) -> None:
    """Try a store; see `store_checks`."""
    STORE.check(make)


def _costs(epsilon: str) -> Pure:
    return Pure(Fraction(epsilon))


def _open(place: Callable[[], Opened], **more: Any) -> Ledger:
    return Ledger.open(place(), **({"budget": BUDGET} | more))


def _says(answer: bytes = b"42", state: bytes | None = None) -> Callable[[], tuple[bytes, bytes | None]]:
    return lambda: (answer, state)


def _never() -> tuple[bytes, None]:
    raise AssertionError("an act was carried out that was not affordable, or done before")


def _others(place: Callable[[], Opened], ledger: Ledger) -> list[Ledger]:
    """The ledger itself, and another handle where there can be one."""
    return [ledger, _open(place)] if ledger._store.durable else [ledger]


@STORE.promises("it is a store, and says whether it is durable")
def _is_one(make: Make) -> None:
    ledger = _open(make())
    require(isinstance(ledger._store, Store), "it lacks something of hedgerow.extending.Store")
    require(isinstance(ledger._store.durable, bool), "`durable` is no bool")
    require(ledger.simulation is not ledger._store.durable, "a ledger that is not durable must say so")
    require(ledger.verify().ok, ledger.verify().describe())


@STORE.promises("what was committed is there again after closing and opening")
def _durable(make: Make) -> None:
    place = make()
    ledger = _open(place)
    if not ledger._store.durable:
        return
    ledger.charge(_costs("1/4"), _says(BYTES, b"secret"), request="r", question="how many?")
    kept = (ledger.receipt(), ledger.row_key, [_whole(line) for line in ledger._store.lines()])
    ledger.close()
    again = _open(place)
    require(again.receipt() == kept[0], "it is another ledger when it is opened again")
    require(again.row_key == kept[1], "its secret key is lost")
    require([_whole(line) for line in again._store.lines()] == kept[2], "a line is not as it was written")
    with refused("opening it with another budget", LedgerError):
        _open(place, budget=Budget(epsilon=2))


def _whole(line: Line) -> tuple[Any, ...]:
    return line.seq, line.text, line.commitment, line.hash, line.answer, line.nonce, line.state


@STORE.promises("a charge is committed before its answer is returned, and not before its act is done")
def _committed(make: Make) -> None:
    place = make()
    ledger = _open(place)
    others, before = _others(place, ledger)[1:], ledger.newest
    seen: list[int] = []

    def act() -> tuple[bytes, None]:
        readers = [threading.Thread(target=lambda o=o: seen.append(o.newest)) for o in others]  # type: ignore[misc]
        for reader in readers:
            reader.daemon = True
            reader.start()
            reader.join(0.5)  # one that waits for the writer's end sees nothing too
        require(all(newest == before for newest in seen), "an act is seen before it is done")
        return b"42", None

    ledger.charge(_costs("1/10"), act)
    require(all(o.newest == before + 1 for o in others), "a charge is not seen although it was returned")


@STORE.promises("a transaction that fails leaves nothing, and the ledger free for others")
def _atomic(make: Make) -> None:
    place = make()
    ledger = _open(place)
    before = ledger.receipt()
    for error in (ValueError("no"), KeyboardInterrupt()):

        def fails(error: BaseException = error) -> tuple[bytes, None]:
            raise error

        with suppress(type(error)), ledger.transaction() as transaction:
            transaction.charge(_costs("1/10"), _says(), request="first")
            transaction.charge(_costs("1/10"), fails)
        require(ledger.receipt() == before, "lines of a failed transaction were kept")
        require(ledger.recall("first", _costs("1/10")) is None, "a request of a failed transaction is known")
    for holder in _others(place, ledger):
        _in_time(lambda h=holder: h.charge(_costs("1/10"), _says()), "a failed transaction holds its turn")  # type: ignore[misc]


@STORE.promises("what is beyond the budget is refused without an act and without a line")
def _refuses(make: Make) -> None:
    ledger = _open(make())
    ledger.charge(_costs("3/4"), _says())
    before = ledger.receipt()
    with refused("a charge beyond the budget", BudgetExceeded):
        ledger.charge(_costs("1/2"), _never, request="r")
    require(ledger.receipt() == before, "a refusal wrote a line")
    ledger.charge(_costs("1/4"), _says())
    require(ledger.remaining().is_zero, "tenths and quarters do not add up")


@STORE.promises("the same request gets the same answer, free, through any handle")
def _requests(make: Make) -> None:
    place = make()
    ledger = _open(place)
    name = 'it\'s "r" ✓ %_'
    ledger.charge(_costs("1/4"), _says(BYTES), request=name, question="how many?")
    for holder in _others(place, ledger):
        again = holder.charge(_costs("1/4"), _never, request=name, question="how many?")
        require(again.answer == BYTES and again.replayed, "the same request got another answer")
        require(holder.spent().amount == Fraction(1, 4), "an answer was paid for twice")
        with refused("a request id for another question", RequestReused):
            holder.charge(_costs("1/4"), _never, request=name, question="how old?")


@STORE.promises("every look-up finds what a walk over all lines finds")
def _lookups(make: Make) -> None:
    store = _story(make())._store
    lines = list(store.lines())
    walk = Walked(lines)
    require([line.seq for line in lines] == list(range(len(lines))), "lines are not numbered from 0 on")
    require((store.head(), store.first(), store.newest()) == (lines[-1], lines[0], len(lines) - 1), "ends")
    for seq in (-1, 0, 3, len(lines) - 1, len(lines), 1 << 70):
        require(store.at(seq) == walk.at(seq), f"the line of number {seq} is another one")
    names = {line.field("account") for line in lines} | {"nobody", "it's"}
    for upto in (None, 0, 2, 5, len(lines) - 1):
        require(store.raised(upto) == walk.raised(upto), f"the newest raise up to {upto} is another")
        for name in names:
            require(store.last(name, upto) == walk.last(name, upto), f"last({name!r}, {upto})")
    for name in names:
        require(store.children(name) == walk.children(name), f"children({name!r})")
    for request in ("r1", "r2", "none"):
        require(store.requested(request) == walk.requested(request), f"requested({request!r})")
    for start in ("r", "r1", "s", "R"):
        require(store.requested_last(start) == walk.requested_last(start), f"requested_last({start!r})")
    for run in ("a run", "none"):
        for after in (-1, 2, len(lines)):
            found = [line.seq for line in store.lines(run, after)]
            wanted = [n.seq for n in lines if n.field("run") == run and n.seq > after]
            require(found == wanted, f"lines({run!r}, {after})")
    require(list(store.lines(after=4)) == lines[5:], "lines(after=4)")


class Walked(Store):
    """Lines in a list: every look-up is a walk."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines

    def lines(self, run: str | None = None, after: int = -1) -> Iterator[Line]:
        """Those of the list."""
        return (n for n in self._lines if n.seq > after and run in (None, n.field("run")))

    def transaction(self, durable: bool = True) -> AbstractContextManager[None]:
        """Nothing is written here."""
        raise LedgerError("These lines are only read.")

    def append(self, line: Line) -> None:
        """Nothing is written here."""
        raise LedgerError("These lines are only read.")

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else holds the list."""
        return nullcontext()

    def close(self) -> None:
        """Nothing to let go."""


def _story(place: Callable[[], Opened]) -> Ledger:
    """A ledger with some of every kind of line."""
    ledger = _open(place)
    ledger.charge(_costs("1/10"), _says(b"1", b"state"), request="r1", run="a run")
    ledger.allot("ada", Cost("epsilon", Fraction(1, 4)))
    ledger.allot("bob", Cost("epsilon", Fraction(1, 8)), parent="ada")
    ledger.charge(_costs("1/20"), _says(b"2"), account="bob", analyst="bob", request="r2", run="a run")
    ledger.raise_budget(Budget(epsilon=2), "more people")
    ledger.record(b"free", account="ada", analyst="ada", run="a run", durable=False)
    ledger.settle("ada")
    ledger.raise_budget(Budget(epsilon=3), "and more")
    return ledger


@STORE.promises("the chain verifies, alone, by a receipt and as an export")
def _chain(make: Make) -> None:
    ledger = _open(make())
    early = ledger.receipt()
    ledger.close()
    ledger = _story(make())
    receipt = ledger.receipt()
    require(ledger.verify(receipt).ok, ledger.verify(receipt).describe())
    require(verify_export(ledger.export(answers=True), receipt).ok, "its export does not verify")
    require(not ledger.verify(early).ok, "a receipt of another ledger verifies")
    ledger.charge(_costs("1/10"), _says())
    require(ledger.verify(receipt).ok and ledger.knows(receipt), "an earlier receipt no longer verifies")
    require(ledger._store.damage() is None, f"it says of itself: {ledger._store.damage()}")


@STORE.promises("lines are only appended, in order, inside a transaction, and transactions are not nested")
def _append_only(make: Make) -> None:
    ledger = _open(make())
    store, first = ledger._store, ledger._store.first()
    with refused("a line outside of a transaction", HedgerowError):
        store.append(Line.after(first.hash, {"seq": 1}, None, None))
    require(ledger.newest == 0, "a line outside of a transaction was kept")
    for seq in (0, 2):
        with refused("a line out of order", HedgerowError), store.transaction():
            fields = Line.after(first.hash, {"seq": seq}, None, None)
            store.append(fields)
    require(ledger.newest == 0, "a line out of order was kept")
    with refused("a transaction inside of another", LedgerError), store.transaction(), store.transaction():
        pass
    ledger.charge(_costs("1/10"), _says())
    require(ledger.verify().ok, ledger.verify().describe())


def _in_time(work: Callable[[], Any], words: str) -> None:
    """Do something in a thread, which must come to an end."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(WAIT)
    require(not thread.is_alive(), words)
    if failed:
        raise failed[0]


@STORE.promises("threads that write at once take turns, and together spend no more than there is")
def _threads(make: Make) -> None:
    place = make()
    ledger = _open(place)
    won: list[int] = []

    def spend(holder: Ledger) -> None:
        for _ in range(4):
            with suppress(BudgetExceeded):
                won.append(holder.charge(_costs("1/10"), _says()).seq)

    holders = [_open(place) if ledger._store.durable else ledger for _ in range(4)]
    threads = [threading.Thread(target=spend, args=(holder,), daemon=True) for holder in holders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    require(not any(thread.is_alive() for thread in threads), "threads wait for each other for ever")
    require(sorted(won) == list(range(1, 11)), f"{len(won)} of 16 charges of a tenth were accepted, not 10")
    require(ledger.remaining().is_zero and ledger.verify().ok, ledger.verify().describe())


def _in_child(work: Callable[[], Any]) -> int:
    """Do something in a forked process; how it ended."""
    child = os.fork()
    if child == 0:
        code = 9
        with suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@STORE.promises("what another process charged is kept, and what it left undone when it ended is not")
def _processes(make: Make) -> None:
    place = make()
    ledger = _open(place)
    if not ledger._store.durable or not hasattr(os, "fork"):
        return

    def dies() -> None:
        holder = _open(place)
        with holder.transaction() as transaction:
            transaction.charge(_costs("1/2"), _says(), request="undone")
            os._exit(7)

    require(
        _in_child(lambda: _open(place).charge(_costs("1/4"), _says(b"theirs"), request="done")) == 0, "child"
    )
    again = ledger.charge(_costs("1/4"), _never, request="done")
    require(again.answer == b"theirs", "another process' answer is lost")
    require(_in_child(dies) == 7, "a child could not begin a transaction")
    _in_time(lambda: ledger.charge(_costs("1/4"), _says()), "a process that ended holds its turn")
    require(ledger.recall("undone", _costs("1/2")) is None, "half a transaction was kept")
    require(ledger.spent().amount == Fraction(1, 2) and ledger.verify().ok, ledger.verify().describe())


@STORE.promises("one holder at a time is alone, and may be so twice")
def _alone(make: Make) -> None:
    place = make()
    ledger = _open(place)
    other, order, begun = _others(place, ledger)[-1], list[str](), threading.Event()

    def wait() -> None:
        begun.set()
        with other.alone():
            order.append("second")

    with ledger.alone(), ledger.alone():
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        begun.wait(WAIT)
        thread.join(0.2)
        ledger.charge(_costs("1/10"), _says())
        order.append("first")
    thread.join(WAIT)
    require(order == ["first", "second"], f"two were alone at once, or one for ever: {order}")


@STORE.promises("what was done in a turn is there when it ends, and what failed in it is not")
def _turns(make: Make) -> None:
    place = make()
    ledger = _open(place)
    other = _others(place, ledger)[-1]
    with ledger.turn():
        ledger.charge(_costs("1/10"), _says(b"1"), request="one")
        with suppress(ZeroDivisionError):
            ledger.charge(_costs("1/10"), lambda: (b"%d" % (1 // 0), None), request="never")
        with ledger.turn(), ledger.alone():
            again = ledger.charge(_costs("1/10"), _never, request="one")
        require(again.answer == b"1", "a turn does not know what was done in it")
        ledger.record(b"free", request="two", durable=False)
        receipt = ledger.receipt()
        require(ledger.spent().amount == Fraction(1, 10), "a turn does not know what it has spent")
    require(other.knows(receipt) and other.newest == receipt.seq, "a turn ended, and not all of it is there")
    with suppress(ZeroDivisionError), ledger.turn():
        ledger.charge(_costs("1/10"), _says(b"3"), request="three")
        _ = 1 // 0
    require(other.spent().amount == Fraction(1, 5), "a charge that was made is lost with what came after it")
    require(other.verify().ok, other.verify().describe())


@STORE.promises("a closed store refuses everything")
def _closed(make: Make) -> None:
    ledger = _open(make())
    ledger.close()
    for what, work in (("reading", ledger.spent), ("writing", lambda: ledger.charge(_costs("1/10"), _never))):
        with refused(f"{what} after closing", LedgerError):
            work()
