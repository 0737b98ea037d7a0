"""Configuration: what a server is told, by hedgerow.toml, options and the environment; checked strictly."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, get_args, get_type_hints

from hedgerow.errors import HedgerowError, missing, of_system
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.release.schema import Schema
from hedgerow.service.address import as_path
from hedgerow.service.dataset import Dataset, make_budget


@dataclass(frozen=True)
class DatasetSettings:
    """One dataset of a server: `[[dataset]]`.

    Args:
        path: the data.
        name: what it is called; the file's stem, in small letters, digits and _, if None.
        table, query: of a database: its table, or a SELECT of one row by row.
        schema: the schema file; `schema.yaml` beside the data if None.
        ledger: the ledger file, or postgresql://...; the file beside the data if None.
        unit, max_rows, neighbours: whom to protect, when a budget is made.
        epsilon, delta: of the budget that is made if there is none.
        learn: what learning spends, once, if nothing was learned yet.
        within: the accuracy of questions that may spend and name none.
        encoding, delimiter: of a CSV file, if not UTF-8, and if its header does not show it; what the
            schema says if None.
    """

    path: str = field(repr=False)  # an address may hold a password
    name: str | None = None
    table: str | None = None
    query: str | None = None
    schema: str | None = None
    ledger: str | None = field(default=None, repr=False)
    unit: str | None = None
    max_rows: int | None = None
    neighbours: str | None = None
    epsilon: float | str | None = None
    delta: float | str | None = None
    learn: float | str | None = None
    within: float | None = None
    encoding: str | None = None
    delimiter: str | None = None

    @property
    def called(self) -> str:
        """The dataset's name."""
        if self.name is not None:
            return self.name
        if LedgerUrl.of(self.path) is not None:
            stem = (self.table or "query").replace('"', "").rpartition(".")[2]
        else:
            stem = Path(self.path).name.split(".")[0]
        return re.sub(r"[^a-z0-9_]", "_", stem.lower()) or "data"

    @property
    def folder(self) -> Path:
        """The folder that the data lie in; of a database that of its schema, or the working folder."""
        if LedgerUrl.of(self.path) is None:
            return Path(self.path).absolute().parent
        return Path.cwd() if self.schema is None else Path(self.schema).absolute().parent

    def dataset(self) -> Dataset:
        """The rows, their schema and their ledger."""
        neighbours: Any = self.neighbours
        return Dataset(
            as_path(self.path),
            self.ledger,
            self.table,
            self.query,
            delta=self.delta,
            unit=self.unit,
            max_rows=self.max_rows,
            neighbours=neighbours,
            encoding=self.encoding,
            delimiter=self.delimiter,
            schema=None if self.schema is None else Path(self.schema),
        )

    def check(self) -> None:
        """Refuse what cannot be served."""
        if not re.fullmatch(r"[a-z0-9_]{1,64}", self.called):
            raise HedgerowError(f"a dataset's name is small letters, digits and _, not {self.called!r}")
        LedgerUrl.of(self.ledger)  # refuse a name that is none
        served = self.dataset()
        served.refuse_unsaid()
        if self.neighbours not in (None, "add_remove", "replace"):
            raise HedgerowError(f"neighbours are add_remove or replace, not {self.neighbours!r}")
        if (self.unit is None) != (self.max_rows is None):
            raise HedgerowError("unit and max_rows come together: whose rows, and how many of them")
        for epsilon in (self.epsilon, self.learn):
            if epsilon is not None:
                make_budget(epsilon, self.delta)
        if self.learn is not None and self.epsilon is not None and float(self.learn) > float(self.epsilon):
            raise HedgerowError(
                f"learning would spend epsilon {self.learn}, more than the budget of epsilon {self.epsilon}"
            )
        if self.within is not None and not 0 < self.within < 1:
            raise HedgerowError("`within` is a part of all rows, between 0 and 1")
        if served.database is None and not Path(self.path).exists():
            raise missing(Path(self.path))
        if self.schema is not None and not Path(self.schema).exists():
            raise missing(Path(self.schema))
        if self.schema is not None:
            Schema.load(Path(self.schema))


@dataclass(frozen=True)
class Limits:
    """What a server takes from anybody: `[limits]`.

    Args:
        body_bytes: the largest request.
        statement_seconds: how long a question may be worked on before whoever asked is told to come back.
        asks_per_minute: of one person, through all doors and tokens together.
        connections: at once.
        keep_days: how long the log of questions and the answers of request ids are kept.
    """

    body_bytes: int = 1_000_000
    statement_seconds: float = 60.0
    asks_per_minute: int = 120_000
    connections: int = 200
    keep_days: int = 365

    def check(self) -> None:
        """Refuse what would let nobody in."""
        for part in fields(self):
            if not getattr(self, part.name) > 0:
                raise HedgerowError(f"`{part.name}` is above 0")


