"""Data files under new names: a budget that would begin again unseen is refused, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger import nearby as ledger_nearby
from hedgerow.privacy.ledger import place as ledger_place
from hedgerow.privacy.ledger.ledger import Ledger

DOMAIN = hr.Domain({"sex": ["F", "M"]})
BUDGET = hr.Budget(epsilon=1)
ROWS = "sex\nF\nM\nF\n"
LEDGER = ".hedgerow.db"


def charged(data: Path, **options: Any) -> Fraction:
    """What a dataset has spent after one more tenth."""
    curator = hr.Curator(hr.Table.open(data, DOMAIN), BUDGET, **options)
    with curator.ledger as ledger:
        curator.measure(("sex",), 0.1)
        return ledger.spent().amount


def fails(data: Path, **options: Any) -> str:
    """How a new budget is refused; nothing is written for it."""
    before = sorted(data.parent.iterdir())
    with pytest.raises(LedgerError, match="has a budget already") as error:
        charged(data, **options)
    assert sorted(data.parent.iterdir()) == before
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A data file that one tenth was spent on."""
    data = tmp_path / "people.csv"
    data.write_text(ROWS)
    assert charged(data) == Fraction(1, 10)
    return data


def beside(data: Path) -> Path:
    return data.with_name(data.name + LEDGER)


