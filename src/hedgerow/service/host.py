"""Host: everything one server holds - datasets, tokens, jobs, approvals, the log - and who may reach what."""

from __future__ import annotations

import os
import re
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hedgerow.client.environment import secret
from hedgerow.errors import (
    BadValue,
    HedgerowError,
    NotFound,
    NoToken,
    NotPermitted,
    RateLimited,
    Starting,
)
from hedgerow.release.population import Population
from hedgerow.service import setting_up, tokens
from hedgerow.service.approvals import Approvals
from hedgerow.service.asked_log import AskedLog
from hedgerow.service.attempts import Attempts
from hedgerow.service.config import Config, DatasetSettings
from hedgerow.service.grid import Grid
from hedgerow.service.hosted import Hosted
from hedgerow.service.jobs import Jobs
from hedgerow.service.rate import Rate
from hedgerow.service.saved import Saved
from hedgerow.service.setting_up import schema_path
from hedgerow.service.state import ServerState
from hedgerow.service.tokens import Secret, Token
from hedgerow.service.visits import Visits

OWNER_TOKEN = "HEDGEROW_OWNER_TOKEN"
_LISTED, _DEMO = 50, 20_000
_NOTE = 60.0  # seconds between notes of when tokens were last used


class Host:
    """What one server holds.

    Args:
        config: what it was told; checked.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.state = ServerState(config.state)
        self.state.hold()
        self.grid = Grid(config.server.grid_ms / 1000)
        self.log = AskedLog(self.state, days=config.limits.keep_days)
        self.visits = Visits(self.state)
        self.rate, self.attempts = Rate(config.limits.asks_per_minute), Attempts()
        self.datasets: dict[str, Hosted] = {}
        self.approvals = Approvals(self.state)
        self.saved = Saved(self.state)
        self.jobs = Jobs(self.state, lambda name: self.datasets[name].settings, self._changed)
        self.owner_token: str | None = None
        self.ready = self.ending = False
        self._used: dict[str, str] = {}
        self._noted = time.monotonic()

    def start(self) -> None:
        """Open all datasets, take up jobs, and make the first owner's token if there is none."""
        self._own_token()
        added = [DatasetSettings(**held) for held in self.state.datasets().values()]
        for settings in (*self._configured(), *added):
            if settings.called not in self.datasets:
                self._open(self._as_said(settings))
        self.jobs.start()
        for hosted in self.datasets.values():
            self._learn(hosted)

    def close(self, patience: float) -> None:
        """End jobs, give back what was set aside, close ledgers and state."""
        self.ending = True
        self.jobs.close(patience)
        for hosted in self.datasets.values():
            hosted.close()
        self.log.close()
        self._note_used()
        self.state.close()

    def _configured(self) -> tuple[DatasetSettings, ...]:
        ledger = self.config.server.ledger
        if ledger is None:
            return self.config.datasets
        return tuple(replace(dataset, ledger=ledger) for dataset in self.config.datasets)

    def _as_said(self, settings: DatasetSettings) -> DatasetSettings:
        """With the encoding that the owner said of this very file, where none is configured."""
        said = self.state.readings().get(settings.called, {})
        if settings.encoding is not None or said.get("path") != settings.path:
            return settings
        return replace(settings, encoding=said["encoding"])

    def read_as(self, hosted: Hosted, encoding: str | None) -> None:
        """From now on a dataset's file is text of this encoding, also after a restart.

        Args:
            hosted: the dataset, in its lane; nothing is declared of it yet.
            encoding: such as latin-1; UTF-8 if None.
        """
        if encoding == hosted.settings.encoding:
            return
        if hosted.state != "setup":
            raise BadValue("this dataset is set up: how its file is read stays as it is")
        made = replace(hosted.settings, encoding=encoding)
        made.check()
        hosted.settings, hosted.dataset = made, made.dataset()
        self.state.keep_reading(hosted.name, {"path": made.path, "encoding": encoding})

    def _open(self, settings: DatasetSettings) -> Hosted:
        hosted = self.datasets[settings.called] = Hosted(settings)
        hosted.reopen()
        return hosted

    def _learn(self, hosted: Hosted) -> None:
        """Ask for learning where that was configured and nothing was learned."""
        learn = hosted.settings.learn
        if learn is not None and hosted.state == "unlearned" and not self.jobs.unfinished(hosted.name):
            self.jobs.add(hosted.name, {"kind": "learn", "epsilon": learn})

    def standing(self) -> list[str]:
        """How the datasets stand when the server is ready, in sentences for its owner."""
        unready = [hosted for hosted in self.datasets.values() if hosted.state == "setup"]
        how = "do that over HTTP, or with `hedgerow schema infer`"
        words = [f"the dataset {hosted.name} is not set up: {hosted.words}; {how}" for hosted in unready]
        learning = ", ".join(name for name in self.datasets if self.jobs.unfinished(name))
        return [*words, f"Learning, once, for {learning}" if learning else "Nothing has been spent"]

    def settled(self, hosted: Hosted) -> None:
        """The owner has set a dataset up: learn it, where that was asked for when the server was started."""
        if not self.ending:
            self._learn(hosted)

    def _changed(self, name: str) -> None:
        """A job is done with a dataset."""
        if not self.ending:
            self.datasets[name].reopen()

    # -- who asks -----------------------------------------------------------------------------------------

    def who(self, header: str | None, cookie: str | None = None) -> Token:
        """Whose token an Authorization header holds, or a cookie; all that are not good are refused alike."""
        kind, _, text = (header or "").partition(" ")
        now = datetime.now(UTC)
        found = self.state.token(text.strip(), now) if kind.lower() == "bearer" else None
        if header is None and cookie is not None:
            found = self.state.token(cookie, now, visit=True)
        if found is None:
            raise NoToken(
                "this needs a token, and none that is good was sent",
                hint="send the header `Authorization: Bearer hr_...` (clients: set HEDGEROW_TOKEN), or ask "
                "the owner for a new token",
            )
        minute = tokens.stamp(now)[:17] + "00Z"
        self._used |= {found.id: minute, (found.source or found.id).removeprefix("login "): minute}
        if time.monotonic() - self._noted > _NOTE:
            self._note_used()
        return found

    def _note_used(self) -> None:
        self._noted = time.monotonic()
        used, self._used = self._used, {}
        if used:
            self.state.used(used)

    def dataset(self, name: str, who: Token) -> Hosted:
        """A dataset, for somebody who may see it: whether it is there is told to nobody else."""
        if not who.sees(name):
            raise NotPermitted(
                "this token does not reach this dataset", hint="ask the owner for one that does"
            )
        found = self.datasets.get(name)
        if found is None:
            raise NotFound("there is no such dataset")
        return found

    def seen(self, who: Token) -> list[Hosted]:
        """The datasets that somebody may see."""
        return [hosted for name, hosted in sorted(self.datasets.items()) if who.sees(name)]

    def refuse_unready(self) -> None:
        """Refuse new work before the server is ready, and while it ends."""
        if self.ending or not self.ready:
            raise Starting("the server is ending" if self.ending else "the server is starting")

    def refuse_haste(self, who: Token, questions: int = 1) -> None:
        """Refuse whoever asks faster than they may."""
        if not self.rate.allows(who.name, questions):
            raise RateLimited("this token asks faster than it may", hint="wait a little and ask again")

    # -- tokens -------------------------------------------------------------------------------------------

    def new_token(self, asked: Any) -> tuple[Token, str]:
        """Make a token as an owner asks for it; its text is shown once."""
        if not isinstance(asked, dict):
            raise BadValue("a token is asked for as an object with a name and a role")
        if unknown := sorted(map(str, asked.keys() - {"name", "role", "datasets", "may_spend", "expires"})):
            raise BadValue(f"a token has no {unknown[0]!r}")
        given, may_spend = asked.get("datasets"), asked.get("may_spend", False)
        if not isinstance(may_spend, bool):
            raise BadValue("`may_spend` is true or false")
        if given is not None and not (isinstance(given, list) and all(isinstance(d, str) for d in given)):
            raise BadValue("`datasets` is a list of names")
        reach = tokens.ALL if given is None else tuple(given)
        return make_token(
            self.state, asked.get("name"), asked.get("role"), reach, may_spend, asked.get("expires")
        )

    def _own_token(self) -> None:
        """The owner's first token: the one that the environment names, or a new one for a new state."""
        given = secret(OWNER_TOKEN)
        os.environ.pop(OWNER_TOKEN, None)  # no process that is started from here needs it
        if given is None and not self.state.new:
            return
        made = Secret.new() if given is None else Secret.of(given)
        if any(token.id == made.id and token.revoked for token in self.state.tokens()):
            raise HedgerowError(f"the token that {OWNER_TOKEN} names was revoked: name another, or none")
        now = datetime.now(UTC)
        lasts = tokens.expiry(tokens.MOST_DAYS - 1, now)
        source = None if given is None else "environment"
        token = Token(made.id, "owner", "owner", tokens.ALL, True, tokens.stamp(now), lasts, source=source)
        self.state.keep_token(made, token)
        for other in self.state.tokens() if given is not None else ():
            if other.source == "environment" and other.id != made.id and other.revoked is None:
                self.state.revoke(other.id)  # the environment names another one now
        self.owner_token = made.text if given is None else None

    # -- datasets that owners add -------------------------------------------------------------------------

    def add(self, asked: Any, *, own_schema: bool = False) -> Hosted:
        """Serve one more data file of this machine, from now on and after a restart.

        Args:
            asked: its path, and what else a dataset is configured by.
            own_schema: where schema.yaml beside it is another dataset's, it gets a schema file of its own.
        """
        if not isinstance(asked, dict) or not isinstance(asked.get("path"), str):
            raise BadValue('a dataset is added as {"path": "..."}, a file of the server\'s machine')
        names = set(DatasetSettings.__dataclass_fields__)
        if unknown := sorted(map(str, asked.keys() - names)):
            raise BadValue(f"a dataset has no {unknown[0]!r}")
        files = {name: asked[name] for name in ("path", "schema", "ledger") if asked.get(name) is not None}
        placed = {name: str(self.placed(file)) for name, file in files.items()}
        return self._added(DatasetSettings(**asked | placed), own_schema=own_schema)

    def placed(self, file: Any) -> Path:
        """A file of this machine that an owner names over HTTP, in a folder that the server was given."""
        if not isinstance(file, str) or "\0" in file:
            raise BadValue("files are named by texts")
        folders = self.config.folders
        try:
            path = (folders[0] / file).resolve()
        except (OSError, ValueError):
            raise BadValue("that names no file of the server's machine") from None
        if not any(path.is_relative_to(folder) for folder in folders):
            raise NotPermitted(
                "what owners name lies in a folder that the server was given, with all its files",
                hint="put it beside a dataset that is served, or name its folder in [server] folders",
            )
        return path

    def upload(self, name: str, data: bytes) -> Hosted:
        """Serve rows that the owner sends, kept in the state folder."""
        if not re.fullmatch(r"[a-z0-9_]{1,64}", name) or not data:
            raise BadValue(
                "rows are sent with ?name=, in small letters, digits and _",
                hint="a file of the server's machine is named in JSON, with Content-Type: application/json",
            )
        if name in self.datasets:
            raise BadValue(f"there is a dataset {name!r} already")
        suffix = ".parquet" if data.startswith(b"PAR1") else ".csv"
        folder = self.state.folder / "uploads" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"{name}{suffix}"
        handle = os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with open(handle, "wb") as out:
            out.write(data)
        return self._added(DatasetSettings(str(file), name))

    def addable(self) -> list[str]:
        """Data files in the folders that the server was given, which are not served yet."""
        served = {Path(hosted.settings.path).resolve() for hosted in self.datasets.values()}
        found = {
            file.resolve()
            for folder in self.config.folders
            if folder.is_dir()
            for file in folder.iterdir()
            if file.suffix.lower() in (".csv", ".parquet") and file.is_file() and file.resolve() not in served
        }
        return sorted(map(str, found))[:_LISTED]

    def demo(self) -> Hosted:
        """Serve a made-up population with its schema, kept in the state folder."""
        if "demo" in self.datasets:
            raise BadValue("the demo is served already")
        folder = self.state.folder / "uploads" / "demo"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        people = Population(_DEMO, 2024)
        people.write(folder / "demo.csv")
        people.domain().save(folder / "schema.yaml")
        return self._added(DatasetSettings(str(folder / "demo.csv"), "demo"))

    def keep_schema(self, hosted: Hosted, text: Any, confirm: Any) -> None:
        """Keep a schema that an owner sends, but not over the one under which another dataset is served.

        Args:
            hosted: the dataset, in its lane.
            text: YAML; what is there already if None.
            confirm: whether the owner stands by it.
        """
        for other in () if text is None else self.datasets.values():
            if other is not hosted and other.state != "setup" and schema_path(other) == schema_path(hosted):
                raise BadValue(
                    f"{schema_path(hosted).name} is the schema of the dataset {other.name!r} too",
                    hint="put this dataset into a folder of its own, or configure a schema for it",
                )
        folders = (*self.config.folders, hosted.dataset.data.resolve().parent)
        setting_up.keep_schema(hosted, text, confirm, folders)

    def _added(self, settings: DatasetSettings, *, own_schema: bool = False) -> Hosted:
        try:
            settings.check()
        except TypeError:
            raise BadValue("a setting of the dataset has the wrong type") from None
        if settings.called in self.datasets:
            raise BadValue(f"there is a dataset {settings.called!r} already")
        beside = Path(settings.path).parent / "schema.yaml"
        taken = beside in [schema_path(other) for other in self.datasets.values()]
        if own_schema and settings.schema is None and taken:
            settings = replace(settings, schema=str(beside.with_name(f"{settings.called}.schema.yaml")))
        hosted = self._open(settings)
        self.state.keep_dataset(hosted.name, asdict(settings))
        self._learn(hosted)
        return hosted


def make_token(
    state: ServerState, name: Any, role: Any, datasets: tuple[str, ...], may_spend: bool, expires: Any
) -> tuple[Token, str]:
    """Make a token, with or without a server that runs; its text is shown once."""
    made, now = Secret.new(), datetime.now(UTC)
    token = Token(made.id, name, role, datasets, may_spend or role == "owner", tokens.stamp(now),
                  tokens.expiry(expires, now))  # fmt: skip
    clash = [t for t in state.tokens() if t.name == name and (t.role == "owner") != (role == "owner")]
    if clash:
        raise HedgerowError(f"{name!r} is an {clash[0].role} already: one name is one person")
    return state.keep_token(made, token), made.text
