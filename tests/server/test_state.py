"""The state folder: one server at a time, formats old and new, what is kept of questions and for how long."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from hedgerow.errors import BadValue, HedgerowError, NotPermitted
from hedgerow.service import tokens
from hedgerow.service.asked_log import AskedLog
from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
from hedgerow.service.host import OWNER_TOKEN, Host
from hedgerow.service.state import FORMAT, ServerState
from services.server import write_people

OLD = """
CREATE TABLE token (id TEXT PRIMARY KEY, digest BLOB NOT NULL, verifier TEXT NOT NULL, name TEXT NOT NULL,
    role TEXT NOT NULL, datasets TEXT NOT NULL, may_spend INTEGER NOT NULL, made TEXT NOT NULL,
    expires TEXT NOT NULL, used TEXT, revoked TEXT);
CREATE TABLE dataset (name TEXT PRIMARY KEY, settings TEXT NOT NULL);
CREATE TABLE job (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, state TEXT NOT NULL, job TEXT NOT NULL);
CREATE TABLE approval (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, who TEXT NOT NULL, state TEXT NOT NULL,
    item TEXT NOT NULL);
CREATE TABLE request (dataset TEXT, who TEXT, request TEXT, question TEXT NOT NULL, answer TEXT,
    PRIMARY KEY (dataset, who, request));
CREATE TABLE asked (seq INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL, who TEXT NOT NULL,
    item TEXT NOT NULL);
