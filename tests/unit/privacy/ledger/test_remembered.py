"""What is remembered of a ledger elsewhere is what a walk over its lines finds, or nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger import remembered
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.line import GENESIS, Line
from hedgerow.privacy.ledger.remembered import KINDS, Remembered, fields, key
from hedgerow.privacy.ledger.url import LedgerUrl


def history(rng: random.Random, length: int) -> list[Line]:
    lines: list[Line] = []
    for seq in range(length):
        told = {
            "seq": seq,
            "kind": rng.choice(["charge", "note", "open", "raise"]),
            "account": rng.choice("abcd"),
            "parent": rng.choice(["owner", None, "a"]),
            "request": f"r{seq}" if rng.random() < 0.5 else None,
            "run": rng.choice([None, "x", "y"]),
        }
        lines.append(Line.after(lines[-1].hash if lines else GENESIS, told, None, None))
    return lines


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_remembered_is_what_a_walk_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(remembered, "_LINES", 7)
    monkeypatch.setattr(remembered, "_NAMES", rng.choice([3, 100]))
    monkeypatch.setattr(remembered, "_SHORT", 9)
    lines = history(rng, 60)
    begun = rng.randrange(40)
    keys = {(kind, fields(line)[kind]) for line in lines[:begun] for kind in KINDS}
    digests = b"".join(key(k, n).to_bytes(8, "little") for k, n in keys if n is not None)
    raises = [line for line in lines[:begun] if line.field("kind") == "raise"]
    memory = Remembered(begun - 1, lines[0] if begun else None, raises[-1] if raises else None, digests)
    for upto in range(begun, len(lines)):
        memory.absorb(lines[upto])
        memory.absorb(lines[rng.randrange(upto + 1)])  # what is known is passed over
        there = lines[: upto + 1]
        if rng.random() < 0.4:
            memory.keep(upto, account=("a", [n for n in there if n.field("account") == "a"][-1]))
            memory.keep(upto, run=("x", [n for n in there if n.field("run") == "x"]))
            memory.keep(upto - 1, run=("y", []))  # found before the last line came: not kept
        opened = [n.field("account") for n in there if (n.field("kind"), n.field("parent")) == ("open", "a")]
        memory.keep(upto, children=("a", opened))
        assert memory.newest == upto
        assert memory.first == lines[0]
        assert memory.raised == ([n for n in there if n.field("kind") == "raise"] or [None])[-1]
        for name in "abcd":
            found = memory.account(name)
            assert found is None or found == [n for n in there if n.field("account") == name][-1]
        for run in "xy":
            run_lines = memory.run(run)
            assert run_lines is None or run_lines == [n for n in there if n.field("run") == run]
        assert memory.children("a") in (None, opened)
        for after in (-1, upto - 9, upto - 3, upto):
            tail = memory.tail(after)
            assert tail is None or [n for n, _ in tail] == there[after + 1 :]
        assert memory.tail(upto - 3) is not None or upto - begun < 3
        for line in there:
            if line.field("request"):
                assert memory.known("request", line.field("request"))
    assert not memory.known("request", "never")
    assert not memory.known("run", "a")  # a name of another kind


def test_company_tells_lines_of_others_from_ones_own(tmp_path: Path) -> None:
    with (
        Ledger.open(tmp_path / "l.db", budget=Budget(epsilon=1)) as mine,
        Ledger.open(tmp_path / "l.db") as theirs,
    ):
        assert mine.elsewhere == -1
        mine.record(b"1")
        assert (mine.elsewhere, theirs.elsewhere) == (-1, 1)
        theirs.record(b"2")
        mine.record(b"3")
        assert mine.elsewhere == 2
        mine.record(b"4")
        assert (mine.elsewhere, theirs.elsewhere) == (2, 4)


@pytest.mark.parametrize(
    ("given", "text", "name"),
    [
        ("postgresql://u@h:5/db", "postgresql://u@h:5/db", "hedgerow"),
        ("postgres://h/db?sslmode=require#people", "postgres://h/db?sslmode=require", "people"),
        ("postgresql:///db", "postgresql:///db", "hedgerow"),
        ("postgresql:/u@h/db", "postgresql://u@h/db", "hedgerow"),  # what a Path leaves of it
    ],
)
def test_addresses_are_read(given: str, text: str, name: str) -> None:
    url = LedgerUrl.of(given)
    assert url is not None
    assert (url.text, url.name) == (text, name)


def test_what_is_no_address_is_a_file_and_no_address_shows_its_password() -> None:
    for file in ("people.db", "/a/postgresql", ":memory:", "postgresql", None, 3):
        assert LedgerUrl.of(file) is None
    for text in ("postgresql://u:s3cret@h/db", "postgresql://h/db?user=u&password=s3cret#x"):
        assert "s3cret" not in f"{LedgerUrl.of(text)!r} {LedgerUrl.of(text)}"
    with pytest.raises(LedgerError, match="small letters"):
        LedgerUrl.of("postgresql://h/db#No-Name")
