"""Publication: one release, from a data file to files on disk; what can fail early fails uncharged."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.errors import (
    BudgetExceeded,
    DomainMismatch,
    HedgerowError,
    LedgerError,
    RangeTooLarge,
    UnsupportedQuery,
)
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger import Ledger, Settings
from hedgerow.privacy.rational import exact
from hedgerow.release import catalogue
from hedgerow.release.numerals import amount, small, used_up
from hedgerow.release.schema import Schema

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.table import Table
    from hedgerow.queries.domain import Domain
    from hedgerow.queries.workload import Workload
    from hedgerow.release.report import Asked
    from hedgerow.synopsis import Synopsis

SUFFIX = ".hedgerow.db"
DELTA = "1e-9"
_LEAST, _MOST, _LEAST_DELTA = 1e-9, 1_000_000, 1e-30
_SUCH = {"epsilon": "0.5", "delta": "1e-9"}
FILES = ("synopsis.hedgerow", "synthetic.csv", "report.html", "receipt.json")

Step = Callable[[str, float | None], None]
"""Told what is being done and how far it is, from 0 to 1 (None: unknown)."""


def ledger_path(data: str | os.PathLike[str]) -> Path:
    """Where a dataset's ledger is: beside the data, whatever links lead there; a ledger's path is itself."""
    path = Path(data)
    text = str(path.resolve() if path.is_symlink() or not path.name else data)
    return Path(text if text.endswith(SUFFIX) else f"{text.rstrip('/')}{SUFFIX}")


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
class Published:
    """What a release left behind."""

    synopsis: Synopsis
    folder: Path
    files: tuple[str, ...]
    synthetic: int | None
    workload: str


@dataclass(frozen=True)
class Publication:
    """A release to be made of a data file.

    Args:
        data: the CSV or Parquet file.
        schema: the schema file.
        out: the folder for what is released.
        epsilon: what this release spends; all that remains if None.
        delta: of the budget that is made when there is none yet.
        workload: what the release should answer well, see `catalogue.workload`.
        mechanism: a name in the catalogue, or `auto`.
        unit, max_rows, neighbours: whom to protect; what the dataset's ledger says if None.
        objective, seconds, memory, prior: how a mechanism that learns should do so, see `AdaptiveRelease`;
            `prior` is the file of a synopsis of public data.
        rows: how many synthetic rows to draw; as many as the released total if None.
        encoding, delimiter: of a CSV file.
        force: replace an earlier release in the same folder.
        anew: do not go on with a release of the same plan that was not finished; leave it and pay anew.
        same_rows: go on with one although the data file was written again.
        about: a sentence for the report.
        ask: questions to put to the release and show in the report.
        step: told what is being done, and how far it is.
    """

    data: Path
    schema: Path
    out: Path
    epsilon: str | float | None = None
    delta: str | float | None = None
    workload: str = "marginals:2"
    mechanism: str = catalogue.AUTO
    unit: str | None = None
    max_rows: int | None = None
    neighbours: Literal["add_remove", "replace"] | None = None
    objective: str | None = None
    seconds: float | None = None
    memory: float | None = None
    prior: Path | None = None
    rows: int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    force: bool = False
    anew: bool = False
    same_rows: bool = False
    about: str | None = None
    ask: Callable[[Synopsis], Sequence[Asked]] = field(default=lambda synopsis: (), repr=False)
    step: Step = field(default=lambda words, part: None, repr=False)

    def publish(self) -> Published:
        """Check, charge, write."""
        from hedgerow.curator.curator import Curator

        domain = Schema.load(self.schema).confirmed_domain()
        asked = catalogue.workload(domain, self.workload)
        known, table = self.dataset(domain)
        offer = catalogue.mechanism(self.mechanism, known.budget, asked)
        if why := offer.refuses(known, domain):
            raise UnsupportedQuery(why)
        told = self._told(offer, domain)
        if offer.counts_all:
            _check_size(asked, domain)
        made = self._make_room()
        try:
            curator = Curator(table, known.budget, ledger_path(self.data), known.neighbours)
            with curator.ledger:
                synopsis = self._release(curator, offer, asked, told)
                published = self._write(synopsis, asked)
                self._saved(curator.ledger, told.get("run"))
                return published
        except BaseException:
            if made:
                with suppress(OSError):
                    self.out.rmdir()
            raise

    def dataset(self, domain: Domain) -> tuple[Settings, Table]:
        """The dataset's settings - its ledger's, or those that a new ledger will have - and its rows.

        Args:
            domain: the confirmed schema's.
        """
        known = self._known()
        return known, self._as_ledger_says(known)._open(domain)

    def _told(self, offer: catalogue.Offer, domain: Domain) -> dict[str, Any]:
        """What the mechanism is told beyond its price; what it would not understand is refused."""
        wishes = ("objective", "seconds", "memory", "prior")
        given = {k: getattr(self, k) for k in wishes if getattr(self, k) is not None}
        for name in given:
            if name not in offer.takes:
                raise UnsupportedQuery(f"{offer.name} does not learn: it takes no --{name}")
        if self.objective not in (None, "mean", "max"):
            raise UnsupportedQuery(f"the objective is mean or max, not {self.objective!r}")
        if "prior" in given:
            given["prior"] = _public(given["prior"], domain)
        return given

    def _release(
        self, curator: Curator, offer: catalogue.Offer, asked: Workload, told: dict[str, Any]
    ) -> Synopsis:
        """Charge and release; one that was charged but not saved before is taken up again, free."""
        own = {k: v for k, v in told.items() if k != "prior"}
        options = {k: v for k, v in told.items() if k == "prior"}
        if "run" in offer.takes:
            told["run"] = own["run"] = self._run(curator.ledger, curator.domain.fingerprint)
        if "watch" in offer.takes:
            options["watch"] = self._watch
        mechanism = offer.make(epsilon=self.epsilon, **own)
        if self.anew and "run" in own and mechanism.begun(curator):
            mechanism.abandon(curator)
            self._saved(curator.ledger, own["run"], "left unfinished by its owner")
            told["run"] = own["run"] = self._run(curator.ledger, curator.domain.fingerprint)
            mechanism = offer.make(epsilon=self.epsilon, **own)
        begun = "run" in own and mechanism.begun(curator)
        if self.epsilon is None and not begun and used_up(curator.ledger.remaining(), curator.ledger.budget):
            raise BudgetExceeded(f"nothing remains of the dataset's budget, {amount(curator.ledger.budget)}")
        self.step("Reading rows", 0.0)
        released: Synopsis = mechanism.release(curator, asked, **options)
        return released

    def _run(self, ledger: Ledger, about: str) -> str:
        """A name for this release: an earlier one's of the same plan, if its files were not all written."""
        prior = self.prior.read_bytes() if self.prior else b""
        plan = repr((about, str(self.epsilon), self.workload, self.mechanism, self.objective, self.seconds,
                     self.memory, sha256(prior).hexdigest()))  # fmt: skip
        name, number = sha256(plan.encode()).hexdigest()[:16], 0
        while ledger.recall(f"release {name} {number}: saved", name) is not None:
            number += 1
        return f"release {name} {number}"

    def _saved(
        self, ledger: Ledger, run: str | None, note: str = "all files of the release are written"
    ) -> None:
        """From now on the same plan is another release."""
        if run is not None:
            ledger.record(request=f"{run}: saved", question=run.split()[1], note=note)

    def _watch(self, progress: Any) -> None:
        """Tell how far a model is, and how far off it still seems."""
        about = "" if progress.error is None else f": tables about {progress.error:.1%} off"
        self.step(f"Learning{about}", progress.step / max(progress.steps, 1))

    def _known(self) -> Settings:
        """The dataset's settings: its ledger's, or those that a new ledger will have."""
        path = ledger_path(self.data)
        if os.path.lexists(path):
            with Ledger.open(path, create=False) as ledger:
                return ledger.settings
        if self.epsilon is None:
            raise HedgerowError(
                f"the data {self.data.name!r} has no budget yet: say --epsilon, or make one with "
                "`hedgerow budget init`"
            )
        budget = make_budget(self.epsilon, self.delta)
        try:
            return Settings("", budget, self.neighbours or "add_remove", self.unit, self.max_rows or 1)
        except ValueError as error:
            raise HedgerowError(str(error)) from None

    def _as_ledger_says(self, known: Settings) -> Publication:
        """This release with the dataset's unit; a delta that is not the budget's is refused."""
        if self.delta is not None and make_budget(1, self.delta).delta_exact != known.budget.delta_exact:
            raise LedgerError(f"the dataset's budget has delta {known.budget.delta:g}, not {self.delta}")
        if self.epsilon is not None:
            make_budget(self.epsilon, 0)
        if self.neighbours not in (None, known.neighbours):
            raise LedgerError(f"the dataset's ledger was made for neighbours {known.neighbours!r}")
        if self.unit not in (None, known.unit) and self.max_rows is not None:
            whom = f"each {known.unit!r}" if known.unit else "each row"
            raise LedgerError(f"the dataset's ledger protects {whom}, so --unit cannot be {self.unit!r}")
        if self.unit is None and self.max_rows is None and known.unit is not None:
            return replace(self, unit=known.unit, max_rows=known.max_rows)
        return self

    def _open(self, domain: Domain) -> Table:
        from hedgerow.curator.table import Table

        return Table.open(
            self.data,
            domain,
            unit=self.unit,
            max_rows=self.max_rows,
            encoding=self.encoding,
            delimiter=self.delimiter,
            watch=lambda part: self.step("Reading rows", part),
            same_rows=self.same_rows,
        )

    def _make_room(self) -> bool:
        """See that the folder can be written and holds no earlier release; says whether it was made."""
        there = self.out.is_dir()
        if there and not self.force and (old := [n for n in FILES if (self.out / n).exists()]):
            raise HedgerowError(
                f"the file {str(self.out / old[0])!r} is there already: choose another --out, or --force to "
                "replace it"
            )
        writable(self.out)
        return not there

    def _write(self, synopsis: Synopsis, asked: Workload) -> Published:
        from hedgerow.release.report import ABOUT, Report
        from hedgerow.release.rows import write_rows

        files = ["synopsis.hedgerow", "receipt.json"]
        synopsis.save(self.out / "synopsis.hedgerow")
        write_receipt(synopsis, self.out / "receipt.json")
        count = None
        if "sample" in synopsis.can:
            count = max(0, round(synopsis.total)) if self.rows is None else self.rows
            write_rows(synopsis, count, self.out / "synthetic.csv", step=self.step)
            files.insert(1, "synthetic.csv")
        self.step("Drawing the report", None)
        report = Report(synopsis, self.data.name, self.ask(synopsis), self.about or ABOUT, synthetic=count)
        report.write(self.out / "report.html")
        files.insert(-1, "report.html")
        return Published(synopsis, self.out, tuple(files), count, asked.name)