CREATE INDEX asked_of ON asked (dataset, seq);
PRAGMA user_version=1;
"""


@pytest.fixture
def state(tmp_path):
    made = ServerState(tmp_path / "state")
    yield made
    made.close()


def line(time: str, sql: str = "SELECT 1") -> dict[str, str]:
    return {"time": time, "who": "ann", "sql": sql}


def test_a_state_of_the_first_format_goes_on(tmp_path):
    secret = tokens.Secret.new()
    with sqlite3.connect(tmp_path / "server.db") as db:
        db.executescript(OLD)
        times = ("2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z", None, None)
        kept = (secret.id, secret.digest, secret.verifier, "ann", "analyst", '["*"]', 1, *times)
        db.execute(f"INSERT INTO token VALUES ({','.join('?' * len(kept))})", kept)
        for dataset in ("a", "b", "a"):
            db.execute("INSERT INTO asked (dataset, who, item) VALUES (?, 'ann', ?)",
                       (dataset, json.dumps(line("2026-01-01T00:00:00Z"))))  # fmt: skip
        db.execute("INSERT INTO request VALUES ('a', 'ann', 'monday', 'q', '{}')")
    db.close()
    state = ServerState(tmp_path)
    assert state.rows("PRAGMA user_version") == [(FORMAT,)]
    assert state.token(secret.text, datetime.now(UTC)).name == "ann"
    log = AskedLog(state)
    assert [item["seq"] for item in log.history("a", None, -1, 10)] == [1, 2]
    assert [item["seq"] for item in log.history("b", None, -1, 10)] == [1]
    assert log.bind("a", "ann", "monday", "q") == {}
    log.close()
    state.close()


def test_a_newer_state_is_refused(tmp_path):
    ServerState(tmp_path).close()
    with sqlite3.connect(tmp_path / "server.db") as db:
        db.execute(f"PRAGMA user_version={FORMAT + 1}")
    db.close()
    with pytest.raises(HedgerowError, match="newer Hedgerow"):
        ServerState(tmp_path)


def test_two_servers_do_not_share_a_state_folder(state):
    state.hold()
    other = ServerState(state.folder)  # tokens are made beside a server
    with pytest.raises(HedgerowError, match="another server"):
        other.hold()
    state.close()
    other.hold()
    other.close()


def test_each_dataset_numbers_its_own_history(state):
    log = AskedLog(state)
    now = tokens.stamp(datetime.now(UTC))
    log._write([("a", "ann", line(now)), ("b", "ann", line(now)), ("a", "ann", line(now))])
    log._write([("b", "ann", line(now))])
    assert [item["seq"] for item in log.history("a", "ann", -1, 10)] == [1, 2]
    assert [item["seq"] for item in log.history("b", "ann", 1, 10)] == [2]
    log.close()


def test_questions_are_forgotten_after_their_days_and_numbers_go_on(state):
    log = AskedLog(state, days=30)
    then = tokens.stamp(datetime.now(UTC) - timedelta(days=31))
    log._pruned = float("inf")
    log._write([("a", "ann", line(then)), ("a", "ann", line(then))])
    log.bind("a", "ann", "old", "q")
    with state.writing() as db:
        db.execute("UPDATE request SET made = ?", (then,))
    log._pruned = float("-inf")
    log._write([("a", "ann", line(tokens.stamp(datetime.now(UTC))))])
    assert [item["seq"] for item in log.history("a", None, -1, 10)] == [3]
    assert log.bind("a", "ann", "old", "another question") is None
    log.close()


def started(folder, monkeypatch, token=None, **server):
    if token is None:
        monkeypatch.delenv(OWNER_TOKEN, raising=False)
    else:
        monkeypatch.setenv(OWNER_TOKEN, token)
    data = folder / "people.csv" if (folder / "people.csv").exists() else write_people(folder)
    host = Host(Config(ServerSettings(**server), Limits(), (DatasetSettings(str(data)),)))
    host.start()
    return host


def test_an_owner_token_that_the_environment_no_longer_names_is_no_good(tmp_path, monkeypatch):
    first, second = (f"hr_{name}_{'s' * 30}" for name in ("first", "second"))

    def good(host, text):
        return host.state.token(text, datetime.now(UTC)) is not None

    host = started(tmp_path, monkeypatch, first)
    assert good(host, first)
    host.close(1)
    host = started(tmp_path, monkeypatch, second)
    assert good(host, second)
    assert not good(host, first)
    host.close(1)
    host = started(tmp_path, monkeypatch)  # not named: nothing changes
    assert good(host, second)
    host.close(1)


def test_owners_add_files_of_the_folders_that_the_server_was_given_and_no_others(tmp_path, monkeypatch):
    (tmp_path / "served").mkdir()
    (tmp_path / "more").mkdir()
    (tmp_path / "secret").mkdir()
    host = started(tmp_path / "served", monkeypatch, folders=(str(tmp_path / "more"),))
    for folder in ("served", "more", "secret"):
        (tmp_path / folder / "other.csv").write_text("a\n1\n")
    (tmp_path / "served" / "link.csv").symlink_to(tmp_path / "secret" / "other.csv")
    secret = str(tmp_path / "secret" / "other.csv")
    for wrong in (
        {"path": secret}, {"path": "../secret/other.csv"}, {"path": "link.csv"}, {"path": "/etc/passwd"},
        {"path": str(tmp_path / "secret" / "not-there.csv")}, {"path": "other.csv", "ledger": secret},
        {"path": "other.csv", "schema": "../secret/schema.yaml"},
    ):  # fmt: skip
        with pytest.raises(NotPermitted):
            host.add(wrong)
    with pytest.raises(BadValue):
        host.add({"path": "other.csv", "ledger": 3})
    assert host.add({"path": "other.csv"}).name == "other"
    assert host.add({"path": str(tmp_path / "more" / "other.csv"), "name": "more"}).name == "more"
    host.close(1)


def test_folders_are_read_from_the_configuration(tmp_path):
    file = tmp_path / "hedgerow.toml"
    file.write_text('[server]\nfolders = ["in", "/srv/data"]\n')
    assert Config.load(file).server.folders == (str(tmp_path / "in"), "/srv/data")
    file.write_text("[server]\nfolders = [1]\n")
    with pytest.raises(HedgerowError, match="folders"):
        Config.load(file)