@dataclass(frozen=True)
class ServerSettings:
    """How a server listens: `[server]`.

    Args:
        host, port: where; port 0 is any free one.
        wire_port: for the PostgreSQL protocol, or `off`; 5433 if it is free, where nothing is said.
        tls_cert, tls_key: files for TLS.
        state: the state folder; `.hedgerow` beside the first dataset if None.
        ledger: the ledger of a server with one dataset.
        grid_ms: charged questions are answered at multiples of this after they came.
        folders: where owners may add datasets from, over HTTP, besides the folders of those that are served.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    wire_port: int | str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    state: str | None = None
    ledger: str | None = None
    grid_ms: int = 250
    folders: tuple[str, ...] = ()

    def check(self, *, insecure: bool) -> None:
        """Refuse to listen where tokens could be overheard, unless that was said to be wanted."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise HedgerowError("--tls-cert and --tls-key come together")
        for file in (self.tls_cert, self.tls_key):
            if file is not None and not Path(file).is_file():
                raise missing(Path(file))
        if not 0 <= self.port < 1 << 16 or not 1 <= self.grid_ms <= 60_000:
            raise HedgerowError("a port lies between 0 and 65535, and grid_ms between 1 and 60000")
        if isinstance(self.wire_port, str) and self.wire_port != "off":
            raise HedgerowError(f"--wire-port is a number or off, not {self.wire_port!r}")
        if self.tls_cert is None and not insecure and not is_loopback(self.host):
            raise HedgerowError(
                f"on {self.host} tokens and answers could be overheard: give --tls-cert and --tls-key, or "
                "say --insecure if something in front of this server speaks TLS"
            )


@dataclass(frozen=True)
class Config:
    """All that a server is told.

    Args:
        server, limits, datasets: see there.
        insecure: listen without TLS anywhere.
    """

    server: ServerSettings = field(default_factory=ServerSettings)
    limits: Limits = field(default_factory=Limits)
    datasets: tuple[DatasetSettings, ...] = ()
    insecure: bool = False

    @classmethod
    def load(cls, path: Path) -> Config:
        """Read hedgerow.toml; a key that means nothing is refused."""
        try:
            held = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise missing(path) from None
        except OSError as error:
            raise of_system(error, f"the file {str(path)!r} cannot be read") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise HedgerowError(f"{str(path)!r} is not TOML: {error}") from None
        if unknown := sorted(held.keys() - {"server", "limits", "dataset"}):
            raise HedgerowError(f"{str(path)!r} has [{unknown[0]}], which means nothing here")
        many = held.get("dataset", [])
        if not isinstance(many, list):
            raise HedgerowError("datasets are written as [[dataset]], with two brackets")
        base = path.absolute().parent
        server = _made(ServerSettings, held.get("server", {}), "[server]", base)
        limits = _made(Limits, held.get("limits", {}), "[limits]", base)
        return cls(server, limits, tuple(_made(DatasetSettings, d, "[[dataset]]", base) for d in many))

    def with_server(self, **given: Any) -> Config:
        """The same with some settings of the server, where they are not None."""
        return replace(self, server=replace(self.server, **{k: v for k, v in given.items() if v is not None}))

    def check(self) -> Config:
        """Itself, if it can be served."""
        self.server.check(insecure=self.insecure)
        self.limits.check()
        for dataset in self.datasets:
            dataset.check()
            if self.server.ledger is None:
                _ = dataset.dataset().path  # rows in a database need one that is named
        names = [dataset.called for dataset in self.datasets]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise HedgerowError(f"two datasets are called {twice[0]!r}: give one of them another name")
        if self.server.ledger is not None and len(self.datasets) != 1:
            raise HedgerowError("--ledger is for a server with one dataset: name each dataset's own")
        return self

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where owners may add datasets from: the first is where names without a folder are looked for."""
        beside = [dataset.folder.resolve() for dataset in self.datasets] or [Path.cwd().resolve()]
        return (*beside, *(Path(folder).resolve() for folder in self.server.folders))

    @property
    def state(self) -> Path:
        """The state folder."""
        if self.server.state is not None:
            return Path(self.server.state)
        beside = self.datasets[0].folder if self.datasets else Path.cwd()
        return beside / ".hedgerow"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


_PATHS = ("path", "schema", "ledger", "state", "tls_cert", "tls_key")


def _made(kind: Any, held: Any, where: str, base: Path) -> Any:
    """Settings from a table of a file: known keys of the right types; paths are beside the file."""
    if not isinstance(held, dict):
        raise HedgerowError(f"{where} is a table of settings")
    types = get_type_hints(kind)
    if kind is ServerSettings and "folders" in held:
        named = held["folders"]
        if not isinstance(named, list) or not all(isinstance(folder, str) for folder in named):
            raise HedgerowError(f"{where}: folders is a list of texts")
        held = held | {"folders": tuple(str(base / folder) for folder in named)}
    for key, value in held.items():
        if key == "folders":
            continue
        if key not in types:
            raise HedgerowError(f"{where} has no setting {key!r}; it has {', '.join(types)}")
        takes = get_args(types[key]) or (types[key],)
        whole = isinstance(value, int) and float in takes
        if isinstance(value, bool) or not (isinstance(value, takes) or whole):
            wanted = " or ".join("a text" if t is str else "a number" for t in takes if t is not type(None))
            raise HedgerowError(f"{where}: {key} is {wanted}, not {value!r}")
    if kind is DatasetSettings and "path" not in held:
        raise HedgerowError(f"{where} needs a path")
    urls = ("postgresql:", "postgres:")
    beside = {k: str(base / v) for k, v in held.items() if k in _PATHS and not str(v).startswith(urls)}
    return kind(**held | beside)
