"""Rows that arrive in blocks: which are accepted, for good; what ranges cost; what replay finds."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.audit.coupled.growing import live, replay_growing, streams, worth
from hedgerow.audit.coupled.planted_growing import PLANTED, SOUND, each_block, totals
from hedgerow.audit.ledger_replay import replay
from hedgerow.curator.growing import growing as growing_module
from hedgerow.curator.growing.block_rows import BlockFiles
from hedgerow.curator.growing.seen import Seen, tags_of
from hedgerow.errors import DataChanged, HedgerowError, LedgerError, RunClosed, SourceError
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import LOST, Growth
from hedgerow.privacy.ledger.limit import set_limit
from hedgerow.privacy.ledger.transaction import Transaction
from hedgerow.service import witness
from hedgerow.service.accounts import payer
from hedgerow.testing import seeded
from sizes import size

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})
RHO = hr.Budget(rho=1, delta=1e-6)


def rows(*people: tuple[int, str, int]) -> dict:
    return {"id": [p[0] for p in people], "sex": [p[1] for p in people], "age": [p[2] for p in people]}


def typed(*people: tuple[int, str, int]) -> pa.Table:
    return pa.table(rows(*people))


def made(path=":memory:", growing="confined", max_rows=2, **more) -> hr.Growing:
    return hr.Growing.make(path, DOMAIN, RHO, growing=growing, unit="id", max_rows=max_rows, **more)


def exact(growing: hr.Growing, first=None, last=None) -> list[int]:
    """Exact counts by sex: tests may look into the room."""
    return growing.curator(first, last)._rows.tables([("sex",)])[("sex",)].tolist()


def put_back(folder, old: bytes) -> None:
    """Put an older ledger in the place of the one that is there."""
    for file in folder.glob("people.hedgerow.db*"):
        file.unlink()
    (folder / "people.hedgerow.db").write_bytes(old)


def forget_receipts(folder) -> None:
    """What is noted beside data may be deleted at any time."""
    for file in folder.glob("people.hedgerow.cache/*"):
        file.unlink()


def opened(ledger) -> hr.Ledger:
    return hr.Ledger.open(ledger, create=False, readonly=True)


# ---- acceptance ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["confined", "shared"])
def test_rows_and_a_ledger_that_do_not_grow_together_are_refused(kind):
    growing, other = made(growing=kind), made(growing=kind)
    growing.append(rows((1, "F", 3)), day="2026-01-01")
    plain = hr.Table.open(rows((1, "F", 3)), DOMAIN, unit="id", max_rows=2)
    with pytest.raises(LedgerError, match=r"open them with hedgerow\.Growing"):
        hr.Curator(plain, ledger=growing.ledger)
    with pytest.raises(LedgerError, match="announced by another ledger"):
        hr.Curator(growing.table(), ledger=other.ledger)
    with pytest.raises(LedgerError, match="announced by another ledger"):
        hr.Curator(growing.table(), hr.Budget(epsilon=1), ":memory:")


def test_confined_units_count_where_they_first_appeared():
    growing = made()
    growing.append(rows((1, "F", 3), (2, "M", 4), (2, "M", 4), (2, "M", 4)), day="2026-01-01")
    growing.append(rows((2, "M", 4), (3, "F", 9)), day="2026-01-02")
    growing.append(rows((1, "M", 3), (2, "M", 3), (3, "M", 3)), day="2026-01-03")
    assert [exact(growing, b, b) for b in (1, 2, 3)] == [[1, 2], [1, 0], [0, 0]]
    assert exact(growing) == [2, 2]
    assert "first appeared" in growing.words


def test_shared_units_count_while_they_have_fewer_than_max_rows():
    growing = made(growing="shared")
    for day in (1, 2, 3):
        growing.append(rows((1, "F", 3), (2, "M", 4), (2, "M", 4)), day=f"2026-01-0{day}")
    assert [exact(growing, b, b) for b in (1, 2, 3)] == [[1, 2], [1, 0], [0, 0]]


@pytest.mark.parametrize("mode", ["confined", "shared", "yearly"])
def test_what_is_accepted_of_a_unit_depends_on_that_unit_alone(mode, monkeypatch):
    """Lemma 1, with one key: removing a unit changes nobody else's accepted rows in any block."""
    monkeypatch.setattr(growing_module.Growing, "_key", bytes(range(32)))
    random = Random(5)
    for _ in range(size(6, 60)):
        blocks = [
            [
                (random.randint(1, 6), random.choice("FM"), random.randint(0, 99))
                for _ in range(random.randint(0, 20))
            ]
            for _ in range(4)
        ]
        with_all, without = (made(growing=mode), made(growing=mode))
        gone = random.randint(1, 6)
        for number, block in enumerate(blocks, 1):
            with_all.append(rows(*block), name=str(number))
            without.append(rows(*(p for p in block if p[0] != gone)), name=str(number))
        seen_in: Counter = Counter()
        for number in range(1, 5):
            held = [
                Counter(zip(*(t.column(n).to_pylist() for n in ("id", "sex", "age")), strict=True))
                for t in (g._files.read(g._known()[number - 1]) for g in (with_all, without))
            ]
            own = Counter({row: n for row, n in held[0].items() if str(row[0]) == str(gone)})
            assert held[0] - own == held[1]
            seen_in.update({(gone, number): own.total()})
        assert seen_in.total() <= 2
        if mode == "confined":
            assert sum(n > 0 for n in seen_in.values()) <= 1


