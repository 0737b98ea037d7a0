"""State: what a server keeps beside ledgers, in server.db - tokens, jobs, approvals, what was asked.

It holds nothing that ledgers do not vouch for and nothing exact. If it is lost, tokens must be made anew and
nothing else is: charges, answers and limits are in the ledgers.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError, NotFound, StorageUnavailable, of_system
from hedgerow.service import tokens
from hedgerow.service.tokens import Secret, Token

FILE, LOCK, FORMAT = "server.db", "server.lock", 3
_APPLICATION = 0x48656473  # "Heds"
_SAVED = """
CREATE TABLE saved (dataset TEXT NOT NULL, who TEXT NOT NULL, name TEXT NOT NULL, sql TEXT NOT NULL,
    within REAL, PRIMARY KEY (dataset, who, name)) WITHOUT ROWID
"""
_SCHEMA = """
CREATE TABLE token (id TEXT PRIMARY KEY, digest BLOB NOT NULL, verifier TEXT NOT NULL, name TEXT NOT NULL,
    role TEXT NOT NULL, datasets TEXT NOT NULL, may_spend INTEGER NOT NULL, made TEXT NOT NULL,
    expires TEXT NOT NULL, used TEXT, revoked TEXT, source TEXT);
CREATE TABLE dataset (name TEXT PRIMARY KEY, settings TEXT NOT NULL);
CREATE TABLE job (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, state TEXT NOT NULL, job TEXT NOT NULL);
CREATE TABLE approval (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, who TEXT NOT NULL, state TEXT NOT NULL,
    item TEXT NOT NULL);
CREATE TABLE request (dataset TEXT, who TEXT, request TEXT, question TEXT NOT NULL, answer TEXT,
    made TEXT NOT NULL DEFAULT '', PRIMARY KEY (dataset, who, request));
CREATE TABLE asked (dataset TEXT NOT NULL, seq INTEGER NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL,
    item TEXT NOT NULL, PRIMARY KEY (dataset, seq)) WITHOUT ROWID;
"""
_SCHEMA += _SAVED
_UPGRADES = {  # statements that make a file of one format one of the next
    1: """
ALTER TABLE token ADD COLUMN source TEXT;
ALTER TABLE request ADD COLUMN made TEXT NOT NULL DEFAULT '';
UPDATE request SET made = strftime('%Y-%m-%dT%H:%M:%SZ', 'now');
ALTER TABLE asked RENAME TO asked_before;
CREATE TABLE asked (dataset TEXT NOT NULL, seq INTEGER NOT NULL, who TEXT NOT NULL, made TEXT NOT NULL,
    item TEXT NOT NULL, PRIMARY KEY (dataset, seq)) WITHOUT ROWID;
INSERT INTO asked SELECT dataset, ROW_NUMBER() OVER (PARTITION BY dataset ORDER BY seq), who,
    COALESCE(json_extract(item, '$.time'), ''), item FROM asked_before;
DROP TABLE asked_before
""",
    2: _SAVED,
}


def folder(path: Path) -> Path:
    """The state folder, made for its owner alone if it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise of_system(error, f"the state folder {str(path)!r} cannot be used") from None
    return path


