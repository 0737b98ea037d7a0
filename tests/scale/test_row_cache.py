"""Coded rows beside a CSV file: the same integers, for that file and schema, and for its owner alone."""

from __future__ import annotations

import json
import os
import stat
import threading

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows import row_cache
from hedgerow.curator.rows.csv_rows import CsvRows
from hedgerow.curator.rows.table import Rows
from hedgerow.testing.contracts.engine import CLIQUES, DOMAIN, UNITS, messy_rows
from services.patience import eventually

KEY = bytes(range(32))
PEOPLE = {"one by one": {}, **UNITS}


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(row_cache, "LEAST_BYTES", 1)
    monkeypatch.delenv(row_cache.SWITCH, raising=False)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    write(path, 0)
    return path


def write(path, seed: int) -> None:
    """Rows, and a moment until a later change is sure to show."""
    import pandas as pd
    import pyarrow as pa

    rows = messy_rows(1200, seed).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    rows.to_csv(path, index=False)
    settle(path)


def settle(path) -> None:
    cache = row_cache.RowCache.of(path, DOMAIN, None, {})
    eventually(lambda: cache.is_settled)


def ask(path, domain=DOMAIN, **options):
    rows = Rows(hr.Table.open(path, domain, **options), KEY)
    names = ("age", "when")
    return {**rows.tables(CLIQUES), **rows.remainder_sums(names)}


def kept(path):
    folder = row_cache.folder_of(path)
    return sorted(folder.glob("*")) if folder.exists() else []


def same(one, other) -> None:
    assert one.keys() == other.keys()
    for clique in one:
        np.testing.assert_array_equal(one[clique], other[clique])


@pytest.fixture
def parses(monkeypatch):
    """How often a CSV file is gone through."""
    seen = []
    inner = CsvRows._cells

    def cells(self, places):
        seen.append(places)
        return inner(self, places)

    monkeypatch.setattr(CsvRows, "_cells", cells)
    return seen


@pytest.mark.parametrize("unit", PEOPLE)
def test_a_second_ask_gives_the_same_integers_without_parsing(data, parses, unit):
    expected = ask(data, cache=False, **PEOPLE[unit])
    assert not kept(data)
    same(ask(data, **PEOPLE[unit]), expected)
    assert len(kept(data)) == 1
    parses.clear()
    same(ask(data, **PEOPLE[unit]), expected)
    assert not parses


def test_it_is_for_the_owner_alone(data):
    ask(data)
    (file,) = kept(data)
    assert file.parent.name == "people.csv.hedgerow.cache"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.stat().st_uid == data.stat().st_uid


def test_one_that_others_could_have_written_is_not_used(data, parses):
    ask(data)
    (file,) = kept(data)
    file.chmod(0o666)
    parses.clear()
    ask(data)
    assert parses


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_it_is_given_to_the_owner_of_the_data(data):
    os.chown(data, 12345, 12345)
    settle(data)
    ask(data)
    (file,) = kept(data)
    assert (file.stat().st_uid, file.parent.stat().st_uid) == (12345, 12345)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_as_root_one_that_somebody_else_made_is_not_used(data, parses, what):
    ask(data)
    (file,) = kept(data)
    os.chown(file if what == "file" else file.parent, 12345, 12345)
    parses.clear()
    ask(data)
    assert parses


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_nothing_is_given_away_where_a_link_takes_the_folders_place(data, tmp_path, monkeypatch):
    """Whoever owns the data may put a link there at any moment, to a folder that is not theirs."""
    os.chown(data, 12345, 12345)
    settle(data)
    folder, roots = row_cache.folder_of(data), tmp_path / "roots"
    roots.mkdir(mode=0o755)
    begin = os.open

    def swapped(path, *args, **options):
        handle = begin(path, *args, **options)
        if os.fspath(path).endswith(".half"):
            os.rename(folder, tmp_path / "aside")
            os.symlink(roots, folder)
        return handle

    monkeypatch.setattr(os, "open", swapped)
    expected = ask(data, cache=False)
    same(ask(data), expected)
    status = roots.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode), os.listdir(roots)) == (0, 0o755, [])


@pytest.mark.parametrize("how", ["other rows", "same size and time", "other file of that name"])
def test_another_state_of_the_file_is_parsed_anew(data, tmp_path, how):
    ask(data)
    before = data.stat()
    if how == "other file of that name":
        write(tmp_path / "new.csv", 1)
        os.replace(tmp_path / "new.csv", data)
    elif how == "other rows":
        write(data, 1)
    else:
        text = data.read_text()
        data.write_text(text.replace(",F,", ",M,"))
        assert data.stat().st_size == before.st_size
    if how != "other rows":
        os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))
    settle(data)
    same(ask(data), ask(data, cache=False))
    assert len(kept(data)) == 1  # the other one is gone


