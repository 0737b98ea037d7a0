"""Engine: a DuckDB of its own for released numbers and declared levels, which has never held a row.

It is locked before anything is run in it: no file, no network, no extension, no Python variable, no setting;
little memory, one thread, little time. What it is given to run is printed by `expression` and `selects`, node
by node from lists of what is allowed. Either of the two alone keeps a statement from reaching anything.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import Any

from hedgerow.errors import RangeTooLarge, UnsupportedSQL

SECONDS = 10.0
"""The most that one statement may take."""
ROWS = 1 << 20
"""The most rows that one statement may return."""
LASTS = 2000
"""Statements after which a database is made anew: DuckDB (2.0) keeps up to 3 kB of each to its end."""
SETTINGS: Mapping[str, Any] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "memory_limit": "512MB",
    "temp_directory": "",
    "threads": 1,
}
# Between which numbers a product and a quotient lie, if each part lies between two; else there are no ends.
_KNOWN = "isfinite(a::DOUBLE) AND isfinite(b::DOUBLE) AND isfinite(c::DOUBLE) AND isfinite(d::DOUBLE)"
_APART = "(c > 0 OR d < 0)"
_ALL = {"times": "a * c, a * d, b * c, b * d", "over": "a / c, a / d, b / c, b / d"}
_CORNERS = tuple(
    f"{name}_{end}(a, b, c, d) AS CASE WHEN {_KNOWN}{'' if name == 'times' else f' AND {_APART}'} "
    f"THEN {pick}({_ALL[name]}) ELSE '{none}'::DOUBLE END"
    for name in _ALL
    for end, pick, none in (("low", "least", "-inf"), ("high", "greatest", "inf"))
)
# Averages and medians of numbers of which some may not be there: `s` are those that surely are (or the sum),
# `n` is how many; `m` are the others. The least has as many of the lowest of those as make it lowest.
_MANY = 500  # of the others: of more no end is known
_SETS = tuple(
    f"{kind}_{end}(s, n, m) AS CASE WHEN n > 0 AND len(m) <= {_MANY} THEN list_{pick}(list_transform("
    f"range(len(m) + 1), lambda k: {inner})) ELSE '{none}'::DOUBLE END"
    for kind, inner in (
        ("avg", "(s + coalesce(list_sum(m[1:k]), 0)) / (n + k)"),
        ("median", "list_aggregate(list_concat(s, m[1:k]), 'median')"),
    )
    for end, pick, none in (("least", "min", "-inf"), ("most", "max", "inf"))
)
# A number that surely lies between two others, and its ends; what is no number, as 0/0, is in the middle.
_BETWEEN = "THEN least(greatest(v, b), c)"
_INSIDE = tuple(
    f"inside{end}(a, b, c) AS list_transform([a::DOUBLE], lambda v: CASE {cases} END)[1]"
    for end, cases in (
        ("", f"WHEN v IS NULL THEN NULL WHEN isfinite(v) {_BETWEEN} ELSE (b + c) / 2"),
        ("_low", f"WHEN v IS NULL OR isnan(v) THEN b::DOUBLE WHEN TRUE {_BETWEEN}"),
        ("_high", f"WHEN v IS NULL OR isnan(v) THEN c::DOUBLE WHEN TRUE {_BETWEEN}"),
    )
)
_MACROS = (*_CORNERS, *_SETS, *_INSIDE)

Rows = list[tuple[Any, ...]]
Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""The columns of a table: for each name its type and its values."""


class NotWorkedOut(UnsupportedSQL):
    """DuckDB has no such function of such values."""