class ServerState:
    """The file server.db in a state folder; any thread may use it, and other processes beside it.

    Args:
        place: the folder.
    """

    def __init__(self, place: Path) -> None:
        self.folder = folder(place)
        self.path = self.folder / FILE
        self.new = not self.path.exists()
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        os.close(handle)
        os.chmod(self.path, 0o600)
        self._lock, self._held = threading.RLock(), -1
        self._db = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
        self.rows("PRAGMA journal_mode=WAL")
        self.rows("PRAGMA synchronous=NORMAL")  # kills lose nothing; a power cut a moment
        with self.writing() as db:
            self._check(db)

    def _check(self, db: sqlite3.Connection) -> None:
        """Lay out a new file, bring an old one up to date; refuse one that a newer program wrote."""
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
        if version > FORMAT:
            raise HedgerowError(f"the state {str(self.path)!r} was written by a newer Hedgerow: use that one")
        for step in [_SCHEMA] if version == 0 else [_UPGRADES[n] for n in range(version, FORMAT)]:
            for statement in step.split(";"):
                db.execute(statement)
        if version != FORMAT:
            db.execute(f"PRAGMA user_version={FORMAT}")
            db.execute(f"PRAGMA application_id={_APPLICATION}")

    def hold(self) -> None:
        """Be the only server of this folder until the process ends; tokens can still be made beside it."""
        self._held = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._held)
            self._held = -1
            raise HedgerowError(
                f"another server uses the state folder {str(self.folder)!r}",
                hint="end that one, or give this one a folder of its own with --state",
            ) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; what fails leaves nothing behind."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise StorageUnavailable(f"the state {str(self.path)!r} cannot be used: {error}") from None
            finally:
                if self._db.in_transaction:
                    self._db.rollback()

    def rows(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        """What a statement finds."""
        with self._lock:
            try:
                return self._db.execute(sql, args).fetchall()
            except sqlite3.Error as error:
                raise StorageUnavailable(f"the state {str(self.path)!r} cannot be used: {error}") from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    # -- tokens -------------------------------------------------------------------------------------------

    def keep_token(self, secret: Secret, token: Token) -> Token:
        """Keep a token, in place of an earlier one with its id."""
        kept = (secret.digest, secret.verifier, token.name, token.role, json.dumps(token.datasets))
        values = (token.id, *kept, token.may_spend, token.made, token.expires, None, None, token.source)
        with self.writing() as db:
            places = ",".join("?" * len(values))
            db.execute(f"INSERT OR REPLACE INTO token ({_KEPT}) VALUES ({places})", values)
            if token.visits:  # those that are over tell nobody anything
                db.execute("DELETE FROM token WHERE source LIKE 'l%' AND expires < ?", (token.made,))
        return token

    def tokens(self) -> list[Token]:
        """All tokens, the oldest first."""
        return [_token(row) for row in self.rows(f"SELECT {_COLUMNS} FROM token ORDER BY made, id")]

    def revoke(self, id: str) -> Token:
        """End a token now, and the visits that were begun with it."""
        with self.writing() as db:
            done = db.execute(
                "UPDATE token SET revoked = COALESCE(revoked, ?) WHERE id = ? OR source = ?",
                (tokens.stamp(datetime.now(UTC)), id, f"login {id}"),
            )
            if not done.rowcount:
                raise NotFound("there is no token of that id", hint="list them")
        return next(token for token in self.tokens() if token.id == id)

    def token(self, text: str, now: datetime, *, visit: bool = False) -> Token | None:
        """The token that a text is, if it is a good one; says nothing about why it is none.

        Args:
            text: the token.
            now: the time.
            visit: whether it came as a browser's cookie: those are good for nothing else.
        """
        found = self.held(text)
        return found if found is not None and found.lives(now) and found.visits == visit else None

    def held(self, text: str) -> Token | None:
        """The token that a text is, good or not any more: for whoever holds all of it, and nobody else."""
        parts = tokens.read(text)
        rows = self.rows(f"SELECT {_COLUMNS}, digest FROM token WHERE id = ?", parts[0] if parts else "")
        if not tokens.matches(text, rows[0][-1] if rows else None) or parts is None:
            return None
        return _token(rows[0][:-1])

    def verifier(self, name: str, now: datetime) -> tuple[Token, str] | None:
        """The token and SCRAM verifier of a token id, or of a name that has exactly one live token."""
        rows = self.rows(f"SELECT {_COLUMNS}, verifier FROM token WHERE id = ? OR name = ?", name, name)
        found = [(_token(row[:-1]), row[-1]) for row in rows]
        live = [(token, held) for token, held in found if token.lives(now) and not token.visits]
        named = [pair for pair in live if pair[0].id == name] or live
        return named[0] if len(named) == 1 else None

    @property
    def pepper(self) -> bytes:
        """A secret of this state that stays the same: what is kept of its oldest token."""
        rows = self.rows("SELECT digest FROM token ORDER BY made, id LIMIT 1")
        return bytes(rows[0][0]) if rows else bytes(32)

    def used(self, times: dict[str, str]) -> None:
        """Note when tokens were last used."""
        with self.writing() as db:
            db.executemany("UPDATE token SET used = ? WHERE id = ?", [(t, id) for id, t in times.items()])

    # -- datasets, jobs and approvals: plain data by name ---------------------------------------------------

    def datasets(self) -> dict[str, dict[str, Any]]:
        """The datasets that the owner added while the server ran."""
        return {name: held for name, held in self._kept() if not name.startswith(_AS)}

    def readings(self) -> dict[str, dict[str, Any]]:
        """How the owner said that files of datasets are read, whoever added them."""
        return {name.removeprefix(_AS): held for name, held in self._kept() if name.startswith(_AS)}

    def keep_reading(self, name: str, how: dict[str, Any]) -> None:
        """Keep that of one of them."""
        self.keep_dataset(_AS + name, how)

    def _kept(self) -> list[tuple[str, dict[str, Any]]]:
        rows = self.rows("SELECT name, settings FROM dataset")
        return [(name, json.loads(text)) for name, text in rows]

    def keep_dataset(self, name: str, settings: dict[str, Any]) -> None:
        """Keep one of them."""
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO dataset VALUES (?, ?)", (name, json.dumps(settings)))

    def keep_job(self, id: str, dataset: str, state: str, job: dict[str, Any]) -> None:
        """Keep a job as it stands."""
        with self.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?)", (id, dataset, state, json.dumps(job))
            )

    def jobs(self, *states: str) -> list[dict[str, Any]]:
        """The jobs in some states, in the order in which they were asked for; all if none is named."""
        where = f"WHERE state IN ({','.join('?' * len(states))})" if states else ""
        return [
            json.loads(row[0]) for row in self.rows(f"SELECT job FROM job {where} ORDER BY rowid", *states)
        ]

    def keep_approval(self, id: str, dataset: str, who: str, state: str, item: dict[str, Any]) -> None:
        """Keep a question that waits for the owner, or was decided."""
        with self.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO approval VALUES (?, ?, ?, ?, ?)",
                (id, dataset, who, state, json.dumps(item)),
            )

    def approvals(self, dataset: str | None = None, who: str | None = None) -> list[dict[str, Any]]:
        """Questions that wait or were decided: of a dataset, of a person, or all."""
        sql = "SELECT item FROM approval WHERE (? IS NULL OR dataset = ?) AND (? IS NULL OR who = ?)"
        found = self.rows(f"{sql} ORDER BY rowid", dataset, dataset, who, who)
        return [json.loads(row[0]) for row in found]


_AS = "reading of "  # before a dataset's name, which has no space
_COLUMNS = "id, name, role, datasets, may_spend, made, expires, used, revoked, source"
_KEPT = _COLUMNS.replace("id,", "id, digest, verifier,", 1)


def _token(row: tuple[Any, ...]) -> Token:
    id, name, role, datasets, may_spend, *times = row
    return Token(id, name, role, tuple(json.loads(datasets)), bool(may_spend), *times)
