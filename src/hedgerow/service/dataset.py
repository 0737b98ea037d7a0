"""Dataset: private rows, the ledger that is theirs, and whom it protects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.ledger import Ledger, Settings
from hedgerow.privacy.ledger.nearby import ledger_path
from hedgerow.privacy.ledger.place import Data
from hedgerow.privacy.ledger.url import LedgerUrl, Where
from hedgerow.privacy.rational import exact
from hedgerow.release.numerals import amount, small
from hedgerow.release.schema import Schema
from hedgerow.service import runs, witness
from hedgerow.service.places import (
    Named,
    csv_reading,
    find_ledger,
    is_there,
    refuse_missing,
    refuse_unnamed,
    schema_beside,
    shown,
)

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.growing.growing import Growing
    from hedgerow.curator.rows.table import Table
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.domain.joined import JoinedTable

DELTA = "1e-9"
_LEAST, _MOST, _LEAST_DELTA = 1e-9, 1_000_000, 1e-30
_SUCH = {"epsilon": "0.5", "delta": "1e-9"}

Step = Callable[[str, float | None], None]
"""Told what is being done and how far it is, from 0 to 1 (None: unknown)."""


def make_budget(epsilon: Any, delta: Any = None) -> Budget:
    """A budget from what a person typed; delta is 1e-9 unless said, and 0 means pure."""
    delta = DELTA if delta is None else delta
    for name, given in (("epsilon", epsilon), ("delta", delta)):
        try:
            exact(given)
        except (ValueError, ArithmeticError):
            raise HedgerowError(f"{name} is a finite number such as {_SUCH[name]}, not {given!r}") from None
    try:
        made = Budget(epsilon=epsilon, delta=delta)
    except ValueError as error:
        raise HedgerowError(str(error)) from None
    if not _LEAST <= exact(epsilon) <= _MOST:
        raise HedgerowError(
            f"a budget's epsilon lies between {small(_LEAST)} and {_MOST:,}, not at {epsilon}: less releases "
            "only noise, more promises nothing"
        )
    if 0 < exact(delta) < _LEAST_DELTA:
        raise HedgerowError(f"a budget's delta is 0 or at least {small(_LEAST_DELTA)}, not {delta}")
    return made


@dataclass(frozen=True)
class Dataset:
    """Private rows, a schema and their ledger, as a command or a server's configuration names them.

    A budget belongs to the rows and to whom it protects. A schema is one way to read them: what is released
    under another one is charged to the same ledger, and composes.

    Args:
        data: a CSV or Parquet file, a folder or a pattern of Parquet files, or postgresql://...
        table, query: of a database: its table, or a SELECT of one row by row.
        ledger: the ledger file, or postgresql://...; the file beside the data if None.
        delta: of the budget that is made when there is none yet.
        unit, max_rows, neighbours: whom to protect; what the ledger says if None.
        encoding, delimiter, multiline: of a CSV file; what its schema says of them if not given.
        same_rows: go on with what was begun although the data file was written again.
        require_budget: never make a budget.
        new_ledger: why a new ledger is made although an earlier one of the data is known.
        older: why a ledger is used that is older than what was released from it.
        first, last: the ends of a range of blocks of data that grow: names, numbers or days.
        schema: the schema file; `schema.yaml` beside the data, else in the working folder, if None.
        tell: told what the owner must know.
    """

    data: Path = field(repr=False)  # an address may hold a password
    ledger: Named = field(default=None, repr=False)
    table: str | None = None
    query: str | None = None
    delta: str | float | None = None
    unit: str | None = None
    max_rows: int | None = None
    neighbours: Literal["add_remove", "replace"] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    multiline: bool = False
    same_rows: bool = False
    require_budget: bool = False
    new_ledger: str | None = None
    older: str | None = None
    first: str | None = None
    last: str | None = None
    schema: Path | None = None
    tell: Callable[[str], Any] = field(default=lambda words: None, repr=False)

    @cached_property
    def path(self) -> Where:
        """The ledger's file or database, whether it is there or not; found once, before it is open."""
        if self.database is not None and self.ledger is None:
            raise HedgerowError("rows in a database have no ledger beside them: name theirs with --ledger")
        return find_ledger(self.data, self.ledger)

    @property
    def database(self) -> LedgerUrl | None:
        """The database that the rows are in, where it was said which of its rows are meant."""
        url = LedgerUrl.of(self.data)
        if self.table is None and self.query is None:
            return None
        if url is None:
            raise HedgerowError("--table and --query are for rows in a database: postgresql://...")
        return url

    def refuse_unsaid(self) -> None:
        """Refuse a database of which it was not said, or said twice, which rows are meant."""
        twice = self.table is not None and self.query is not None
        if LedgerUrl.of(self.data) is not None and (twice or self.database is None):
            raise HedgerowError("say which rows of the database are meant: with --table, or with --query")

    @property
    def called(self) -> str:
        """What the data are called: never an address, which may hold a password."""
        return self.table or ("query" if self.query is not None else shown(self.data))

    @property
    def domain(self) -> Domain:
        """What the schema declares, if its owner stands by it."""
        return Schema.load(self.schema_file).confirmed_domain()

    @property
    def schema_file(self) -> Path:
        """The schema file: the one that was named, or the one beside the data or in the working folder."""
        return self.schema or schema_beside(self.data)

    @property
    def said(self) -> dict[str, Any]:
        """What was said of how a CSV file is read: drafts go by that alone."""
        return {"encoding": self.encoding, "delimiter": self.delimiter, "multiline": self.multiline}

    @property
    def reading(self) -> dict[str, Any]:
        """The same, and what its confirmed schema says."""
        return csv_reading(self.data, self.said, self.schema_file)

    @property
    def has_ledger(self) -> bool:
        """Whether there is a ledger."""
        return is_there(self.path)

    @property
    def ends(self) -> tuple[str | None, ...]:
        """The ends of a range of blocks, where one was named."""
        return () if self.first is None and self.last is None else (self.first, self.last)

    def left(self) -> tuple[Cost, Budget]:
        """What remains of the dataset's budget, for the blocks that are meant, and that budget."""
        if self.ends:
            with self._growing(self.domain) as (growing, ends):
                return growing.left(*ends).cost, growing.ledger.budget
        with Ledger.open(self.path, create=False) as ledger:
            return ledger.remaining(), ledger.budget

    def unfinished(self) -> str:
        """Half a sentence about releases that can be gone on with, or nothing."""
        with Ledger.open(self.path, create=False) as ledger:
            return runs.words(ledger)

    def settings(self, epsilon: str | float | None) -> Settings:
        """The ledger's settings, or those that a new one will have.

        Args:
            epsilon: of the budget that is made when there is none yet; none is made if None.
        """
        if self.has_ledger:
            with Ledger.open(self.path, create=False) as ledger:
                return ledger.settings
        refuse_missing(self.data, self.ledger)
        if epsilon is None or self.require_budget:
            refuse_unnamed(self.data, self.path)
            also = "" if self.require_budget else "say --epsilon, or "
            raise HedgerowError(
                f"the data {self.called!r} has no budget yet, there is no {self.path}: {also}"
                "make one with `hedgerow budget init`, or name its ledger with --ledger"
            )
        budget = make_budget(epsilon, self.delta)
        try:
            return Settings("", budget, self.neighbours or "add_remove", self.unit, self.max_rows or 1)
        except ValueError as error:
            raise HedgerowError(str(error)) from None

    def open(
        self, domain: Domain, epsilon: str | float | None, step: Step | None = None, *, later: bool = False
    ) -> tuple[Settings, Table]:
        """The dataset's settings, and its rows read in their way.

        Args:
            domain: the confirmed schema's.
            epsilon: as in `settings`.
            step: told how far reading is.
            later: where there is a ledger, look into the file only when rows are needed.
        """
        from hedgerow.curator.rows.table import Table
        from hedgerow.curator.rows.unit_ids import EARLIER

        self.refuse_unsaid()
        known = self.settings(epsilon)
        unit, max_rows = self._whom(known, epsilon)
        if known.growing is not None:
            if self.same_rows:
                raise HedgerowError("--same-rows is for a file that was written again; blocks never change")
            return known, self._blocks(domain)
        if self.ends:
            raise HedgerowError("--from and --to are for data that grow, and these are one table")
        unit_type = EARLIER if unit and known.spelling == 1 else known.unit_type
        if domain.tables and (tables := self.tables):
            return known, self._joined(domain, tables, unit, max_rows, unit_type)
        if self.database is not None:
            table = Table.open(self._facts(unit), domain, unit=unit, max_rows=max_rows, unit_type=unit_type)
            return known, table
        table = Table.open(
            self.data,
            domain,
            unit=unit,
            max_rows=max_rows,
            unit_type=unit_type,
            **self.reading,
            watch=None if step is None else lambda part: step("Reading rows", part),
            same_rows=self.same_rows,
            later=later and self.has_ledger,
        )
        return known, table

    @property
    def tables(self) -> tuple[JoinedTable, ...]:
        """The tables that the schema joins to the data."""
        file = self.schema_file
        return Schema.load(file).tables if file.exists() else ()

    def _joined(
        self,
        domain: Domain,
        tables: tuple[JoinedTable, ...],
        unit: str | None,
        max_rows: int | None,
        unit_type: str | None,
    ) -> Table:
        """The facts with the tables beside them; the ledger is that of the facts."""
        from hedgerow.curator.rows.star import StarEngine
        from hedgerow.curator.rows.table import Table

        star = StarEngine(self._facts(unit), unit, tables, unit_type=unit_type, **self.reading)
        table = Table.open(star, domain, unit=unit, max_rows=max_rows, unit_type=unit_type)
        if self.database is None:
            table.named, table.location = self.data.absolute(), self.data.resolve()
        table.same_rows = self.same_rows
        return table

    def _facts(self, unit: str | None) -> Any:
        """The rows: the file, or what reads them in their database."""
        from hedgerow.curator.rows.postgres import PostgresEngine

        url = self.database
        if url is None:
            return self.data
        if self.encoding or self.delimiter or self.multiline:
            raise HedgerowError("--encoding, --delimiter and --multiline are for CSV files: leave them out")
        return PostgresEngine(url.text, table=self.table, query=self.query, unit=unit)

    def known_as(self) -> Path | Data | None:
        """What a ledger notes of where the rows are, so that it is known that they have one."""
        if self.database is None:
            return self.data
        which = self._facts(self.unit).identity
        return None if which is None else Data.table(*which)

    def refuse_no_unit(self) -> None:
        """Refuse a column that names nobody in the database, before a budget is bound to it."""
        names = self._facts(self.unit).schema().names
        if self.unit is not None and self.unit not in names:
            raise HedgerowError(f"there is no column {self.unit!r} in {self.called!r}")

    def _blocks(self, domain: Domain) -> Table:
        """The blocks of data that grow, or a range of them: what is asked is charged to each."""
        with self._growing(domain) as (growing, ends):
            self.tell(growing.words)
            return growing.table(*ends)

    @contextmanager
    def _growing(self, domain: Domain) -> Iterator[tuple[Growing, tuple[int | None, int | None]]]:
        """The data that grow, and the numbers of the range's ends."""
        from hedgerow.curator.growing.growing import Growing
        from hedgerow.curator.growing.lasting import numbered

        growing = Growing.open(self.data, domain, ledger=self.path, older_than_receipt=self.older)
        with growing.ledger:
            known = growing.blocks
            yield growing, (numbered(known, self.first, last=False), numbered(known, self.last, last=True))

    def refuse_put_back(self, out: Path | None = None) -> None:
        """Refuse a ledger that is older than what was charged to it, and a new one in place of a lost one.

        Args:
            out: a folder that may hold an earlier release.
        """
        for option, reason in (("--new-ledger", self.new_ledger), ("--older-than-receipt", self.older)):
            if reason is not None and not reason.strip():
                raise HedgerowError(f"{option} needs a reason, which is kept in the ledger")
        if self.has_ledger and self.new_ledger is not None:
            raise LedgerError(f"there is a ledger at {self.path} already: leave --new-ledger out")
        if not self.has_ledger and self.new_ledger is None:
            witness.refuse_new(self.path, self.receipts(out))
        elif self.has_ledger and self.older is None:
            with Ledger.open(self.path, create=False) as ledger:
                witness.refuse_older(ledger, self.receipts(out))

    @contextmanager
    def curator(self, table: Table, known: Settings, out: Path | None = None) -> Iterator[Curator]:
        """The curator of the rows, until the ledger is closed; what it says then is noted outside it.

        Args:
            table, known: as `open` gave them.
            out: as in `refuse_put_back`.
        """
        from hedgerow.curator.curator import Curator

        new = not self.has_ledger
        curator = Curator(table, known.budget, self.path, known.neighbours, new_ledger=self.new_ledger)
        with curator.ledger as ledger:
            if new:
                budget = amount(ledger.budget)
                self.tell(f"A new budget of {budget} was made for {self.called!r}, in {self.path}")
            elif self.older is not None:
                witness.excuse_older(ledger, self.receipts(out), self.older.strip())
            try:
                yield self._for_range(curator) if self.ends else curator
            finally:
                for file in self.receipts():
                    with suppress(HedgerowError, OSError):  # a help, which must not hold up what was paid for
                        witness.note(ledger, file)

    def _for_range(self, curator: Curator) -> Curator:
        """The curator that pays for a range of blocks alone."""
        from hedgerow.curator.growing.lasting import range_account

        return curator.child(range_account(curator.ledger, curator.table))

    def receipts(self, out: Path | None = None) -> list[Path]:
        """Where receipts lie: in a release's folder, beside the ledger, beside the data."""
        places = [ledger_path(self.data)] if self.data.exists() else []
        if not isinstance(path := self.path, LedgerUrl):
            places = [path, *places]
        notes = dict.fromkeys(map(witness.note_path, places))
        return [*([] if out is None else [out / witness.RECEIPT]), *notes]

    def _whom(self, known: Settings, epsilon: str | float | None) -> tuple[str | None, int | None]:
        """Whose rows are bounded: the ledger's unit unless said; what it does not protect is refused."""
        if self.delta is not None and make_budget(1, self.delta).delta_exact != known.budget.delta_exact:
            raise LedgerError(f"the dataset's budget has delta {known.budget.delta:g}, not {self.delta}")
        if epsilon is not None:
            make_budget(epsilon, 0)
        if self.neighbours not in (None, known.neighbours):
            raise LedgerError(f"the dataset's ledger was made for neighbours {known.neighbours!r}")
        if self.unit not in (None, known.unit) and self.max_rows is not None:
            whom = f"each {known.unit!r}" if known.unit else "each row"
            raise LedgerError(f"the dataset's ledger protects {whom}, so --unit cannot be {self.unit!r}")
        if self.unit is None and self.max_rows is None:
            return (known.unit, known.max_rows) if known.unit is not None else (None, None)
        return self.unit, self.max_rows
