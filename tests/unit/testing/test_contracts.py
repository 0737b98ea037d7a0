"""The contract suites: the house passes its own, and each suite fails on what is broken in one way."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import extending as ext
from hedgerow.curator.rows.memory import MemoryEngine
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.generators.linear_program import LinearProgram
from hedgerow.learning.learners.histogram_learner import HistogramLearner
from hedgerow.learning.learners.logistic_learner import LogisticLearner
from hedgerow.learning.learners.stump_learner import StumpLearner
from hedgerow.learning.sparse.sparse import SparseHypothesis
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore
from hedgerow.testing import contracts
from hedgerow.testing.contracts import BrokenContract
from hedgerow.testing.contracts.mechanism import DOMAIN, PURE
from hedgerow.testing.contracts.store import Walked

NUMBER = count()


def ids(check: contracts.Check) -> str:
    return check.name


class Counting(MemoryEngine):
    """An engine that counts where the rows are, and bounds units there."""

    def __init__(self, rows: pa.Table) -> None:
        super().__init__(rows)
        self.counted = 0

    def count_tables(self, domain: hr.Domain, cliques: Any, bound: ext.Bound | None) -> dict[Any, Any]:
        self.counted += 1
        names = [*domain.columns, *([bound.unit.column] if bound else [])]
        batches = list(self.batches(names))
        nothing = np.zeros((len(domain), 0), dtype=np.uint8)
        if bound is None:
            codes = np.concatenate([nothing, *(ext.coded(domain, b) for b in batches)], axis=1)
        else:
            codes = ext.kept(domain, batches, bound)[0]
        found = {}
        for clique in cliques:
            table = np.zeros(domain.shape_of(clique), dtype=np.int64)
            np.add.at(table, tuple(codes[domain.index(a)] for a in clique), 1)
            found[clique] = table if clique else np.array(codes.shape[1], dtype=np.int64)
        return found


def test_an_engine_that_counts_itself_keeps_the_contract() -> None:
    """Those of the house are in `tests/contract/test_engines.py`."""
    contracts.check_engine(Counting)


def test_an_engine_that_counts_is_asked_to_and_another_is_not() -> None:
    engine = Counting(pa.table({"a": [0, 1, 1], "who": [1, 2, 2]}))
    table = hr.Table.open(engine, hr.Domain({"a": 2}), unit="who", max_rows=1)
    curator = hr.Curator(table, hr.Budget(epsilon=100), ":memory:")
    assert curator.measure(("a",), 100).values.sum() in (1, 2, 3)
    assert engine.counted == 1


class LosesARow(MemoryEngine):
    def batches(self, columns):
        for batch in super().batches(columns):
            yield batch.slice(1) if batch.num_rows > 100 else batch


class Sorted(MemoryEngine):
    """Batches in another order of columns."""

    def batches(self, columns):
        return super().batches(sorted(columns))


class Quotes(MemoryEngine):
    def __repr__(self):
        return f"Quotes({self._table.slice(0, 1).to_pylist()})"


class ReadsOnce(MemoryEngine):
    def batches(self, columns):
        if getattr(self, "read", False):
            return iter(())
        self.read = True
        return super().batches(columns)


class CountsUnbounded(Counting):
    def count_tables(self, domain, cliques, bound):
        return super().count_tables(domain, cliques, None)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (LosesARow, "other counts"),
        (Sorted, "it gives the same integers"),
        (Quotes, "its repr quotes a value"),
        (ReadsOnce, r"another number of rows|other counts"),
        (CountsUnbounded, r"other counts \(rows turned round, with units\)"),
    ],
)
def test_a_broken_engine_is_found(broken, words):
    with pytest.raises(BrokenContract, match=words) as caught:
        contracts.check_engine(broken)
    assert str(caught.value).startswith("the contract of an engine, ")


def test_what_an_engine_raises_is_never_quoted():
    class Fails(MemoryEngine):
        def batches(self, columns):
            raise RuntimeError(f"row {self._table.slice(0, 1).to_pylist()}")

    curator = hr.Curator(
        hr.Table.open(Fails({"a": [1]}), hr.Domain({"a": 2})), hr.Budget(epsilon=1), ":memory:"
    )
    with pytest.raises(hr.SourceError, match=r"^the rows could not be read to their end$") as caught:
        curator.measure(("a",), 1)
    assert caught.value.__suppress_context__
    assert curator.spent.epsilon == 0


# ---- stores ----------------------------------------------------------------------------------------------


def sqlite(folder: Path) -> Any:
    def make():
        path = folder / f"{next(NUMBER)}.db"
        return lambda: path

    return make


@pytest.mark.parametrize("check", contracts.store_checks(lambda: lambda: ":memory:"), ids=ids)
def test_our_store_in_memory_keeps_the_contract(check):
    check()


def test_our_store_in_a_file_keeps_the_contract(tmp_path):
    contracts.check_store(sqlite(tmp_path))


def broken_store(folder: Path, **methods: Any) -> Any:
    """Our store in a file with some methods replaced."""

    def make():
        path = folder / f"{next(NUMBER)}.db"
        hr.Ledger.open(path, budget=hr.Budget(epsilon=1)).close()
        kind = type("Broken", (SQLiteStore,), methods)
        return lambda: kind(path)

    return make


def _forgets(self, line):
    SQLiteStore.append(self, line if line.state is None else replace(line, state=b""))


def _unlocked(self, durable=True):
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"append": _forgets}, "secret state was changed|not as it was written"),
        ({"requested": lambda self, request: None}, "request"),
        ({"last": lambda self, account, upto=None: SQLiteStore.last(self, account)}, r"last\("),
        ({"alone": _unlocked}, "alone"),
        ({"close": lambda self: None}, "after closing is not refused"),
        ({"transaction": _unlocked}, "the contract of a store"),
    ],
    ids=["forgets", "no requests", "wrong total", "not alone", "never closed", "no transactions"],
)
def test_a_broken_store_is_found(methods, words, tmp_path):
    with pytest.raises(BrokenContract, match=words):
        contracts.check_store(broken_store(tmp_path, **methods))


class InAList(Walked):
    """A store of somebody else's that lasts as long as its process."""

    def __init__(self) -> None:
        super().__init__([])
        self._open, self._turn, self._closed = threading.local(), threading.RLock(), False

    def lines(self, run=None, after=-1):
        if self._closed:
            raise hr.LedgerError("The ledger is closed.")
        return super().lines(run, after)

    @contextmanager
    def transaction(self, durable=True):
        if getattr(self._open, "mine", False):
            raise hr.LedgerError("A transaction is open.")
        with self._turn:
            before, self._open.mine = list(self._lines), True
            try:
                yield
            except BaseException:
                self._lines = before
                raise
            finally:
                self._open.mine = False

    def append(self, line):
        if not getattr(self._open, "mine", False) or line.seq != self.newest() + 1:
            raise hr.LedgerError("Lines are appended in a transaction.")
        self._lines.append(line)

    def alone(self):
        return self._turn

    def close(self):
        self._closed = True


