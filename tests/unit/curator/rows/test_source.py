"""A run belongs to the data file it began with: taken up with it for free, with a changed one not at all."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.curator.curator import Curator
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.serve.cli.commands import app

DOMAIN = hr.Domain({"a": 3, "b": 4, "c": 2})
W = hr.marginals(DOMAIN, 2)
CHANGED = "data file has changed"


def rows(n: int = 400, seed: int = 1) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    return {a: rng.integers(0, s, n).tolist() for a, s in zip(DOMAIN, DOMAIN.shape, strict=True)}


def swapped(n: int = 400) -> dict[str, list[int]]:
    """The same rows, but for one value of one of them."""
    columns = rows(n)
    columns["a"][7] = (columns["a"][7] + 1) % 3
    return columns


def write(columns, path: Path = Path("x.csv")) -> None:
    """Write a file, later than it was written before."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(DOMAIN), *lines]) + "\n")
    while path.stat().st_mtime_ns <= before:
        time.sleep(0.001)
        os.utime(path)


def curator(columns, ledger, **options) -> hr.Curator:
    table = hr.Table.open(columns, DOMAIN, **options)
    return hr.Curator(table, budget=hr.Budget(epsilon=4, delta=1e-6), ledger=ledger)


RELEASES = {
    "adaptive": lambda: hr.AdaptiveRelease(epsilon=1.0, measurements=2),
    "adaptive, named": lambda: hr.AdaptiveRelease(epsilon=1.0, measurements=2, run="spring"),
    "offline": lambda: hr.OfflineMW(epsilon=1.0, rounds=2, run="spring"),
    "theorem": lambda: hr.OfflineMW(epsilon=1.0, alpha=0.5),
    "small": lambda: hr.SmallDB(epsilon=1.0, alpha=0.9),
}


def die_after(monkeypatch, acts: int) -> None:
    honest, made = Curator._act, []

    def dying(self, *args, **options):
        found = honest(self, *args, **options)
        made.append(found)
        if len(made) == acts:
            monkeypatch.setattr(Curator, "_act", honest)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Curator, "_act", dying)


@pytest.mark.parametrize("name", RELEASES)
def test_an_unfinished_release_is_not_taken_up_with_a_changed_file(name, tmp_path, monkeypatch):
    ledger, path = tmp_path / "l.db", tmp_path / "x.csv"
    write(rows(), path)
    first = path.stat()
    die_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        RELEASES[name]().release(curator(path, ledger), W)
    write(swapped(), path)
    changed = curator(path, ledger)
    before = changed.receipt
    for _ in range(2):
        with pytest.raises(hr.LedgerError, match=CHANGED) as caught:
            RELEASES[name]().release(changed, W)
    assert "\n" not in str(caught.value)
    assert changed.receipt == before  # nothing is charged, and not even the refusal is written down
    write(rows(), path)
    os.utime(path, ns=(first.st_atime_ns, first.st_mtime_ns))
    again = curator(path, ledger)
    RELEASES[name]().release(again, W)
    requests = [e["line"]["request"] for e in again.ledger.export()["entries"]]
    assert len([r for r in requests if r]) == len({r for r in requests if r})
    assert again.spent.epsilon == pytest.approx(1.0, rel=0.01) or name in ("theorem", "small")


def test_a_finished_release_with_a_name_is_not_given_out_for_a_changed_file(tmp_path):
    ledger, path = tmp_path / "l.db", tmp_path / "x.csv"
    write(rows(), path)
    named = hr.AdaptiveRelease(epsilon=1.0, measurements=2, run="spring")
    first = named.release(curator(path, ledger), W)
    write(swapped(), path)
    with pytest.raises(hr.LedgerError, match=CHANGED):
        named.release(curator(path, ledger), W)
    again = named.release(curator(path, ledger, same_rows=True), W)
    np.testing.assert_array_equal(first.answer(W).value, again.answer(W).value)
    summer = hr.AdaptiveRelease(epsilon=1.0, measurements=2, run="summer")
    other = summer.release(curator(path, ledger), W)
    assert other.cost.epsilon == pytest.approx(1.0, rel=1e-3)


def test_sessions_and_online_runs_are_not_continued_with_a_changed_file(tmp_path):
    for i, opened in enumerate(
        (
            lambda c: hr.Session(epsilon=1.0).open(c),
            lambda c: hr.OnlineMW(updates=2, epsilon=1.0, run="r").open(c),
        )
    ):
        ledger, path = tmp_path / f"{i}.db", tmp_path / f"{i}.csv"
        write(rows(), path)
        opened(curator(path, ledger))
        opened(curator(path, ledger))
        write(rows(), path)
        changed = curator(path, ledger)
        before = changed.receipt
        with pytest.raises(hr.LedgerError, match=CHANGED):
            opened(changed)
        assert changed.receipt == before
        opened(curator(path, ledger, same_rows=True))