class ReleasedEngine:
    """A locked database in memory; one thread at a time has it.

    Args:
        settings: DuckDB's.
        begin: statements that fill it, with their values; nothing else stays in it.
        locked: whether settings are.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] = SETTINGS,
        begin: Sequence[tuple[str, Sequence[Any]]] = (),
        *,
        locked: bool = True,
    ) -> None:
        self._lock = threading.RLock()
        self._clock = _Clock()
        self._settings = dict(settings)
        self._begin: list[tuple[str, Sequence[Any]]] = [(f"CREATE MACRO {macro}", ()) for macro in _MACROS]
        self._begin += [("SET lock_configuration = true", ())] if locked else []
        self._begin += [(text, list(values)) for text, values in begin]
        self._held = 0
        self._open()

    def _open(self) -> None:
        import duckdb  # not before it is needed: most statements are one question

        self._left = LASTS
        self._base = duckdb.connect(":memory:", config=self._settings)
        for text, values in self._begin:
            self._base.execute(text, values)

    def _spare(self) -> None:
        """One statement more; a database that had many ends, unless something is held in it."""
        if self._left <= 0 and not self._held:
            self._base.close()
            self._open()
        self._left -= 1

    def close(self) -> None:
        """Let go of it."""
        self._clock.end()
        self._base.close()

    def run(self, text: str, values: Sequence[Any] = (), seconds: float = SECONDS) -> Rows:
        """The rows of a statement that was printed here, never of one that somebody typed.

        Args:
            text: the statement.
            values: of its parameters.
            seconds: the most that it may take.
        """
        return self.described(text, values, seconds)[1]

    def described(
        self, text: str, values: Sequence[Any] = (), seconds: float = SECONDS
    ) -> tuple[list[tuple[str, str]], Rows]:
        """The same with the columns before it: the name and DuckDB's type of each.

        Args:
            text: the statement.
            values: of its parameters.
            seconds: the most that it may take.
        """
        import duckdb

        with self._lock:
            self._spare()
            self._clock.start(seconds, self._base.interrupt)
            try:
                found: Rows = self._base.execute(text, list(values)).fetchmany(ROWS + 1)
                columns = [(str(c[0]), str(c[1])) for c in self._base.description or ()]
            except duckdb.InterruptException:
                raise RangeTooLarge(
                    f"working on the released numbers takes more than {seconds:g} seconds"
                ) from None
            except duckdb.OutOfMemoryException:
                raise RangeTooLarge(
                    "working on the released numbers takes more memory than there is; ask for fewer groups"
                ) from None
            except (duckdb.Error, ValueError, OverflowError) as error:
                raise NotWorkedOut(f"this cannot be worked out: {_words(error)}") from None
            finally:
                self._clock.stop()
        if len(found) > ROWS:
            raise RangeTooLarge(f"the statement returns more than {ROWS:,} rows; say LIMIT")
        return columns, found

    @contextmanager
    def holding(self, tables: Mapping[str, Columns]) -> Iterator[None]:
        """Hold released tables while a statement is run on them."""
        with self._lock:
            self._spare()
            self._held += 1
            try:
                for name, columns in tables.items():
                    made = ", ".join(
                        f"unnest($a{i}::{kind}[]) AS {c}" for i, (c, (kind, _)) in enumerate(columns.items())
                    )
                    self._base.execute(
                        f"CREATE TEMP TABLE {name} AS SELECT {made}",
                        {f"a{i}": list(values) for i, (_, values) in enumerate(columns.values())},
                    )
                yield
            finally:
                for name in tables:
                    self._base.execute(f"DROP TABLE IF EXISTS {name}")
                self._held -= 1


class _Clock:
    """Calls somebody when time is up, from one thread for all statements."""

    def __init__(self) -> None:
        self._bell = threading.Condition()
        self._due: tuple[float, Callable[[], None]] | None = None
        self._asleep = self._over = False
        self._thread: threading.Thread | None = None

    def start(self, seconds: float, ring: Callable[[], None]) -> None:
        """Ring after so many seconds, unless it is stopped before."""
        with self._bell:
            self._due = (monotonic() + seconds, ring)
            if self._thread is None or not self._thread.is_alive():  # there is none yet, or not after a fork
                self._thread = threading.Thread(target=self._watch, name="hedgerow engine clock", daemon=True)
                self._thread.start()
            elif self._asleep:
                self._bell.notify()

    def stop(self) -> None:
        """Do not ring."""
        with self._bell:
            self._due = None

    def end(self) -> None:
        """Stop watching."""
        with self._bell:
            self._due, self._over = None, True
            self._bell.notify()
        if self._thread is not None:
            self._thread.join(1.0)

    def _watch(self) -> None:
        while True:
            with self._bell:
                if self._over:
                    return
                self._asleep = self._due is None
                left = None if self._due is None else self._due[0] - monotonic()
                if left is None or left > 0:
                    self._bell.wait(None if left is None else min(left, 1.0))
                    continue
                assert self._due is not None
                ring, self._due = self._due[1], None
            ring()


_ONE = threading.Lock()


def engine() -> ReleasedEngine:
    """The one engine of this process, also for threads that are the first to ask at once."""
    with _ONE:
        return _engine()


@cache
def _engine() -> ReleasedEngine:
    made = ReleasedEngine()
    atexit.register(made.close)
    return made


def _words(error: Exception) -> str:
    """The first line of what DuckDB says; it knows released numbers and declared levels only."""
    line = str(error).split("\n", maxsplit=1)[0]
    return line[:160].rstrip(". !")
