"""Publication: one release, from a data file to files on disk; what can fail early fails uncharged."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import (
    BudgetExceeded,
    DomainMismatch,
    HedgerowError,
    UnsupportedQuery,
)
from hedgerow.mechanisms.mechanism import finite
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.rational import exact
from hedgerow.release import catalogue, folder, package
from hedgerow.release.numerals import amount, rest, used_up
from hedgerow.release.plan.recommended import recommend
from hedgerow.release.writing import naming, put, refuse_existing, same_file, writable
from hedgerow.service import runs, witness
from hedgerow.service.dataset import Dataset, Step, make_budget
from hedgerow.service.learning import watching
from hedgerow.service.prospect import Prospect, loose_words, measured_rows

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.card import Card
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.entry import Settings
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload
    from hedgerow.release.report.report import AnsweredQuestion
    from hedgerow.synopsis import Synopsis

FILES = (
    "synopsis.hedgerow",
    "synthetic.csv",
    "synthetic.parquet",
    "report.html",
    witness.RECEIPT,
    folder.TABLES,
)
_WISHES = ("objective", "seconds", "memory", "prior")
_AGAIN = "then give the same command again{}: it goes on, and nothing is paid twice"


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
        why: why `auto` chose this mechanism; empty where it was named.
    """

    synopsis: Synopsis
    folder: Path
    files: tuple[str, ...]
    synthetic: int | None
    workload: str
    error: float | None = None
    resumed: bool = False
    why: str = ""


