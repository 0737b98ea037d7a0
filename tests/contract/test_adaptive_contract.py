"""What the adaptive release owes its users, under every budget and relation, and after every crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.entry import grains_from
from sizes import size

DOMAIN = hr.Domain(
    {"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3), missing=True)}
)
W = hr.marginals(DOMAIN, 2)
PURE, APPROXIMATE = hr.Budget(epsilon=2), hr.Budget(epsilon=2, delta=1e-6)
CASES = {
    "pure": (PURE, "add_remove", W),
    "pure-replace": (PURE, "replace", W),
    "rho": (APPROXIMATE, "add_remove", W),
    "rho-replace": (APPROXIMATE, "replace", W),
    "rho-ranges": (APPROXIMATE, "add_remove", hr.ranges(DOMAIN, 1)),
    "zcdp": (hr.Budget(rho=0.05), "add_remove", W),
}
UNITS = {"rows": {}, "people": {"unit": "who", "max_rows": 2}}


def rows(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": rng.integers(0, 70, n) + 30 * (sex == "F"),
            "k": pd.array(rng.choice([0, 1, 2, None], n), dtype="Int64"),
            "who": rng.integers(0, n // 2, n),
        }
    )


def make(case: str, unit: str = "rows", ledger=":memory:", **options):
    budget, neighbours, workload = CASES[case]
    table = hr.Table.open(rows(), DOMAIN, **UNITS[unit])
    return hr.Curator(table, budget=budget, ledger=ledger, neighbours=neighbours, **options), workload


@pytest.fixture(scope="module", params=[(c, u) for c in CASES for u in UNITS], ids=lambda p: "-".join(p))
def released(request):
    curator, workload = make(*request.param)
    return AdaptiveRelease().release(curator, workload), curator, workload


def test_what_was_charged_and_what_went_back_are_the_budget_to_the_last_rational(released):
    """Every charge of every round, added up again from the ledger's lines."""
    _, curator, _ = released
    lines = [e["line"] for e in curator.ledger.export()["entries"]]
    charged = sum((grains_from(li["cost"]).amount for li in lines if li["kind"] == "charge"), Fraction(0))
    assert charged == curator.ledger.spent().amount
    assert charged + curator.ledger.remaining().amount == curator.budget.cost.amount
    assert curator.ledger.remaining().amount < curator.budget.cost.amount / 10**5
    assert all(cost_of(from_json(li["event"]), curator.ledger.currency).amount
               == grains_from(li["cost"]).amount for li in lines if li["kind"] == "charge")  # fmt: skip


def test_the_whole_budget_is_spent_and_no_more(released):
    synopsis, curator, _ = released
    assert curator.ledger.spent() <= curator.budget.cost
    spent = float(curator.ledger.spent().amount)
    assert spent == pytest.approx(float(curator.budget.cost.amount), rel=1e-5)
    assert curator.ledger.verify(synopsis.receipt).ok


def test_answers_are_learned_and_say_so_with_an_error(released):
    synopsis, _, workload = released
    answer = synopsis.answer(workload)
    assert answer.source == "learned"
    assert np.isfinite(answer.value).all()
    assert (answer.error > 0).all()
    one = synopsis.answer(workload[0])
    assert one.value == pytest.approx(answer.value[0])
    assert one.error == pytest.approx(answer.error[0])
    assert (synopsis.answer(workload, simultaneous=True).error >= answer.error).all()


def test_tables_agree_with_each_other_and_with_the_total(released):
    synopsis, _, _ = released
    table = synopsis.table(("age", "sex"))
    assert table.shape == (10, 2)
    assert (table >= 0).all()
    np.testing.assert_allclose(table.T, synopsis.table(("sex", "age")))
    np.testing.assert_allclose(table.sum(axis=1), synopsis.table(("age",)), rtol=1e-6)
    assert table.sum() == pytest.approx(synopsis.total)


