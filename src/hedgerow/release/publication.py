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
from hedgerow.release import catalogue, runs
from hedgerow.release.numerals import amount, rest, small, used_up
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
    """What a release left behind.

    Args:
        synopsis: the release.
        folder, files: where it was written.
        synthetic: how many synthetic rows there are.
        workload: what it answers well.
        error: the mean error that it states for that, in rows; None if it states none.
        resumed: whether it went on with one that was not finished.
    """

    synopsis: Synopsis
    folder: Path
    files: tuple[str, ...]
    synthetic: int | None
    workload: str
    error: float | None = None
    resumed: bool = False


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
            with curator.ledger as ledger:
                synopsis, resumed = self._release(curator, offer, asked, told)
                published = self._write(synopsis, asked)
                if "run" in told:
                    runs.save(ledger, told["run"])
                return replace(published, resumed=resumed)
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
        return known, self._as_ledger_says(known)._open(domain, known)

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
    ) -> tuple[Synopsis, bool]:
        """Charge and release; one that was charged but not saved before is taken up again, free."""
        own = {k: v for k, v in told.items() if k != "prior"}
        options = {k: v for k, v in told.items() if k == "prior"}
        if "run" in offer.takes:
            told["run"] = own["run"] = self._run(curator.ledger, curator.domain.fingerprint)
        if "watch" in offer.takes:
            options["watch"] = self._watch
        mechanism = offer.make(epsilon=self.epsilon, **own)
        begun = "run" in own and mechanism.begun(curator)
        try:
            if begun and self.anew:
                self._afford_anew(curator, own["run"])
                mechanism.abandon(curator)
                runs.save(curator.ledger, own["run"], "left unfinished by its owner")
                told["run"] = own["run"] = self._run(curator.ledger, curator.domain.fingerprint)
                mechanism, begun = offer.make(epsilon=self.epsilon, **own), False
            ledger = curator.ledger
            if self.epsilon is None and not begun and used_up(ledger.remaining(), ledger.budget):
                raise BudgetExceeded(f"nothing remains of the dataset's budget, {amount(ledger.budget)}")
            self.step("Reading rows", 0.0)
            return mechanism.release(curator, asked, **options), begun
        except BudgetExceeded as error:
            if held := runs.words(curator.ledger):
                raise BudgetExceeded(f"{str(error).rstrip('.')}; {held}") from None
            raise

    def _afford_anew(self, curator: Curator, run: str) -> None:
        """Refuse what could not be paid even with what the unfinished release gives back; it then stays."""
        ledger, back = curator.ledger, [u.free for u in runs.unfinished(curator.ledger) if u.run == run]
        room = sum(back, ledger.remaining())
        asks = room if self.epsilon is None else curator.price(self.epsilon)
        if not asks <= room or used_up(room, ledger.budget):
            raise BudgetExceeded(
                f"a new release needs {amount(ledger.budget.part(asks), ledger.budget)}, and with what the "
                f"unfinished one gives back there is {rest(room, ledger.budget)}, so that one is kept"
            )

    def _run(self, ledger: Ledger, about: str) -> str:
        """A name for this release: an earlier one's of the same plan, if its files were not all written."""
        prior = self.prior.read_bytes() if self.prior else b""
        plan = repr((about, str(self.epsilon), self.workload, self.mechanism, self.objective, self.seconds,
                     self.memory, sha256(prior).hexdigest()))  # fmt: skip
        return runs.first_unsaved(ledger, sha256(plan.encode()).hexdigest()[:16])

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
        if not self.data.exists():
            raise HedgerowError(f"there is no file {str(self.data)!r}")
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

    def _open(self, domain: Domain, known: Settings) -> Table:
        from hedgerow.curator.table import Table
        from hedgerow.curator.unit_ids import EARLIER

        return Table.open(
            self.data,
            domain,
            unit=self.unit,
            max_rows=self.max_rows,
            unit_type=EARLIER if self.unit and known.spelling == 1 else known.unit_type,
            encoding=self.encoding,
            delimiter=self.delimiter,
            watch=lambda part: self.step("Reading rows", part),
            same_rows=self.same_rows,
        )

    def _make_room(self) -> bool:
        """See that the folder can be written and holds no earlier release; says whether it was made."""
        there = self.out.is_dir()
        for path in (self.out / name for name in FILES):
            if path.exists() and path.samefile(self.data):
                raise HedgerowError(f"the data {str(path)!r} would be written over: choose another --out")
            refuse_existing(path, force=self.force)
        writable(self.out)
        return not there

    def _write(self, synopsis: Synopsis, asked: Workload) -> Published:
        from hedgerow.release.report import ABOUT, Report
        from hedgerow.release.rows import write_rows
        from hedgerow.release.views import mean_error

        files, count = ["synopsis.hedgerow", "report.html", "receipt.json"], None
        with tempfile.TemporaryDirectory(dir=self.out, prefix=".hedgerow-") as made:
            folder = Path(made)
            synopsis.save(folder / "synopsis.hedgerow")
            write_receipt(synopsis, folder / "receipt.json")
            if "sample" in synopsis.can:
                count = max(0, round(synopsis.total)) if self.rows is None else self.rows
                write_rows(synopsis, count, folder / "synthetic.csv", step=self.step)
                files.insert(1, "synthetic.csv")
            self.step("Drawing the report", None)
            about = self.about or ABOUT
            report = Report(synopsis, self.data.name, self.ask(synopsis), about, synthetic=count)
            report.write(folder / "report.html")
            error = mean_error(synopsis, asked)
            for name in files:  # a folder that was interrupted holds nothing that is in the way
                (folder / name).replace(self.out / name)
        return Published(synopsis, self.out, tuple(files), count, asked.name, error)


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


def refuse_existing(path: Path, *, force: bool, option: str = "--out") -> None:
    """Refuse to write over a file unless it is forced; data with a budget, and ledgers, whatever is said."""
    folders = path.resolve().parents[:-1] if path.suffix == ".parquet" else ()
    if SUFFIX in path.name or any(os.path.lexists(ledger_path(p)) for p in (path, *folders)):
        raise HedgerowError(
            f"the file {str(path)!r} is data with a budget, or a ledger: it is not written over"
        )
    if path.is_file() and not force:
        raise HedgerowError(
            f"the file {str(path)!r} is there already: choose another {option}, or --force to replace it"
        )


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
