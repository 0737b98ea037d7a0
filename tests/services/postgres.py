"""A PostgreSQL cluster for tests: of its own, in a folder, on a socket and a free port; never as root."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from glob import glob
from pathlib import Path
from typing import Any

import pytest

HOW = "PostgreSQL is not installed: `apt-get install postgresql` (or .ci/system as root) gets it"


def binaries() -> Path | None:
    """Where initdb and postgres are: the newest that Debian has, or what is on the path."""
    found = sorted(glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(Path(p).parts[-3]))
    beside = shutil.which("initdb")
    folders = [Path(p).parent for p in found] + ([Path(beside).resolve().parent] if beside else [])
    usable = [f for f in folders if (f / "postgres").exists() and (f / "pg_ctl").exists()]
    return max(usable, key=lambda f: (f in [Path(p).parent for p in found], str(f))) if usable else None


def unprivileged() -> str | None:
    """Whom to run as: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise RuntimeError("there is no user to run PostgreSQL as")


class Cluster:
    """One cluster; `stop` and `start` keep what is in it.

    Args:
        folder: where its files go; made, and given to whoever runs it.
        settings: more lines of postgresql.conf.
    """

    def __init__(self, folder: Path, settings: dict[str, str] | None = None) -> None:
        found = binaries()
        assert found is not None, HOW
        self.bin, self.user, self.folder = found, unprivileged(), folder
        self.data, self.port = folder / "data", _free_port()
        self.settings = {
            "listen_addresses": "'127.0.0.1'", "port": str(self.port), "max_connections": "60",
            "unix_socket_directories": f"'{folder}'", "shared_buffers": "16MB", "max_wal_senders": "4",
            "dynamic_shared_memory_type": "mmap", "autovacuum": "off", "wal_level": "replica",
        } | (settings or {})  # fmt: skip

    def make(self) -> Cluster:
        """Make it, empty."""
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        if self.user is not None:
            shutil.chown(folder, self.user)
        folder.chmod(0o755)
        pristine = _pristine()
        if not pristine.exists():
            self.run("initdb", "-D", str(pristine), "-A", "trust", "-U", "hedgerow", "-E", "UTF8",
                     "--locale=C", "--no-sync")  # fmt: skip
        subprocess.run(["cp", "-a", str(pristine), str(self.data)], check=True)
        return self.configure()

    def configure(self, **more: str) -> Cluster:
        """Write settings down; they hold from the next start on."""
        self.settings |= more
        text = "".join(f"{name} = {value}\n" for name, value in self.settings.items())
        with (self.data / "postgresql.conf").open("a") as out:
            out.write(text)
        return self

    def start(self) -> Cluster:
        """Start it, and wait until it takes connections; what it says otherwise is a failure."""
        log = self.folder / "log.txt"
        self.run("pg_ctl", "-D", str(self.data), "-l", str(log), "-w", "-t", "60", "start")
        return self

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: smart, fast, or immediate, which is a crash."""
        self.run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop", check=False)

    def run(self, command: str, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One of its programs, as whoever may run it."""
        own: dict[str, Any] = {}
        if self.user is not None:
            own = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile("w+") as said:  # not a pipe: a server that is started keeps it open
            done = subprocess.run(
                [str(self.bin / command), *args], cwd=self.folder, text=True, stdout=said, stderr=said,
                stdin=subprocess.DEVNULL, env=_environment(), **own,
            )  # fmt: skip
            said.seek(0)
            done.stdout = said.read()
        assert not check or done.returncode == 0, f"{command}: {done.stdout}"
        return done

    def url(self, name: str = "hedgerow", *, host: str | None = None, user: str = "hedgerow") -> str:
        """The address of a ledger in it."""
        at = str(self.folder).replace("/", "%2F") if host is None else host
        return f"postgresql://{user}@{at}:{self.port}/postgres#{name}"

    def execute(self, sql: str, user: str = "hedgerow") -> list[tuple[Any, ...]]:
        """One statement by somebody who may do anything."""
        import psycopg

        with psycopg.connect(self.url(user=user).partition("#")[0], autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


def _pristine() -> Path:
    """What initdb makes, once: it takes longer than everything else."""
    global _made
    if _made is None:
        _made = Path(tempfile.mkdtemp(prefix="hedgerow-pg-", dir="/tmp"))
        _made.chmod(0o777)
        atexit.register(shutil.rmtree, _made, ignore_errors=True)
    return _made / "data"


_made: Path | None = None


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LANG": "C", "LC_ALL": "C"}


def _free_port() -> int:
    """Below the ports that connections are given: nobody takes it before the start."""
    for _ in range(1000):
        port = 10_000 + int.from_bytes(os.urandom(4), "big") % 20_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")


_started: Cluster | None = None
_count = itertools.count(1)


def shared() -> Cluster:
    """The cluster that all tests of this process share; skipped, visibly, where there is no PostgreSQL."""
    global _started
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'hedgerow[postgres]'")
    if binaries() is None:
        pytest.skip(HOW)
    if _started is None:
        folder = Path(tempfile.mkdtemp(prefix="hedgerow-pg-", dir="/tmp"))
        folder.chmod(0o755)
        _started = Cluster(folder / "c").make().start()
    return _started


def end_shared() -> None:
    """Stop it, and remove its files."""
    global _started
    if _started is not None:
        _started.stop()
        shutil.rmtree(_started.folder.parent, ignore_errors=True)
        _started = None


def fresh_name() -> str:
    """The name of a ledger that no other test has."""
    return f"l{os.getpid()}_{next(_count)}"