def test_rows_without_an_id_are_units_of_their_own_where_declared_so():
    growing = made(null_units="row")
    for day in (1, 2):
        growing.append({"id": [None, None, 1], "sex": ["F"] * 3, "age": [1] * 3}, day=f"2026-01-0{day}")
    assert [exact(growing, b, b)[0] for b in (1, 2)] == [3, 2]


def test_without_a_unit_every_row_is_one():
    growing = hr.Growing.make(":memory:", DOMAIN, RHO)
    for day in (1, 2):
        growing.append(rows((1, "F", 1), (1, "M", 2)), day=f"2026-01-0{day}")
    assert exact(growing) == [2, 2]


def test_ids_of_files_and_frames_are_the_same_people(tmp_path):
    growing = made()
    growing.append(typed((7, "F", 1)), day="2026-01-01")
    (tmp_path / "more.csv").write_text("id,sex,age\n7,M,1\n8,M,1\n")
    with pytest.raises(SourceError, match="all from CSV"):
        growing.append(tmp_path / "more.csv")
    from_files = made()
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("id,sex,age\n7,M,1\n8,M,1\n")
        from_files.append(tmp_path / name)
    assert exact(from_files, 2, 2) == [0, 0]
    assert [b.name for b in from_files.blocks] == ["one.csv", "two.csv"]


def test_a_block_that_reads_otherwise_is_refused_before_it_is_announced():
    growing = made()
    growing.append(typed((1, "F", 1)), day="2026-01-01")
    for wrong in ({"id": [1], "sex": ["F"]}, {"id": ["x"], "sex": ["F"], "age": [1]}):
        with pytest.raises(HedgerowError):
            growing.append(pa.table(wrong), day="2026-01-02")
    assert len(growing.blocks) == 1


def test_columns_that_no_schema_reads_are_not_kept_and_text_may_be_views():
    growing, more = (
        made(),
        {"list": pa.array([[1]]), "every": pa.array([(1, 2, 3)], pa.month_day_nano_interval())},
    )
    for number in (1, 2):
        block = typed((number, "F", 1)).append_column("ward", pa.array(["a"], pa.string_view()))
        for name, column in more.items():
            block = block.append_column(name, column)
        growing.append(block, name=str(number))
    assert exact(growing) == [2, 0]
    assert "ward" in growing._files.read(growing._known()[0]).column_names
    assert not set(more) & set(growing._files.read(growing._known()[0]).column_names)


_FAR = pa.array([0, 2**63 - 1, -(2**63)]).view(pa.timestamp("s"))
_LEVELS = pa.array([b"x", b"\xff"]).view(pa.string())
_OTHERS = [pa.array([f"{i} {j}" for j in range(100)]).dictionary_encode() for i in range(2)]
_COLUMNS = {
    "moments in seconds beyond all calendars": _FAR,
    "a level that is no text": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), _LEVELS),
    "a level that is missing": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["x", None])),
    "dictionaries that do not fit into one": pa.chunked_array(
        [o.cast(pa.dictionary(pa.int8(), pa.string())) for o in _OTHERS]
    ),
}


@pytest.mark.parametrize("what", _COLUMNS)
def test_no_cell_decides_whether_a_block_is_accepted(tmp_path, what):
    column = _COLUMNS[what]
    people = range(len(column))
    block = {"id": list(people), "sex": ["F" for _ in people], "age": list(people), "more": column}
    growing = made(tmp_path / "people")
    growing.append(pa.table(block), day="2026-01-01")
    assert exact(growing) == [len(people), 0]


def test_a_cell_that_cannot_be_read_changes_nobody_elses_block(tmp_path):
    """Files whose text is in dictionaries: the batch of such a cell comes as plain text."""
    for name, who, sexes in (("one", [1, 2], ["F", "M"]), ("two", [3, 4], ["F", "\ufffd!"])):
        block = pa.table({"id": who, "sex": pa.array(sexes).dictionary_encode(), "age": [30, 40]})
        (tmp_path / "march").mkdir(exist_ok=True)
        pq.write_table(block, tmp_path / "march" / f"{name}.parquet")
    growing = hr.Growing.make(
        tmp_path / "people", hr.Domain({"sex": {"levels": ["F", "M"], "other": True}}), RHO
    )
    growing.append(tmp_path / "march", day="2026-03-31")
    assert exact(growing) == [2, 1, 1]