@dataclass(frozen=True)
class Publication:
    """A release to be made of a dataset.

    Args:
        dataset: the rows, their schema and their ledger.
        out: the folder for what is released.
        epsilon: what this release spends, also of a budget that is made for it; all that remains if None.
        workload: what the release should answer well, see `catalogue.workload`.
        mechanism: a name in the catalogue, or `auto`.
        objective, seconds, memory, prior: how a mechanism that learns should do so, see `AdaptiveRelease`;
            `prior` is the file of a synopsis of public data.
        rows: how many synthetic rows to draw; as many as the released total if None.
        expected: about how many rows there are, as anybody may know; for what is said before spending.
        anyway: spend it although it buys noise alone.
        force: replace an earlier release in the same folder.
        anew: do not go on with a release of the same plan that was not finished; leave it and pay anew.
        about: a sentence for the report.
        ask: questions to put to the release and show in the report.
        step: told what is being done, and how far it is.
        foretell: told what the price buys, before it is spent; that it is nothing is told to the dataset's.
    """

    dataset: Dataset
    out: Path
    epsilon: str | float | None = None
    workload: str = "marginals:2"
    mechanism: str = catalogue.AUTO
    objective: str | None = None
    seconds: float | None = None
    memory: float | None = None
    prior: Path | None = None
    rows: int | None = None
    expected: int | None = None
    anyway: bool = False
    force: bool = False
    anew: bool = False
    about: str | None = None
    ask: Callable[[Synopsis], Sequence[AnsweredQuestion]] = field(default=lambda synopsis: (), repr=False)
    step: Step = field(default=lambda words, part: None, repr=False)
    foretell: Callable[[str], Any] = field(default=lambda words: None, repr=False)

    def publish(self) -> Published:
        """Check, charge, write."""
        from hedgerow.curator.rows.csv_rows import unread_in

        domain = self.dataset.domain
        asked = catalogue.workload(domain, self.workload)
        known, table = self.dataset.open(domain, self.epsilon, self.step)
        if words := unread_in(table):  # an exact number: for whoever releases, never for whoever asks
            self.dataset.tell(words)
        prior = None if self.prior is None else _public(self.prior, domain)
        plan = self._plan(domain)
        begun, rows = self._begun(plan)
        if not self.anyway and begun is None:  # else it goes on with what it has paid for
            self._refuse_noise(domain, asked, known, rows)
        offer, why = self._offer(domain, asked, known, begun, rows)
        catalogue.refuse(offer, domain, asked, known)
        told = self._told(offer, prior)
        self.dataset.refuse_put_back(self.out)
        made = self._make_room(plan)
        try:
            with self.dataset.curator(table, known, self.out) as curator:
                said = f"auto chose {offer.name}: {why}" if why else ""
                synopsis, resumed = self._release(curator, offer, asked, told, plan, said)
                again = _AGAIN.format(" without --anew" if self.anew else "")
                with naming(self.out, again if "run" in told else None):
                    published = self._write(synopsis, asked, told.get("run"))
                if "run" in told:
                    runs.save(curator.ledger, told["run"])
                    runs.forget_files(self.out)
                return replace(published, resumed=resumed, why=why)
        except BaseException:
            if made:
                with suppress(OSError):
                    self.out.rmdir()
            raise

    def _begun(self, plan: str) -> tuple[Card | None, float | None]:
        """The mechanism of an unfinished release that is gone on with, else the rows as far as is public."""
        rows = None if self.expected is None else float(self.expected)
        if not self.dataset.has_ledger:
            return None, rows
        with Ledger.open(self.dataset.path, create=False) as ledger:
            if (begun := runs.begun_by(ledger, plan)) and not self.anew:
                return begun, rows
            return None, measured_rows(ledger) if rows is None else rows

    def _offer(
        self, domain: Domain, asked: Workload, known: Settings, begun: Card | None, rows: float | None
    ) -> tuple[Card, str]:
        """The mechanism that was named; `auto` is what a plan of this release recommends, and why.

        A release that was begun goes on by its own mechanism, whatever would be recommended now.
        """
        if self.mechanism != catalogue.AUTO:
            return catalogue.mechanism(self.mechanism), ""
        if begun is not None:
            return begun, "it was begun by it"
        spends = known.budget
        if self.epsilon is not None:
            spends = make_budget(self.epsilon, spends.delta_exact)
        wishes = frozenset(w for w in _WISHES if getattr(self, w) is not None)
        found = recommend(domain, asked, spends, known.privacy, rows, takes=wishes, step=self.step)
        return found.card, found.why

    def _refuse_noise(self, domain: Domain, asked: Workload, known: Settings, rows: float | None) -> None:
        """Refuse a price that buys noise alone; of public numbers only, before a ledger is made."""
        budget = known.budget

        def price_of(epsilon: str | float) -> Cost:
            return make_budget(epsilon, budget.delta_exact).cost

        price = budget.cost if self.epsilon is None else price_of(self.epsilon)
        Prospect.of(domain, asked, known.privacy, price, rows).refuse_noise(price_of)

    def _foretell(self, curator: Curator, asked: Workload, why: str) -> None:
        """Say why by this mechanism, and what the price buys, before it is spent; of public numbers only.

        What is refused is not told.
        """
        price, budget = curator.price(self.epsilon), curator.ledger.budget
        if not price <= curator.left or not price.amount:
            return
        if why:
            self.foretell(why)
        if words := loose_words(budget, None if self.epsilon is None else float(exact(self.epsilon))):
            self.dataset.tell(words)
        rows = measured_rows(curator.ledger) if self.expected is None else self.expected
        found = Prospect.of(finite(curator), asked, curator.privacy, price, rows)
        (self.dataset.tell if found.useless else self.foretell)(found.words[0].upper() + found.words[1:])

    def _told(self, offer: Card, prior: Synopsis | None) -> dict[str, Any]:
        """What the mechanism is told beyond its price; what it would not understand is refused."""
        given = {k: getattr(self, k) for k in _WISHES if getattr(self, k) is not None}
        for name in given:
            if name not in offer.takes:
                raise UnsupportedQuery(f"{offer.name} does not learn: it takes no --{name}")
        if self.objective not in (None, "mean", "max"):
            raise UnsupportedQuery(f"the objective is mean or max, not {self.objective!r}")
        if "prior" in given:
            given["prior"] = prior
        return given

    def _release(
        self, curator: Curator, offer: Card, asked: Workload, told: dict[str, Any], plan: str, why: str
    ) -> tuple[Synopsis, bool]:
        """Charge and release; one that was charged but not saved before is taken up again, free."""
        own = {k: v for k, v in told.items() if k != "prior"}
        options = {k: v for k, v in told.items() if k == "prior"}
        if "run" in offer.takes:
            told["run"] = own["run"] = runs.first_unsaved(curator.ledger, plan)
        if "watch" in offer.takes:
            options["watch"] = watching(self.step)
        mechanism = offer.make(epsilon=self.epsilon, **own)
        begun = "run" in own and mechanism.begun(curator)
        try:
            if begun and self.anew:
                self._afford_anew(curator, own["run"])
                mechanism.abandon(curator)
                runs.save(curator.ledger, own["run"], "left unfinished by its owner")
                told["run"] = own["run"] = runs.first_unsaved(curator.ledger, plan)
                mechanism, begun = offer.make(epsilon=self.epsilon, **own), False
            ledger = curator.ledger
            if self.epsilon is None and not begun and used_up(curator.left, ledger.budget):
                raise BudgetExceeded(f"nothing is left of the dataset's budget, {amount(ledger.budget)}")
            if not begun:
                self._foretell(curator, asked, why)
            self.step("Reading rows", 0.0)
            return mechanism.release(curator, asked, **options), begun
        except BudgetExceeded as error:
            if held := runs.words(curator.ledger):
                raise error.worded(f"{str(error).rstrip('.')}; {held}") from None
            raise

    def _afford_anew(self, curator: Curator, run: str) -> None:
        """Refuse what could not be paid even with what the unfinished release gives back; it then stays."""
        ledger, back = curator.ledger, [u.free for u in runs.unfinished(curator.ledger) if u.run == run]
        room = sum(back, curator.left)
        asks = room if self.epsilon is None else curator.price(self.epsilon)
        if not asks <= room or used_up(room, ledger.budget):
            raise BudgetExceeded(
                f"a new release needs {amount(ledger.budget.part(asks), ledger.budget)}, and with what the "
                f"unfinished one gives back there is {rest(room, ledger.budget)}, so that one is kept"
            )

    def _plan(self, domain: Domain) -> str:
        """A name for what is to be done: releases of one plan are told apart by their numbers."""
        prior = self.prior.read_bytes() if self.prior else b""
        plan = repr((domain.fingerprint, str(self.epsilon), self.workload, self.mechanism, self.objective,
                     self.seconds, self.memory, sha256(prior).hexdigest(), *self.dataset.ends))  # fmt: skip
        return sha256(plan.encode()).hexdigest()[:16]

    def _make_room(self, plan: str) -> bool:
        """See that the folder can be written and holds no earlier release; says whether it was made.

        Files that an unfinished release of the same plan gave their names before it was stopped are its own.
        """
        mine = runs.own_files(self.out, self.dataset, plan)
        there, own = self.out.is_dir(), (self.dataset.data, self.dataset.path)
        for path in (self.out / name for name in FILES):
            if any(same_file(path, kept) for kept in own):
                raise HedgerowError(
                    f"the data, or their ledger, {str(path)!r} would be written over: choose another --out"
                )
            refuse_existing(path, force=self.force or path in mine)
        writable(self.out)
        return not there

    def _write(self, synopsis: Synopsis, asked: Workload, run: str | None) -> Published:
        from hedgerow.release.report.report import ABOUT, Report
        from hedgerow.release.report.views import mean_error
        from hedgerow.release.rows import write_rows

        files, count = ["synopsis.hedgerow", "report.html", "receipt.json"], None
        with tempfile.TemporaryDirectory(dir=self.out, prefix=".hedgerow-") as made:
            drafts = Path(made)
            synopsis.save(drafts / "synopsis.hedgerow")
            write_receipt(synopsis, drafts / "receipt.json")
            if "sample" in synopsis.can:
                count = max(0, round(synopsis.total)) if self.rows is None else self.rows
                rows, also = drafts / "synthetic.csv", drafts / "synthetic.parquet"
                write_rows(synopsis, count, rows, parquet=also, step=self.step)
                files[1:1] = ["synthetic.csv", "synthetic.parquet"]
            self.step("Drawing the report", None)
            about = self.about or ABOUT
            report = Report(synopsis, self.dataset.called, self.ask(synopsis), about, synthetic=count)
            report.write(drafts / "report.html")
            error = mean_error(synopsis, asked)
            files += self._beside(synopsis, drafts, files)
            if run is not None:
                runs.note_files(self.out, run, [drafts / name for name in files])
            for name in files:  # a folder that was interrupted holds nothing that is in the way
                put(drafts / name, self.out / name)
        return Published(synopsis, self.out, tuple(files), count, asked.name, error)

    def _beside(self, synopsis: Synopsis, made: Path, files: list[str]) -> list[str]:
        """What makes the folder readable without Hedgerow; files of other people stay as they are."""
        also: list[str] = []
        if folder.write_tables(synopsis, made / folder.TABLES):
            also.append(folder.TABLES)
        if folder.has_schema(synopsis) and folder.is_ours(self.out / folder.SCHEMA):
            folder.write_schema(synopsis, made / folder.SCHEMA)
            also.append(folder.SCHEMA)
        described = [package.NAME] if package.is_ours(self.out / package.NAME) else []
        if folder.is_ours(self.out / folder.README):
            told = [*files, *also, *described]
            folder.write_readme(synopsis, self.dataset.called, told, made / folder.README)
            also.append(folder.README)
        if described:
            package.write_package(synopsis, self.dataset.called, made, [*files, *also])
        return [*also, *described]


def _public(path: Path, domain: Domain) -> Synopsis:
    """A synopsis of public data to start from, over the same domain."""
    from hedgerow.synopsis import Synopsis

    prior = Synopsis.load(path)
    if prior.domain != domain or "table" not in prior.can:
        raise DomainMismatch("the prior must hold tables over the same attributes and levels as the schema")
    return prior


def write_receipt(synopsis: Synopsis, path: Path) -> None:
    """The ledger's receipt at the time of release, as JSON, with a sentence for people."""
    receipt = synopsis.receipt
    path.write_text(json.dumps(receipt.to_json() | {"words": receipt.describe()}, indent=1) + "\n", "utf-8")