def test_results_of_a_store_that_is_not_durable_are_marked():
    contracts.check_store(lambda: InAList)
    table = hr.Table.open({"a": [0, 1, 1]}, hr.Domain({"a": 2}))
    curator = hr.Curator(table, hr.Budget(epsilon=1), InAList())
    assert not curator.private
    assert not curator.measure(("a",), 1).private
    assert "simulation and protects nobody" in curator.receipt.describe()


def test_a_store_that_is_none_and_one_without_a_ledger_are_refused():
    for wrong in (7, object(), [InAList()]):
        with pytest.raises(hr.LedgerError, match="path of a file, ':memory:', or a Store"):
            hr.Ledger.open(wrong, budget=hr.Budget(epsilon=1))
    with pytest.raises(hr.LedgerError, match="no ledger in the store"):
        hr.Ledger.open(InAList(), create=False)
    with pytest.raises(hr.LedgerError, match="needs a budget"):
        hr.Ledger.open(InAList())


# ---- hypotheses, learners, generators --------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [ext.DenseHypothesis, FactoredHypothesis, partial(FactoredHypothesis, whole=True)],
    ids=["dense", "factored", "whole"],
)
def test_our_hypotheses_keep_the_contract(make):
    contracts.check_hypothesis(make)


def test_our_hypothesis_of_names_keeps_the_contract():
    contracts.check_names_hypothesis(lambda n: SparseHypothesis(3, size=n))


class Backwards(ext.DenseHypothesis):
    def update(self, query, value, eta):
        return -super().update(query, 1 - value, eta)