def test_tags_are_found_again_and_counted():
    key, ids = bytes(32), [b"a", b"b\0", b"b", b"", b"\0"]
    tags = tags_of(key, ids)
    seen = Seen.counted(tags[[0, 2, 0]], np.array([1, 2, 3]))
    assert seen.of(tags).tolist() == [4, 0, 2, 0, 0]
    digest, again = Seen.unpacked(seen.packed(bytes(range(32))))
    assert digest == bytes(range(32))
    assert again.of(tags).tolist() == [4, 0, 2, 0, 0]
    assert again.with_more(seen).of(tags).tolist() == [8, 0, 4, 0, 0]
    with pytest.raises(LedgerError, match="cannot be read"):
        Seen.unpacked(seen.packed(bytes(32))[:-1])


# ---- for good --------------------------------------------------------------------------------------------


def test_blocks_are_there_again_after_a_restart_and_know_who_was_seen(tmp_path):
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1), (2, "M", 1)), day="2026-01-01")
    growing.ledger.close()
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    again.append(rows((1, "F", 1), (3, "M", 1)), day="2026-01-02")
    assert [exact(again, b, b) for b in (1, 2)] == [[1, 1], [0, 1]]
    assert again.ledger.verify().ok
    for file in (tmp_path / "people").iterdir():
        assert file.stat().st_mode & 0o077 == 0
    assert (tmp_path / "people").stat().st_mode & 0o077 == 0


def test_a_block_whose_file_was_changed_is_refused(tmp_path):
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    file = next((tmp_path / "people").glob("block-*"))
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(DataChanged, match="not what was appended"):
        growing.table()