def test_a_file_may_move(tmp_path):
    named = hr.AdaptiveRelease(epsilon=1.0, measurements=1, run="spring")
    path, ledger, there = tmp_path / "x.csv", tmp_path / "l.db", tmp_path / "there.csv"
    write(rows(), path)
    named.release(curator(path, ledger), W)
    shutil.copy2(path, there)
    named.release(curator(there, ledger), W)
    write(rows(), there)
    with pytest.raises(hr.LedgerError, match=CHANGED):
        named.release(curator(there, ledger), W)


def test_rows_decide_nothing(tmp_path):
    """A file with other and fewer rows, but the same time of change, goes on, and so does a frame."""
    named = hr.AdaptiveRelease(epsilon=1.0, measurements=1, run="spring")
    path, ledger = tmp_path / "x.csv", tmp_path / "l.db"
    write(rows(), path)
    named.release(curator(path, ledger), W)
    state = path.stat()
    for others in (swapped(), rows(10)):
        write(others, path)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        named.release(curator(path, ledger), W)
        named.release(curator(others, ledger), W)


def test_runs_whose_names_look_like_another_ones_second_attempt_stay_apart(tmp_path):
    guard = curator(rows(), tmp_path / "l.db")
    release = hr.AdaptiveRelease(epsilon=0.5, measurements=1, run="r")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for _ in range(2):  # given up before the first act: the next attempt has an account of its own
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Curator, "measure_all", interrupted)
            with pytest.raises(KeyboardInterrupt):
                release.release(guard, W)
    names = ["r", "r 1", "r #1", "r 2", "r ##1", "#r", "r #2", "r: 1", "r: price"]
    for name in names:
        hr.AdaptiveRelease(epsilon=0.25, measurements=1, run=name).release(guard, W)
    spent = guard.spent.rho
    for name in names:
        hr.AdaptiveRelease(epsilon=0.25, measurements=1, run=name).release(guard, W)
    assert guard.spent.rho == spent
    whole = float(guard.price(0.25).amount)
    assert float(guard.ledger.spent().amount) == pytest.approx(len(names) * whole, rel=1e-3)


# -- the command line -------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(rows())
    Path("schema.yaml").write_text(
        "attributes:\n  a: {levels: [0, 1, 2]}\n  b: {levels: [0, 1, 2, 3]}\n  c: {levels: [0, 1]}\n"
    )
    return "x.csv"


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_release_says_so_when_the_data_changed_and_begins_anew_when_told_to(data, monkeypatch):
    command = ["release", data, "--schema", "schema.yaml", "--epsilon", "0.5", "--out", "out"]
    command += ["--mechanism", "adaptive"]
    assert run("budget", "init", data, "--epsilon", 1).exit_code == 0
    die_after(monkeypatch, 1)  # the first act of the release, as nothing is planned
    assert run(*command).exit_code == 130
    write(swapped())
    refused = run(*command)
    assert refused.exit_code == 2
    assert CHANGED in " ".join(refused.output.split())
    assert "--anew" in refused.output
    done = run(*command, "--anew")
    assert done.exit_code == 0, done.output
    with Ledger.open("x.csv.hedgerow.db", create=False) as ledger:
        assert ledger.verify().ok
        charged = float(ledger.spent().amount) / float(ledger.budget.cost.amount)
        open_accounts = [
            e["line"]["account"] for e in ledger.export()["entries"] if e["line"]["kind"] == "open"
        ]
        for account in open_accounts[1:]:
            with pytest.raises(hr.LedgerError):  # what the first one did not spend went back
                ledger.settle(account)
    part = float(
        hr.Budget(epsilon=0.5, delta=1e-9).cost.amount / hr.Budget(epsilon=1, delta=1e-9).cost.amount
    )
    assert part < charged < 2 * part  # what the first one had measured stays paid


def test_ask_says_so_when_the_data_changed_and_learns_anew_when_told_to(data):
    command = ["ask", data, "SELECT a, COUNT(*) FROM t GROUP BY a"]
    assert run(*command, "--epsilon", "0.5", "--delta", "1e-9").exit_code == 0
    assert "Asking was free" in run(*command).output
    write(swapped())
    refused = run(*command)
    assert (refused.exit_code, CHANGED in " ".join(refused.output.split())) == (2, True)
    same = run(*command, "--same-rows")
    assert (same.exit_code, "as answered before" in same.output) == (0, True)
    assert run(*command, "--anew").exit_code == 3  # nothing is left
    assert run("budget", "raise", data, "--epsilon", "1", "--reason", "new data").exit_code == 0
    assert run(*command, "--anew").exit_code == 0
    assert "as answered before" in run(*command).output