class HalfTilt(ext.DenseHypothesis):
    def tilt(self, query, step):
        super().tilt(query, step / 2)


class Turned(ext.DenseHypothesis):
    def marginal(self, attributes):
        return super().marginal(sorted(attributes))


@pytest.mark.parametrize(("broken", "words"), [(Backwards, "update"), (HalfTilt, "tilt"), (Turned, "table")])
def test_a_broken_hypothesis_is_found(broken, words):
    with pytest.raises(BrokenContract, match=words):
        contracts.check_hypothesis(broken)


def test_a_broken_hypothesis_of_names_is_found():
    class Forgets(SparseHypothesis):
        def tilt(self, query, step):
            pass

    with pytest.raises(BrokenContract, match="tilt"):
        contracts.check_names_hypothesis(lambda n: Forgets(3, size=n))


LEARNERS = {"histogram": HistogramLearner, "stump": StumpLearner, "logistic": LogisticLearner}


@pytest.mark.parametrize("name", LEARNERS)
def test_our_learners_keep_the_contract(name):
    contracts.check_learner(LEARNERS[name])


def test_a_broken_learner_is_found():
    class Stubborn:
        rounds = 2

        def begin(self, evidence):
            course = StumpLearner(rounds=2).begin(evidence)
            course.step = lambda model, sums: model
            return course

    class TooLarge(HistogramLearner):
        largest = 0

    with pytest.raises(BrokenContract, match="learns what is plain to see"):
        contracts.check_learner(Stubborn)
    with pytest.raises(BrokenContract, match="at most 0"):
        contracts.check_learner(TooLarge)


def test_a_broken_generator_is_found():
    @dataclass(frozen=True)
    class Guesses:
        def begin(self, domain, questions):
            made = LinearProgram().begin(domain, questions)
            size = len(questions)

            class AtWork:
                draws = False
                range = staticmethod(made.range)

                def generate(self, sample):
                    return ext.Generated(np.full(size, 2.0))

            return AtWork()

    with pytest.raises(BrokenContract, match="rows off"):
        contracts.check_generator(Guesses)


# ---- mechanisms ------------------------------------------------------------------------------------------

MECHANISMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": (hr.LaplaceBaseline, {"budget": PURE}),
    "gaussian": (hr.GaussianBaseline, {"neighbours": "replace"}),
    "histogram": (hr.HistogramRelease, {"budget": PURE}),
    "factorization": (hr.Factorization, {}),
    "projection": (hr.Projection, {}),
    "adaptive": (partial(hr.AdaptiveRelease, measurements=2), {"replayed": 12}),
    "offline-mw": (partial(hr.OfflineMW, rounds=2), {"budget": PURE, "replayed": 12}),
    "randomized-response": (hr.RandomizedResponse, {"neighbours": "replace", "budget": PURE}),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_our_mechanisms_keep_the_contract(name):
    make, options = MECHANISMS[name]
    contracts.check_mechanism(make, **options)


@dataclass(frozen=True)
class Peeks(hr.LaplaceBaseline):
    """Tells how many rows there are in what it says of itself."""

    def release(self, curator, workload):
        made = super().release(curator, workload)
        total = int(curator._rows.tables([()])[()]) if isinstance(curator, hr.Curator) else 0
        told = replace(made.provenance, parameters=made.provenance.parameters | {"rows": total})
        return replace(made, provenance=told)


@dataclass(frozen=True)
class Spends(hr.LaplaceBaseline):
    """Spends half of what it says."""

    def release(self, curator, workload):
        made = super().release(curator, workload)
        return replace(made, provenance=replace(made.provenance, cost=hr.Budget(epsilon=0.1)))


@dataclass(frozen=True)
class Private(hr.LaplaceBaseline):
    """Says that test randomness is private."""

    def release(self, curator, workload):
        made = super().release(curator, workload)
        return replace(made, provenance=replace(made.provenance, private=True))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Peeks, "differs although the same was released"),
        (Spends, "and says 0.1"),
        (Private, "passes for private"),
    ],
)
def test_a_broken_mechanism_is_found(broken, words):
    with pytest.raises(BrokenContract, match=words):
        contracts.check_mechanism(broken, budget=PURE, workload=hr.marginals(DOMAIN, 1))