@pytest.mark.parametrize("moment", ["announce", "announced"])
def test_an_append_that_was_interrupted_is_whole_or_not_there(tmp_path, monkeypatch, moment):
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1)), day="2026-01-01")

    def dies(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(growing.ledger if moment == "announce" else growing._files, moment, dies)
        with pytest.raises(KeyboardInterrupt):
            growing.append(rows((2, "F", 1)), day="2026-01-02")
    growing.ledger.close()
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    assert not again.ended
    assert len(again.blocks) == (1 if moment == "announce" else 2)
    again.append(rows((2, "M", 1), (3, "M", 1)), day="2026-01-03")
    assert exact(again) == ([1, 2] if moment == "announce" else [2, 1])
    assert again.ledger.verify().ok


def test_a_block_may_get_its_name_from_whoever_reads_it_first(tmp_path, monkeypatch):
    growing, other = made(tmp_path / "people"), []
    named = BlockFiles.announced

    def meanwhile(files: BlockFiles, number: int, digest: bytes) -> None:
        if not other:
            other.append(hr.Growing.open(tmp_path / "people", DOMAIN))
            assert exact(other[0]) == [1, 0]
        named(files, number, digest)

    monkeypatch.setattr(BlockFiles, "announced", meanwhile)
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    assert exact(growing) == [1, 0]


def test_a_block_that_is_appended_while_a_table_is_opened_is_no_lost_one(tmp_path, monkeypatch):
    growing, once = made(tmp_path / "people"), iter([True])
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    looked = BlockFiles.unknown

    def meanwhile(files: BlockFiles, known: int):
        if next(once, False):
            growing.append(rows((2, "F", 1)), day="2026-01-02")
        return looked(files, known)

    monkeypatch.setattr(BlockFiles, "unknown", meanwhile)
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    assert not again.ended
    assert len(again.blocks) == 2


def test_a_ledger_that_was_put_back_ends_charging_side_by_side(tmp_path):
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    growing.ledger.close()
    ledger = tmp_path / "people.hedgerow.db"
    old = ledger.read_bytes()
    growing = hr.Growing.open(tmp_path / "people", DOMAIN)
    growing.append(rows((2, "F", 1)), day="2026-01-02")
    growing.ledger.close()
    put_back(tmp_path, old)
    with pytest.raises(LedgerError, match="older than what was charged"):
        hr.Growing.open(tmp_path / "people", DOMAIN)
    assert not opened(ledger).ended  # nothing was written: the newer one can still be put back
    forget_receipts(tmp_path)
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    assert again.ended
    assert again.ledger.verify().ok
    with pytest.raises(HedgerowError):
        hr.RunningTotals(horizon=3).open(again)
    with pytest.raises(SourceError, match="move it away"):
        again.append(rows((2, "F", 1)), day="2026-01-03")


def test_going_on_with_an_older_ledger_charges_what_was_lost_to_blocks_to_come(tmp_path):
    path, receipt = tmp_path / "ledger.db", tmp_path / "receipt.json"
    budget = hr.Budget(epsilon=1)
    ledger = hr.Ledger.open(path, budget=budget, growth=Growth())
    ledger.announce("2026-01-01", "day", b"", 1)
    ledger.allot("first", Cost("epsilon", Fraction(1, 4)), scope=(1, 1))
    ledger.close()
    old = path.read_bytes()
    ledger = hr.Ledger.open(path)
    ledger.announce("2026-01-02", "day", b"", 2)
    ledger.allot("second", Cost("epsilon", Fraction(1, 4)), scope=(2, 2))  # the largest sum stays
    witness.note(ledger, receipt)
    ledger.close()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    path.write_bytes(old)
    with hr.Ledger.open(path) as ledger:
        witness.excuse_older(ledger, [receipt], "the disk was lost")
        assert ledger.ended
        assert ledger.charged(1) == Cost("epsilon", Fraction(1, 2))
        assert ledger.charged(2) == ledger.charged(99) == Cost("epsilon", Fraction(1, 4))
        assert ledger.verify().ok


def test_rows_that_grow_are_read_in_their_blocks_only(tmp_path):
    growing = hr.Growing.make(tmp_path / "people", DOMAIN, RHO)
    growing.append(typed((1, "F", 1)), day="2026-01-01")
    with pytest.raises(LedgerError, match=r"open them with hedgerow\.Growing"):
        hr.Curator(hr.Table.open(tmp_path / "people", DOMAIN), ledger=growing.ledger)
    with pytest.raises(LedgerError, match="another ledger"):
        hr.Curator(growing.table(), ledger=hr.Ledger.open(":memory:", budget=RHO))
    with pytest.raises(LedgerError, match="not empty"):
        hr.Growing.make(tmp_path / "people", DOMAIN, RHO)


# ---- ranges ----------------------------------------------------------------------------------------------


def test_a_range_gives_back_what_it_did_not_spend_to_each_block():
    growing = made()
    for day in (1, 2, 3):
        growing.append(rows((day, "F", 3)), day=f"2026-01-0{day}")
    with growing.range("2026-01-02", "2026-01-03", spend=hr.Budget(rho=0.5)) as curator:
        curator.measure(("sex",), hr.Budget(rho=0.25))
        assert growing.left(2, 2).rho == 0.5
    assert [growing.left(b, b).rho for b in (1, 2, 3)] == pytest.approx([1.0, 0.75, 0.75])
    assert growing.ledger.verify().ok


def test_a_reserve_is_for_questions_over_several_blocks():
    growing = made(reserve="1/4")
    for day in (1, 2):
        growing.append(rows((day, "F", 3)), day=f"2026-01-0{day}")
    with growing.range(1) as curator:
        assert curator.left.amount == hr.Budget(rho=0.75, delta=1e-6).cost.amount
        curator.measure(("sex",))
    with (
        pytest.raises(LedgerError, match="reserved for questions over ranges"),
        growing.range(1, spend=hr.Budget(rho=0.1)),
    ):
        pass
    with growing.range(1, 2) as curator:
        assert float(curator.left.amount) == pytest.approx(0.25)


def test_an_account_of_other_blocks_cannot_be_used():
    growing = made()
    for day in (1, 2):
        growing.append(rows((day, "F", 3)), day=f"2026-01-0{day}")
    with growing.range(1, spend=hr.Budget(rho=0.5)) as curator:
        with pytest.raises(LedgerError, match="for blocks 1 to 1"):
            growing.curator(2, 2, account=curator.account)
        with pytest.raises(LedgerError, match="for blocks 1 to 1"):
            growing.curator().child(curator.account)
        part = curator.allot(hr.Budget(rho=0.1), "part")
        part.measure(("sex",))


def test_a_request_of_one_range_is_not_that_of_another():
    growing = made(growing="shared")
    for day in (1, 2):
        growing.append(rows((day, "F", 3)), day=f"2026-01-0{day}")
    growing.curator(1, 1).measure(("sex",), hr.Budget(rho=0.1), request="r")
    with pytest.raises(HedgerowError, match="already used for another question"):
        growing.curator(2, 2).measure(("sex",), hr.Budget(rho=0.1), request="r")


def test_a_question_over_all_blocks_has_the_noise_of_one_table():
    growing, people = made(max_rows=1), [(i, "FM"[i % 2], i % 100) for i in range(40)]
    for day in range(4):
        growing.append(rows(*people[10 * day : 10 * day + 10]), day=f"2026-01-0{day + 1}")
    alone = hr.Curator(hr.Table.open(rows(*people), DOMAIN, unit="id", max_rows=1), RHO)
    with growing.range(1, 4) as curator:
        over = curator.measure(("sex", "age"), hr.Budget(rho=0.5))
        assert over.noise == alone.measure(("sex", "age"), hr.Budget(rho=0.5)).noise
        both = [c._rows.tables([("sex", "age")])[("sex", "age")] for c in (curator, alone)]
    assert np.array_equal(*both)


def test_what_was_learned_from_earlier_blocks_is_the_prior_of_the_next():
    growing = made(max_rows=1)
    last = None
    for day in (1, 2):
        growing.append(rows(*((100 * day + i, "FM"[i % 2], i) for i in range(60))), day=f"2026-01-0{day}")
        with growing.range(day) as curator:
            last = hr.AdaptiveRelease().release(curator, hr.marginals(DOMAIN, 2), prior=last)
    assert growing.left(1, 2).rho < 1e-9
    assert growing.ledger.verify().ok


# ---- running totals --------------------------------------------------------------------------------------


def run(horizon=5, days=3, growing="confined", attributes=()):
    table = made(growing=growing, max_rows=1)
    table.append(rows((0, "F", 1)), day="2026-01-01")
    opened = hr.RunningTotals(horizon=horizon, budget=hr.Budget(rho=0.5)).open(table, attributes)
    for day in range(2, days + 1):
        table.append(rows((day, "M", 1)), day=f"2026-01-{day:02d}")
    return table, opened


def test_totals_are_charged_whole_and_to_blocks_to_come():
    table, opened = run()
    opened.update()
    assert all(float(table.ledger.charged(b).amount) == pytest.approx(0.5, rel=1e-6) for b in range(1, 6))
    assert table.ledger.charged(6).is_zero
    lines = table.ledger.newest
    assert [a.value for a in opened.update()] == [a.value for a in opened.update()]
    assert table.ledger.newest == lines
    assert table.ledger.verify().ok


def test_a_day_is_drawn_once_also_by_another_holder():
    table, opened = run()
    values = [a.value for a in opened.update()]
    again = hr.RunningTotals(horizon=5, budget=hr.Budget(rho=0.5)).open(table)
    assert [a.value for a in again.update()] == values


def test_a_day_that_was_drawn_from_test_randomness_never_passes_for_private(tmp_path):
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    with seeded(1):
        (first,) = hr.RunningTotals(horizon=3, epsilon=0.5).open(growing).update()
    assert any("Not private" in note for note in first.notes)
    with pytest.raises(HedgerowError, match="already used for another question"):
        hr.RunningTotals(horizon=3, epsilon=0.5).open(growing).update()


def test_totals_end_with_their_horizon_and_with_what_was_seen():
    table, opened = run(horizon=2, days=4)
    assert len(opened.update()) == 2
    table, opened = run()
    opened.update()
    table.ledger.end_parallel("lost")
    table.append(rows((9, "F", 1)), day="2026-01-30")
    with pytest.raises(RunClosed, match="have ended"):
        opened.update()


def test_totals_of_a_year_end_with_it():
    table, opened = run(growing="yearly")
    opened.update()
    table.append(rows((9, "F", 1)), day="2027-01-01")
    with pytest.raises(RunClosed, match="not paid for"):
        opened.update()


def test_totals_need_a_budget_with_a_delta():
    table = hr.Growing.make(":memory:", DOMAIN, hr.Budget(epsilon=1))
    table.append(rows((1, "F", 1)), day="2026-01-01")
    with pytest.raises(HedgerowError, match="no pure epsilon"):
        hr.RunningTotals(horizon=3).open(table)


def test_stated_errors_of_totals_cover():
    """Seeded: 200 runs of 8 days at 95%; each day's misses are within a bound of false alarm 1e-6."""
    from scipy.stats import binom

    from hedgerow.testing import seeded

    runs, misses = size(24, 200), np.zeros(8)
    for seed in range(runs):
        with seeded(seed):
            _, opened = run(horizon=8, days=8, growing="shared")
            answers = opened.update()
        misses += [abs(a.value - day) > a.error for day, a in enumerate(answers, 1)]
    assert misses.max() <= binom.isf(1e-6 / 8, runs, 0.05)


def test_a_ledger_that_was_put_back_counts_all_as_spent(tmp_path):
    """A lost block may have been charged the whole budget: who was in it has nothing left, in any block."""
    growing = made(tmp_path / "people")
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    kept = "set aside before, and perhaps spent by lines that are lost"
    growing.ledger.allot("kept", Cost("rho", Fraction(1, 4)), note=kept, scope=(1, 1))
    growing.ledger.close()
    ledger = tmp_path / "people.hedgerow.db"
    old = ledger.read_bytes()
    growing = hr.Growing.open(tmp_path / "people", DOMAIN)
    growing.append(rows((2, "F", 1)), day="2026-01-02")
    with growing.range(2, 2) as curator:
        curator.measure(("sex",))
    growing.ledger.close()
    put_back(tmp_path, old)
    forget_receipts(tmp_path)
    (lost,) = (tmp_path / "people").glob("*2.parquet")
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    lost.rename(tmp_path / "lost.parquet")
    again.append(rows((2, "F", 1)), day="2026-01-03")
    assert all(again.ledger.charged(block).amount == 1 for block in (1, 2, 99))
    with pytest.raises(HedgerowError):
        again.curator().measure(("sex",), hr.Budget(rho=0.1))
    with pytest.raises(LedgerError, match="closed"):
        again.curator(1, 1, account="kept").measure(("sex",), hr.Budget(rho=0.1))
    with pytest.raises(LedgerError, match="closed"):
        again.ledger.settle("kept")
    assert again.ledger.verify().ok
    assert not replay(again.ledger).problems


@pytest.mark.parametrize("mode", ["shared", "yearly"])
def test_of_lost_blocks_nothing_is_left_however_data_grow(tmp_path, mode):
    growing = made(tmp_path / "people", growing=mode)
    growing.append(rows((1, "F", 1)), day="2025-12-31")
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    with growing.range(1, 1, spend=hr.Budget(rho=0.5)) as curator:
        curator.measure(("sex",))
    growing.ledger.close()
    (tmp_path / "people" / "block-000003.parquet").write_bytes(b"of a block that no line tells of")
    again = hr.Growing.open(tmp_path / "people", DOMAIN)
    assert again.ended
    assert again.left(1, 1).cost.amount == again.left(2, 2).cost.amount == 0
    assert again.ledger.remaining(scope=(2099, 2099) if mode == "yearly" else None).amount == 0
    assert again.ledger.verify().ok


def losing(folder, mode):
    """Data of two years with a part set aside, of which a ledger is put back after a block was lost."""
    growing = made(folder / "people", growing=mode)
    growing.append(rows((1, "F", 1)), day="2025-12-31")
    growing.append(rows((2, "F", 1)), day="2026-01-01")
    growing.ledger.allot("kept", Cost("rho", Fraction(1, 4)))
    set_limit(growing.ledger, "ann", Cost("rho", Fraction(1, 2)))
    growing.ledger.close()
    return lost_block(folder, (3, "F", 1), "2026-01-02")


def lost_block(folder, person, day):
    """Append a block, then put the ledger back that does not know of it."""
    ledger = folder / "people.hedgerow.db"
    old = ledger.read_bytes()
    growing = hr.Growing.open(folder / "people", DOMAIN)
    growing.append(rows(person), day=day)
    growing.ledger.close()
    put_back(folder, old)
    forget_receipts(folder)
    return hr.Growing.open(folder / "people", DOMAIN)


def all_spent(growing) -> bool:
    cells = (1, 2, 99, 2025, 2026, 2099) if growing.ledger.settings.cells else (1,)
    return all(growing.ledger.charged(cell).amount >= growing.ledger.budget.cost.amount for cell in cells)


@pytest.mark.parametrize("mode", ["confined", "shared", "yearly"])
def test_nothing_that_lost_lines_may_have_spent_comes_back(tmp_path, mode):
    """What was set aside before the loss is neither spent nor given back."""
    again = losing(tmp_path, mode)
    assert again.ended
    assert all_spent(again)
    assert again.ledger.is_closed("kept")
    lost = [name for name in again.ledger.children() if name.startswith(LOST)]
    assert lost
    for name in lost:
        for use in (again.ledger.settle, lambda n: again.ledger.allot("more", Cost("rho", 0), parent=n)):
            with pytest.raises(LedgerError, match="it stays spent"):
                use(name)
    with pytest.raises(HedgerowError):
        again.curator().measure(("sex",), hr.Budget(rho=0.1))
    assert all_spent(again)
    assert again.ledger.verify().ok
    assert not replay(again.ledger).problems


@pytest.mark.parametrize("mode", ["confined", "shared", "yearly"])
def test_a_second_loss_counts_what_was_raised_since_the_first(tmp_path, mode):
    again = losing(tmp_path, mode)
    again.ledger.raise_budget(hr.Budget(rho=2, delta=2e-6), "more answers are worth it")
    again.ledger.close()
    (tmp_path / "people" / "block-000003.parquet").rename(tmp_path / "people" / "block-000009.parquet")
    kept = hr.Growing.open(tmp_path / "people", DOMAIN)
    assert not all_spent(kept)  # files that told of one loss tell of it once
    kept.ledger.close()
    twice = lost_block(tmp_path, (4, "M", 1), "2026-01-03")
    assert all_spent(twice)
    assert twice.ledger.verify().ok
    assert not replay(twice.ledger).problems


def test_appends_and_ranges_note_receipts_and_an_older_ledger_is_used_for_a_reason_only(tmp_path):
    """No block was lost, so that files tell nothing: charges were, and receipts tell of them."""
    growing = made(tmp_path / "people", growing="shared")
    note = tmp_path / "people.hedgerow.cache" / "receipt.json"
    growing.append(rows((1, "F", 1)), day="2026-01-01")
    assert json.loads(note.read_text())["seq"] == growing.ledger.newest
    growing.ledger.close()
    old = (tmp_path / "people.hedgerow.db").read_bytes()
    growing = hr.Growing.open(tmp_path / "people", DOMAIN)
    with growing.range(1, 1, spend=hr.Budget(rho=0.5)) as curator:
        curator.measure(("sex",))
    assert json.loads(note.read_text())["seq"] == growing.ledger.newest
    growing.ledger.close()
    put_back(tmp_path, old)
    with pytest.raises(LedgerError, match="older than what was charged"):
        hr.Growing.open(tmp_path / "people", DOMAIN)
    again = hr.Growing.open(tmp_path / "people", DOMAIN, older_than_receipt="the disk was lost")
    assert again.ledger.spent().amount >= Fraction(1, 2)
    again.ledger.close()
    hr.Growing.open(tmp_path / "people", DOMAIN).append(rows((2, "F", 1)), day="2026-01-02")


def test_an_audit_finds_what_lost_lines_spent_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(Transaction, "void", lambda self, note, name="owner": None)  # as it was before
    again = losing(tmp_path, "shared")
    again.ledger.settle("kept")
    assert any("lost lines may have spent" in problem for problem in replay(again.ledger).problems)


def test_an_analyst_with_a_limit_goes_on_after_the_end_with_all_blocks(tmp_path):
    again = losing(tmp_path, "confined")
    again.ledger.raise_budget(hr.Budget(rho=2, delta=2e-6), "more answers are worth it")
    payer(again.curator(), "ann").measure(("sex",), hr.Budget(rho=0.25))
    assert again.ledger.spent("ann").is_zero
    assert again.ledger.charged(1).amount > Fraction(6, 5)
    assert again.ledger.charged(99) == again.ledger.charged(1)
    with pytest.raises(HedgerowError, match="limit"):
        payer(again.curator(), "ann").measure(("sex",), hr.Budget(rho=0.3))
    assert again.ledger.verify().ok


def test_what_receipts_tell_of_lost_years_is_charged_to_years_to_come(tmp_path):
    path, receipt = tmp_path / "ledger.db", tmp_path / "receipt.json"
    ledger = hr.Ledger.open(path, budget=hr.Budget(epsilon=1), growth=Growth("yearly"))
    ledger.announce("2026-12-31", "day", b"", 1)
    ledger.close()
    old = path.read_bytes()
    ledger = hr.Ledger.open(path)
    ledger.announce("2027-01-01", "day", b"", 2)
    ledger.allot("new year", Cost("epsilon", Fraction(3, 4)), scope=(2027, 2027))
    witness.note(ledger, receipt)
    ledger.close()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    path.write_bytes(old)
    with hr.Ledger.open(path) as ledger:
        witness.excuse_older(ledger, [receipt], "the disk was lost")
        ledger.announce("2027-01-01", "day", b"", 2)
        assert ledger.remaining(scope=(2027, 2027)) == Cost("epsilon", Fraction(1, 4))
        assert ledger.verify().ok


def test_a_person_is_the_same_in_blocks_of_files_and_of_objects(tmp_path):
    """Ids of objects are spelled with their type where they look like others: not so between blocks."""
    (tmp_path / "one.csv").write_text("id,sex,age\n7,M,1\n8,M,1\n")
    people = {"sex": ["M", "M"], "age": [1, 1]}
    for first, then in (
        (tmp_path / "one.csv", {"id": ["7", "8"], **people}),
        ({"id": [7, 8], **people}, {"id": ["7", "8"], **people}),
        ({"id": ["7", 8], **people}, {"id": ["8", 7], **people}),
    ):
        growing = made()
        growing.append(first, name="one")
        growing.append(then, name="two")
        assert exact(growing, 1, 1) == [0, 2]
        assert exact(growing, 2, 2) == [0, 0]


def test_a_range_of_a_name_is_that_block_and_of_days_those_between():
    growing = made()
    for number, name in enumerate(("march.csv", "april.csv", "may.csv")):
        growing.append(rows((number, "F", 3)), name=name)
    assert [b.name for b in growing._some("march.csv", "march.csv")] == ["march.csv"]
    assert [b.name for b in growing._some("april.csv", "may.csv")] == ["april.csv", "may.csv"]
    with pytest.raises(HedgerowError, match=r"no block called 'june\.csv'"):
        growing.table("june.csv")
    growing = made()
    for number, day in enumerate(("2027-03-01", "2027-03-03", "2027-03-05")):
        growing.append(rows((number, "F", 3)), day=day)
    assert [b.number for b in growing._some("2027-03-02", "2027-03-04")] == [2]
    assert [b.number for b in growing._some(None, "2027-03-04")] == [1, 2]
    for first, last in (
        ("2027-03-06", None),
        (None, "2027-02-01"),
        ("2027-03-04", "2027-03-04"),
        (4, 9),
        (3, 2),
    ):
        with pytest.raises(HedgerowError, match="no block in that range"):
            growing.table(first, last)


def test_days_that_totals_had_are_there_after_they_ended():
    for mode, last in (("yearly", "2027-01-01"), ("confined", "2026-01-30")):
        table, opened = run(growing=mode)
        values = [a.value for a in opened.update()]
        if mode == "confined":
            table.ledger.end_parallel("lost")
        table.append(rows((9, "F", 1)), day=last)
        again = hr.RunningTotals(horizon=5, budget=hr.Budget(rho=0.5)).open(table)
        assert [totals.answer(day=2).value for totals in (opened, again)] == [values[1]] * 2
        with pytest.raises(RunClosed):
            again.answer()


# ---- replay ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mechanism", "growing"), SOUND, ids=lambda x: x if isinstance(x, str) else ""
)
def test_sound_charges_are_never_worth_more_than_they_cost(name, mechanism, growing):
    assert replay_growing(mechanism, growing=growing, neighbours=size(4, 60)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=lambda p: p.name)