class TestRefused:
    def test_a_renamed_file(self, people: Path) -> None:
        other = people.rename(people.with_name("persons.csv"))
        said = fails(other)
        assert str(beside(people)) in said
        assert "--ledger" in said
        assert charged(other, ledger=beside(people)) == Fraction(2, 10)
        beside(people).rename(beside(other))
        assert charged(other) == Fraction(3, 10)

    def test_a_renamed_file_that_was_edited_since(self, people: Path) -> None:
        other = people.rename(people.with_name("persons.csv"))
        with other.open("a") as file:
            file.write("M\n")
        fails(other)

    def test_a_renamed_file_whose_ledger_was_opened_by_hand(self, tmp_path: Path) -> None:
        data = tmp_path / "people.csv"
        data.write_text(ROWS)
        charged(data, ledger=Ledger.open(beside(data), budget=BUDGET))
        fails(data.rename(tmp_path / "persons.csv"))

    def test_a_hard_link(self, people: Path) -> None:
        os.link(people, people.with_name("linked.csv"))
        fails(people.with_name("linked.csv"))

    def test_a_ledger_that_was_renamed_away(self, people: Path) -> None:
        beside(people).rename(people.with_name("old" + LEDGER))
        assert "old" + LEDGER in fails(people)

    def test_a_file_that_was_replaced_under_its_name_and_then_renamed(self, people: Path) -> None:
        fresh = people.with_name("tonight.csv")
        fresh.write_text(ROWS + "M\n")
        os.replace(fresh, people)
        assert charged(people) == Fraction(2, 10)  # every night, under the same name
        fails(people.rename(people.with_name("persons.csv")))

    def test_a_link_that_leads_to_a_new_file_each_night(self, tmp_path: Path) -> None:
        link = tmp_path / "data.csv"
        for night in ("15", "16"):
            (tmp_path / f"data-{night}.csv").write_text(ROWS)
        link.symlink_to("data-15.csv")
        assert charged(link) == Fraction(1, 10)
        assert charged(link) == Fraction(2, 10)
        link.unlink()
        link.symlink_to("data-16.csv")
        said = fails(link)
        assert str(beside(tmp_path / "data-15.csv")) in said
        assert charged(link, ledger=beside(tmp_path / "data-15.csv")) == Fraction(3, 10)

    def test_a_link_in_another_folder(self, tmp_path: Path) -> None:
        (tmp_path / "links").mkdir()
        (tmp_path / "nights").mkdir()
        link = tmp_path / "links" / "data.csv"
        for night in ("15", "16"):
            (tmp_path / "nights" / f"{night}.csv").write_text(ROWS)
        link.symlink_to("../nights/15.csv")
        charged(link)
        link.unlink()
        link.symlink_to("../nights/16.csv")
        fails(link)

    def test_a_link_of_links(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first.csv", tmp_path / "second.csv"
        for night in ("15", "16"):
            (tmp_path / f"{night}.csv").write_text(ROWS)
        first.symlink_to("second.csv")
        second.symlink_to("15.csv")
        charged(first)
        second.unlink()
        second.symlink_to("16.csv")
        fails(second)

    def test_a_linked_folder_that_leads_to_a_new_one_each_night(self, tmp_path: Path) -> None:
        current = tmp_path / "current"
        for night in ("2026-11-15", "2026-11-16"):
            (tmp_path / night / "in").mkdir(parents=True)
            (tmp_path / night / "in" / "people.csv").write_text(ROWS)
        current.symlink_to("2026-11-15")
        charged(current / "in" / "people.csv")
        current.unlink()
        current.symlink_to("2026-11-16")
        fails(current / "in" / "people.csv")

    @pytest.mark.parametrize("nights", [("16", "17"), ("2026/11/30", "2026/12/01"), ("blue", "green")])
    def test_a_link_into_a_new_folder_each_night(self, tmp_path: Path, nights: tuple[str, str]) -> None:
        link, (before, now) = tmp_path / "links" / "data.csv", nights
        for night in nights:
            (tmp_path / "archive" / night).mkdir(parents=True)
            (tmp_path / "archive" / night / f"people-{night[-1]}.csv").write_text(ROWS)
        link.parent.mkdir()
        link.symlink_to(f"../archive/{before}/people-{before[-1]}.csv")
        charged(link)
        link.unlink()
        link.symlink_to(f"../archive/{now}/people-{now[-1]}.csv")
        assert f"archive/{before}/" in fails(link)

    @pytest.mark.parametrize("nights", [("16", "17"), ("2026/11/30", "2026/12/01"), ("blue", "green")])
    def test_a_linked_folder_that_leads_into_an_archive(
        self, tmp_path: Path, nights: tuple[str, str]
    ) -> None:
        current, (before, now) = tmp_path / "current", nights
        for night in nights:
            (tmp_path / "snap" / night / "in").mkdir(parents=True)
            (tmp_path / "snap" / night / "in" / "people.csv").write_text(ROWS)
        current.symlink_to(f"snap/{before}")
        charged(current / "in" / "people.csv")
        current.unlink()
        current.symlink_to(f"snap/{now}")
        assert f"snap/{before}/" in fails(current / "in" / "people.csv")

    @pytest.mark.parametrize("name", ["old.db", f"people.csv{LEDGER}.bak", "ledger"])
    def test_a_ledger_that_is_not_called_like_one(self, people: Path, name: str) -> None:
        beside(people).rename(people.with_name(name))
        assert f"/{name}" in fails(people)

    @pytest.mark.parametrize("closed", [True, False])
    def test_a_second_ledger_by_name_whether_the_first_is_open_or_not(
        self, tmp_path: Path, closed: bool
    ) -> None:
        data, first = tmp_path / "people.csv", tmp_path / "led" / "a.db"
        data.write_text(ROWS)
        first.parent.mkdir()
        curator = hr.Curator(hr.Table.open(data, DOMAIN), BUDGET, first)
        curator.measure(("sex",), 0.1)
        if closed:
            curator.ledger.close()
        assert str(first) in fails(data, ledger=tmp_path / "led" / "b.db")
        assert not (tmp_path / "led" / "b.db").exists()

    def test_a_renamed_folder_of_files(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = tmp_path / "people"
        folder.mkdir()
        pq.write_table(pa.table({"sex": ["F", "M"]}), folder / "part.parquet")
        charged(folder)
        fails(folder.rename(tmp_path / "persons"))

    def test_by_the_command_line_with_exit_code_2(self, people_cli: Callable[..., Any]) -> None:
        assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
        Path("people.csv").rename("persons.csv")
        again = people_cli("budget", "init", "persons.csv", "--epsilon", "1")
        assert again.exit_code == 2
        assert not Path("persons.csv.hedgerow.db").exists()
        out = ("release", "persons.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out")
        assert people_cli(*out).exit_code == 2
        assert not Path("persons.csv.hedgerow.db").exists()

    def test_whoever_reads_is_told_which_ledger_knows_the_renamed_file(
        self, people_cli: Callable[..., Any]
    ) -> None:
        assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
        Path("people.csv").rename("persons.csv")
        ask = ("ask", "persons.csv", "SELECT COUNT(*) FROM t", "--schema", "schema.yaml")
        for command in (("budget", "show", "persons.csv"), ask):
            said = people_cli(*command)
            assert said.exit_code == 2
            assert "people.csv.hedgerow.db' knows the data 'persons.csv'" in said.stderr

    def test_a_link_by_the_command_line(self, people_cli: Callable[..., Any]) -> None:
        shutil.copy("people.csv", "tonight.csv")
        Path("link.csv").symlink_to("people.csv")
        assert people_cli("budget", "init", "link.csv", "--epsilon", "1").exit_code == 0
        os.unlink("link.csv")
        Path("link.csv").symlink_to("tonight.csv")
        assert people_cli("budget", "init", "link.csv", "--epsilon", "1").exit_code == 2
        out = ("release", "link.csv", "--schema", "schema.yaml", "--epsilon", "1", "--out", "out")
        assert people_cli(*out).exit_code == 2
        assert not Path("tonight.csv.hedgerow.db").exists()

    def test_by_an_old_ledger_once_it_was_opened_for_writing(self, people: Path) -> None:
        with closing(sqlite3.connect(beside(people))) as database:
            database.execute("DROP TABLE place")  # as ledgers were before
        assert charged(people) == Fraction(2, 10)
        fails(people.rename(people.with_name("persons.csv")))


class TestAllowed:
    def test_a_reason_makes_a_new_budget_and_is_kept_for_good(self, people: Path) -> None:
        other = people.rename(people.with_name("persons.csv"))
        for nothing in ("", "  "):
            with pytest.raises(LedgerError, match="reason"):
                charged(other, new_ledger=nothing)
        assert charged(other, new_ledger="a new survey in the old file") == Fraction(1, 10)
        with Ledger.open(beside(other), create=False) as ledger:
            assert ledger.export()["entries"][0]["line"]["note"] == "a new survey in the old file"
            assert ledger.verify().ok

    def test_another_file_beside_it(self, people: Path) -> None:
        other = people.with_name("other.csv")
        other.write_text(ROWS)
        assert charged(other) == Fraction(1, 10)

    def test_a_copied_folder(self, people: Path, tmp_path: Path) -> None:
        for name in ("copy", "clone"):
            folder = tmp_path / name
            folder.mkdir()
            for file in (people, beside(people)):
                shutil.copy2(file, folder)
        assert charged(tmp_path / "copy" / "people.csv") == Fraction(2, 10)  # it goes on by itself
        renamed = (tmp_path / "clone" / "people.csv").rename(tmp_path / "clone" / "mine.csv")
        assert charged(renamed) == Fraction(1, 10)  # what the copied ledger noted is about other files

    def test_a_copied_ledger_beside_links_says_nothing(self, tmp_path: Path) -> None:
        link = tmp_path / "data.csv"
        for night in ("15", "16"):
            (tmp_path / f"{night}.csv").write_text(ROWS)
        link.symlink_to("15.csv")
        charged(link)
        kept = beside(tmp_path / "15.csv")
        shutil.copy2(kept, tmp_path / "copy")
        os.replace(tmp_path / "copy", kept)
        link.unlink()
        link.symlink_to("16.csv")
        assert charged(link) == Fraction(1, 10)

    def test_data_that_was_renamed_together_with_its_ledger_and_a_new_file_in_its_place(
        self, people: Path
    ) -> None:
        year = people.rename(people.with_name("people-2025.csv"))
        beside(people).rename(beside(year))
        people.write_text(ROWS)
        assert charged(people) == Fraction(1, 10)
        assert charged(year) == Fraction(2, 10)

    def test_links_to_one_file_share_its_ledger(self, people: Path) -> None:
        link = people.with_name("link.csv")
        link.symlink_to(people)
        assert charged(link) == Fraction(2, 10)
        assert charged(people) == Fraction(3, 10)

    def test_a_new_file_that_got_a_removed_files_number(self, people: Path) -> None:
        number = people.stat().st_ino
        people.unlink()
        for i in range(500):  # file systems give a number out again sooner or later
            other = people.with_name(f"{i}.csv")
            other.write_text(ROWS)
            if other.stat().st_ino == number:
                break
        else:
            pytest.skip("this file system does not give numbers out again")
        if ledger_place.file_identity(other).endswith(":" + "0" * 16):
            pytest.skip("this file system does not say which of a number's files this is")
        assert charged(other) == Fraction(1, 10)

    def test_looking_for_ledgers_drops_no_lock_of_files_that_are_open_in_this_process(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "people.csv").write_text(ROWS)
        with (tmp_path / "other.bin").open("wb+") as other:  # as other programs' databases are
            other.write(bytes(4096))
            other.flush()
            fcntl.lockf(other, fcntl.LOCK_EX)
            charged(tmp_path / "people.csv")
            tries = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
            there = [sys.executable, "-c", tries, str(tmp_path / "other.bin")]
            assert subprocess.run(there, check=False, capture_output=True).returncode

    def test_pipes_and_many_files_beside_it_do_not_hold_it_up(
        self, people: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(people.with_name("pipe"))
        for i in range(30):
            people.with_name(f"{i}.bin").write_bytes(bytes(4096))
        looked: list[Path] = []
        monkeypatch.setattr(ledger_nearby, "_MOST", 20)
        monkeypatch.setattr(ledger_nearby, "is_ledger", looked.append)
        other = people.with_name("other.csv")
        other.write_text(ROWS)
        assert charged(other) == Fraction(1, 10)
        assert 10 <= len(looked) <= 20

    def test_damaged_and_foreign_files_beside_it_do_not_matter(self, tmp_path: Path) -> None:
        (tmp_path / f"broken{LEDGER}").write_bytes(b"SQLite format 3\0" + bytes(500))
        (tmp_path / f"text{LEDGER}").write_text("hello")
        (tmp_path / f"folder{LEDGER}").mkdir()
        (tmp_path / f"nowhere{LEDGER}").symlink_to("nothing")
        (tmp_path / "people.csv").write_text(ROWS)
        assert charged(tmp_path / "people.csv") == Fraction(1, 10)


class Elsewhere:
    """A source that is neither a file nor a frame in memory, and says nothing about it."""

    untyped = False
    written = None

    def __init__(self) -> None:
        import pyarrow as pa

        self._rows = pa.table({"sex": ["F", "M"]})

    def schema(self) -> Any:
        return self._rows.schema

    def check(self, columns: Any) -> None:
        pass

    def batches(self, columns: Any) -> Any:
        return self._rows.select(list(columns)).to_batches()


class TestLedgersInMemory:
    def test_a_source_that_is_no_frame_in_memory_needs_a_ledger(self, tmp_path: Path) -> None:
        table = hr.Table(Elsewhere(), DOMAIN, None, None)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match=r"say which ledger is theirs, with `ledger=`"):
            hr.Curator(table, BUDGET)
        assert hr.Curator(table, BUDGET, tmp_path / "l.db").private
        assert not hr.Curator(table, BUDGET, ":memory:").private

    def test_a_pattern_of_files_needs_a_ledger(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"sex": ["F", "M"]}), tmp_path / "a.parquet")
        with pytest.raises(LedgerError, match=r"say which ledger is theirs, with `ledger=`"):
            hr.Curator(hr.Table.open(tmp_path / "*.parquet", DOMAIN), BUDGET)

    @pytest.mark.parametrize("engine", ["memory", "duckdb"])
    def test_a_frame_in_memory_is_simulated_and_says_so(self, engine: Any) -> None:
        curator = hr.Curator(hr.Table.open({"sex": ["F", "M"]}, DOMAIN, engine=engine), BUDGET)
        assert curator.ledger.simulation
        assert not curator.private