def test_rows_can_be_drawn_and_drawn_again(released):
    synopsis, _, _ = released
    sample = synopsis.sample(500, seed=1)
    assert list(sample) == list(DOMAIN)
    assert all(len(column) == 500 for column in sample.values())
    np.testing.assert_array_equal(sample["age"], synopsis.sample(500, seed=1)["age"])


def test_save_and_load_give_the_same_answers_without_pickle_or_secrets(released, tmp_path):
    synopsis, curator, workload = released
    path = tmp_path / "out.hedgerow"
    synopsis.save(path)
    again = hr.Synopsis.load(path)
    first, second = synopsis.answer(workload), again.answer(workload)
    np.testing.assert_allclose(second.value, first.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(second.error, first.error, rtol=1e-9)
    assert (again.kind, again.can, again.receipt, again.total) == (
        synopsis.kind,
        synopsis.can,
        synopsis.receipt,
        synopsis.total,
    )
    assert [m.noise for m in again.measurements] == [m.noise for m in synopsis.measurements]
    assert again.citation() == synopsis.citation() != ""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert curator.ledger.row_key not in archive.read(name)


def test_a_given_epsilon_is_what_is_spent_and_a_second_release_is_a_new_one():
    curator, workload = make("rho")
    first = AdaptiveRelease(epsilon=0.5).release(curator, workload)
    assert curator.spent.epsilon == pytest.approx(0.5, rel=1e-4)
    second = AdaptiveRelease(epsilon=0.5).release(curator, workload)
    assert float(curator.ledger.spent().amount) == pytest.approx(2 * float(first.cost.cost.amount), rel=1e-6)
    assert (first.answer(workload).value != second.answer(workload).value).any()


def test_a_named_run_asked_for_again_is_the_same_and_free(tmp_path):
    curator, workload = make("rho", ledger=tmp_path / "ledger.db")
    mechanism = AdaptiveRelease(epsilon=1.0, run="spring")
    first = mechanism.release(curator, workload)
    spent = curator.ledger.spent()
    curator.ledger.close()
    curator, workload = make("rho", ledger=tmp_path / "ledger.db")
    again = mechanism.release(curator, workload)
    assert curator.ledger.spent() == spent
    np.testing.assert_array_equal(first.answer(workload).value, again.answer(workload).value)
    with pytest.raises(hr.HedgerowError, match="already used for another question"):
        AdaptiveRelease(epsilon=0.5, run="spring").release(curator, workload)


WORKER = """
import os, signal, sys
from contextlib import contextmanager
sys.path[:0] = [{here!r}, os.path.dirname({here!r})]
from test_adaptive_contract import AdaptiveRelease, make
from hedgerow.privacy.ledger.ledger import Ledger
path, stop, when, options = sys.argv[1], int(sys.argv[2]), sys.argv[3], eval(sys.argv[4])
real, count = Ledger.transaction, 0
def die(now):
    if count == stop and when == now:
        os.kill(os.getpid(), signal.SIGKILL)
@contextmanager
def transaction(self, **k):
    global count
    count += 1
    die("before")
    with real(self, **k) as inner:
        yield inner
        die("during")  # written, not yet committed
    die("after")
Ledger.transaction = transaction
curator, workload = make("rho", ledger=path)
synopsis = AdaptiveRelease(epsilon=1.0, run="killed", **options).release(curator, workload)
lines = [e["line"] for e in curator.ledger.export()["entries"]]
charges = [line["request"] for line in lines if line["kind"] == "charge"]
assert len(charges) == len(set(charges))
print(curator.ledger.spent().amount, len(lines), len(charges), len(synopsis.measurements), count)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"measurements": 4}, {}, {"cells": 50}], ids=["choosing", "everything", "looking"]
)
def test_killed_in_every_phase_and_resumed_it_pays_once(tmp_path, options):
    """kill -9 before, during and after every transaction of a run, then again: same spend, nothing twice.

    The transactions are: set the price aside and note it, every choice and measurement, close the account.
    """
    code = WORKER.format(here=os.path.dirname(__file__))

    def go(path, stop, when):
        command = [sys.executable, "-c", code, str(path), str(stop), when, repr(options)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    whole = go(tmp_path / "whole.db", 0, "after")
    assert whole.returncode == 0, whole.stderr
    *wanted, phases = whole.stdout.split()
    last = int(phases)
    assert last == 2 + int(wanted[2])
    last = (
        5 if "cells" in options else last
    )  # one-way tables, a look, one act at least: what it is may differ
    small = [(4, "during")] if "cells" in options else [(1, "after"), (3, "during"), (last, "after")]
    every = [(n, when) for n in range(1, last + 1) for when in ("before", "during", "after")]
    for stop, when in size(small, every):
        path = tmp_path / f"{stop}{when}.db"
        assert go(path, stop, when).returncode == -signal.SIGKILL
        resumed = go(path, 0, when)
        assert resumed.returncode == 0, resumed.stderr
        spent, *counted = resumed.stdout.split()[:4]
        if "cells" not in options:  # what a look finds decides how many acts follow
            assert counted == wanted[1:], (stop, when)
        if "measurements" in options:
            assert spent == wanted[0], (stop, when)
        else:  # what residuals are measured follows from noise, and so does how their price is rounded
            near = pytest.approx(float(Fraction(wanted[0])), rel=1e-5 if options else 1e-6)
            assert float(Fraction(spent)) == near


def test_a_run_whose_numbers_come_out_differently_is_refused_and_never_wrong(tmp_path, monkeypatch):
    """Another machine or NumPy: a choice is bound to the estimates it was made by, in whole rows."""
    from dataclasses import replace

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.adaptive.run import Run

    path, plan = tmp_path / "ledger.db", AdaptiveRelease(epsilon=1.0, measurements=4, run="moved")
    honest, acts = Curator._act, []

    def dying(self, *args, **options):
        acts.append(honest(self, *args, **options))
        if len(acts) == 3:
            raise KeyboardInterrupt
        return acts[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "_act", dying)
        curator, workload = make("rho", ledger=path)
        with pytest.raises(KeyboardInterrupt):
            plan.release(curator, workload)
    spent = curator.ledger.spent()
    select = Run.select

    def elsewhere(off):
        return lambda self, score, price: select(
            self, replace(score, estimates=score.estimates * (1 + off)), price
        )

    with monkeypatch.context() as patch:
        patch.setattr(Run, "select", elsewhere(0.05))
        curator, workload = make("rho", ledger=path)
        with pytest.raises(hr.LedgerError, match="already used for another question"):
            plan.release(curator, workload)
        assert curator.ledger.spent() == spent
        patch.setattr(Run, "select", elsewhere(1e-12))  # the last bits of a float are not the question
        curator, workload = make("rho", ledger=path)
        plan.release(curator, workload)
    assert curator.spent.epsilon == pytest.approx(1.0, rel=1e-4)


def test_a_crash_between_charges_is_taken_up_where_it_was(tmp_path, monkeypatch):
    from hedgerow.privacy.ledger.ledger import Ledger

    real, path = Ledger.charge, tmp_path / "ledger.db"

    class Crash(Exception):
        pass

    for stop in (2, 5):
        calls = []

        def charge(self, *args, calls=calls, stop=stop, **options):
            if len(calls) == stop:
                raise Crash
            calls.append(args)
            return real(self, *args, **options)

        monkeypatch.setattr(Ledger, "charge", charge)
        curator, workload = make("rho", ledger=path)
        with pytest.raises(Crash):
            AdaptiveRelease(epsilon=1.0, measurements=4).release(curator, workload)
        curator.ledger.close()
    monkeypatch.setattr(Ledger, "charge", real)
    curator, workload = make("rho", ledger=path)
    AdaptiveRelease(epsilon=1.0, measurements=4).release(curator, workload)
    assert float(curator.spent.epsilon) == pytest.approx(1.0, rel=1e-4)
    lines = [e["line"] for e in curator.ledger.export()["entries"]]
    requests = [line["request"] for line in lines if line["kind"] == "charge"]
    assert len(requests) == len(set(requests)) == 10