def test_planted_mistakes_are_found(planted):
    assert "was spent" in planted.found(6)[0]


@pytest.mark.parametrize("mechanism", [each_block, totals])
def test_the_bound_is_attained_so_that_less_would_be_found(mechanism):
    """One unit with all its rows in the first block moves as much as was paid for, but for rounding."""
    one, two = (((99, 0),) * 2, (), (), ()), ((), (), (), ())
    how = {"growing": "confined", "max_rows": 2, "budget": RHO}
    first = live(mechanism, one, **how)
    second = live(mechanism, two, script=first.tape, **how)
    assert 0.99 * first.spent < worth(first, second, "rho") <= first.spent


def test_streams_differ_in_one_unit():
    for (one, two), _ in zip(streams(2, 3, 1), range(9), strict=False):
        for here, there in zip(one, two, strict=True):
            assert [row for row in here if row[0] != 99] == list(there)


# ---- what is open stays with its blocks ------------------------------------------------------------------


def test_a_run_that_was_paid_for_by_some_blocks_never_reads_others():
    growing = hr.Growing.make(":memory:", DOMAIN, hr.Budget(epsilon=10))
    growing.append(rows((1, "F", 1)), name="one")
    growing.curator().sparse_vector(3, 1.0, run="x")
    growing.curator().one_sided(3, 1.0, side="over", run="y")
    hr.Session(epsilon=1.0).open(growing.curator())
    growing.append(rows((2, "F", 1)), name="two")
    for goes_on in (
        lambda: growing.curator().sparse_vector(3, 1.0, run="x"),
        lambda: growing.curator().one_sided(3, 1.0, side="over", run="y"),
        lambda: hr.Session(epsilon=1.0).open(growing.curator()),
    ):
        with pytest.raises(HedgerowError):
            goes_on()
    growing.curator(1, 1).sparse_vector(3, 1.0, run="x")