def _public(path: Path, domain: Domain) -> Synopsis:
    """A synopsis of public data to start from, over the same domain."""
    from hedgerow.synopsis import Synopsis

    prior = Synopsis.load(path)
    if prior.domain != domain or "table" not in prior.can:
        raise DomainMismatch("the prior must hold tables over the same attributes and levels as the schema")
    return prior


def _check_size(asked: Workload, domain: Domain) -> None:
    """Refuse tables that no engine will count before a ledger is made for them."""
    from hedgerow.curator.table import CELL_LIMIT

    for clique in asked.cliques:
        if domain.cells(clique) > CELL_LIMIT:
            raise RangeTooLarge(f"the table {' x '.join(clique)} has {domain.cells(clique):,} cells")


def writable(folder: Path) -> None:
    """Make a folder if need be, and see that a file can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".hedgerow-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        said = (error.strerror or "no reason given").lower()
        raise HedgerowError(f"the folder {str(folder)!r} cannot be written: {said}") from None


def write_receipt(synopsis: Synopsis, path: Path) -> None:
    """The ledger's receipt at the time of release, as JSON, with a sentence for people."""
    receipt = synopsis.receipt
    path.write_text(json.dumps(receipt.to_json() | {"words": receipt.describe()}, indent=1) + "\n", "utf-8")