def test_another_schema_unit_reading_or_version_is_parsed_anew(data, parses, monkeypatch):
    ask(data)
    other = hr.Domain({**dict(DOMAIN.items()), "sex": ["F", "M", "x"]})
    for change in ({"domain": other}, {"unit": "person", "max_rows": 2}, {"delimiter": ","}):
        parses.clear()
        same(ask(data, **change), ask(data, cache=False, **change))
        assert parses
        ask(data)
    monkeypatch.setattr(row_cache, "ENCODING", row_cache.ENCODING + 1)
    parses.clear()
    ask(data)
    assert parses


def test_one_that_is_torn_anywhere_is_parsed_anew(data, size):
    expected = ask(data, **UNITS["three rows each"])
    (file,) = kept(data)
    whole = file.read_bytes()
    random = np.random.default_rng(5)
    for place in random.integers(0, len(whole), size(12, 200)).tolist():
        flipped = bytes([whole[place] ^ 0x41])
        for torn in (whole[:place], whole[:place] + flipped + whole[place + 1 :], whole[:place] + b"\0" * 64):
            file.write_bytes(torn)
            file.chmod(0o600)
            same(ask(data, **UNITS["three rows each"]), expected)
    assert file.read_bytes() == whole


def test_forged_codes_beyond_the_schema_are_refused(data):
    ask(data)
    cache = row_cache.RowCache.of(
        data, DOMAIN, None, {"encoding": None, "delimiter": None, "multiline": False}
    )
    (rows,) = cache.read()
    for codes in (np.full_like(rows.codes, 200), np.full(rows.codes.shape, -1, dtype=np.int32)):
        cache.path.unlink(missing_ok=True)
        list(cache.write(iter([row_cache.Coded(codes, rows.numbers)])))
        with pytest.raises(hr.SourceError, match="not its own"):
            ask(data)


def test_a_file_that_changes_while_it_is_open_is_refused_not_answered_from_the_cache(data):
    ask(data)
    table = hr.Table.open(data, DOMAIN)
    write(data, 1)
    with pytest.raises(hr.errors.DataChanged):
        Rows(table, KEY).tables(CLIQUES)


def test_a_reader_that_stops_half_way_leaves_nothing(data):
    rows = Rows(hr.Table.open(data, DOMAIN), KEY)
    stream = rows._coded(())
    next(stream)
    stream.close()
    assert not kept(data)


def test_several_at_a_time_write_one_whole_file(data):
    expected = ask(data, cache=False)
    found, wrong = [], []

    def one():
        try:
            found.append(ask(data))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for some in found:
        same(some, expected)
    assert len(kept(data)) == 1
    same(ask(data), expected)


def test_a_folder_that_is_a_link_or_cannot_be_written_does_without(data, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    row_cache.folder_of(data).symlink_to(elsewhere)
    expected = ask(data, cache=False)
    same(ask(data), expected)
    assert not list(elsewhere.iterdir())
    (elsewhere / "other.rows").touch()
    assert row_cache.clear(data) == 0
    assert list(elsewhere.iterdir())


def test_it_can_be_switched_off_and_cleared(data, monkeypatch):
    monkeypatch.setenv(row_cache.SWITCH, "off")
    ask(data)
    assert not kept(data)
    monkeypatch.delenv(row_cache.SWITCH)
    ask(data)
    assert row_cache.clear(data) == 1
    assert not kept(data)


def test_the_command_shows_and_removes_them(data, people_cli):
    write(data, 0)  # in the command line's folder
    ask(data)
    shown = json.loads(people_cli("cache", str(data), "--json").stdout)
    assert shown["files"] == 1
    assert shown["bytes"] == kept(data)[0].stat().st_size
    assert "PRIVATE" in people_cli("cache", str(data)).stdout
    assert people_cli("cache", str(data), "--clear").exit_code == 0
    assert not kept(data)
    assert "No coded rows" in people_cli("cache", str(data)).stdout


def test_small_files_and_parquet_are_not_kept(data, monkeypatch):
    monkeypatch.setattr(row_cache, "LEAST_BYTES", 1 << 22)
    ask(data)
    assert not kept(data)