def test_the_audit_of_ledgers_does_the_sums_of_blocks_again():
    growing = made()
    for day in (1, 2):
        growing.append(rows((day, "F", 3)), day=f"2026-01-0{day}")
        with growing.range(day, spend=hr.Budget(rho=0.5)) as curator:
            curator.measure(("sex",))
    with growing.range(1, 2, spend=hr.Budget(rho=0.25)) as curator:
        curator.measure(("sex",))
    growing.curator().measure(("sex",), hr.Budget(rho=0.125))
    found = replay(growing.ledger)
    assert found.ok
    assert found.spent == pytest.approx(0.875)
    export = growing.ledger.export(answers=True)
    export["entries"][-1]["line"]["scope"] = [2, 2]
    assert "does not charge every block" in " ".join(replay(export).problems)


def test_the_audit_of_ledgers_finds_shared_blocks_that_are_charged_side_by_side():
    growing = made(growing="shared")
    growing.append(rows((1, "F", 3)), day="2026-01-01")
    growing.curator().measure(("sex",), hr.Budget(rho=0.5))
    export = growing.ledger.export(answers=True)
    export["entries"][-1]["line"]["scope"] = [1, 1]
    assert "units may be in several" in " ".join(replay(export).problems)


def test_totals_may_begin_with_an_earlier_block():
    table = made(growing="shared", max_rows=1)
    for day in (1, 2, 3):
        table.append(rows((day, "M", 1)), day=f"2026-01-{day:02d}")
    opened = hr.RunningTotals(horizon=5, budget=hr.Budget(rho=0.5)).open(table, first=2)
    assert len(opened.update()) == 2
    assert opened.first == 2
    with pytest.raises(HedgerowError, match="begin with one of the blocks 1 to 3"):
        hr.RunningTotals(horizon=5, budget=hr.Budget(rho=0.1), name="late").open(table, first=9)
