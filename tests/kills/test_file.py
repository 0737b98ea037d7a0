"""Kills, crowds, a full disk and a clock that goes back, with the ledger in a file."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hedgerow.privacy.ledger.ledger import Ledger
from services.crowd import Crowd, D, crowd_of_fifty, question, write_crowd
from services.server import RunningServer

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.timeout(2400)]


@pytest.fixture
def crowded(tmp_path: Path):
    write_crowd(tmp_path)
    server = RunningServer(tmp_path, ("--config", "hedgerow.toml"))
    yield server.start()
    if server.process.poll() is None:
        server.process.kill()
        server.process.wait(10)


def ledger_of(server: RunningServer) -> Ledger:
    return Ledger.open(server.folder / "people.csv.hedgerow.db", create=False, readonly=True)


def test_kills_under_load_leave_every_reply_charged_once_and_none_lost(crowded, size):
    crowd = Crowd([crowded], [f"analyst{i}" for i in range(4)])
    crowd.disturbed(lambda: crowd.kills(size(5, 100)))
    assert crowded.stop() == 0
    with ledger_of(crowded) as ledger:
        crowd.judge(ledger)


def test_fifty_analysts_at_once_pass_neither_the_cap_nor_their_own_limits(crowded, size):
    judge = crowd_of_fifty([crowded], size(2, 8))
    assert crowded.stop() == 0
    with ledger_of(crowded) as ledger:
        judge(ledger)


@pytest.fixture
def small_disk(tmp_path: Path):
    """A disk of two megabytes, for whoever may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a disk that is full needs a small tmpfs, which root may mount: run the tests as root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_refuses_and_nothing_is_lost_once_there_is_room_again(tmp_path, small_disk):
    write_crowd(tmp_path, more=f'ledger = "{small_disk}/ledger.db"\n')
    server = RunningServer(tmp_path, ("--config", "hedgerow.toml"))
    try:
        server.start()
        crowd = Crowd([server], ["ann"])
        crowd.ask(0, 0, 0, "before", 90)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as out:
            try:
                while True:
                    out.write(bytes(4096))
            except OSError:
                pass
        refused = server.post(f"{D}/ask", question(1, 90) | {"request": "full"}, crowd.tokens[0][0])
        assert refused.status_code == 503, refused.text
        assert refused.json()["error"]["code"] == "ledger_unavailable"
        filler.unlink()
        crowd.ask(0, 0, 1, "full", 90)
        crowd.ask(0, 0, 0, "before", 90)
        crowd.ask(0, 0, 2, "after", 90)
        assert server.stop() == 0
        with Ledger.open(small_disk / "ledger.db", create=False) as ledger:
            crowd.judge(ledger)
    finally:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
            server.process.wait(10)


def test_a_clock_that_goes_back_changes_no_charge_and_revives_no_token(tmp_path, monkeypatch):
    """The clock is injected: times of lines say when, and nothing is decided by them but a token's life."""
    from hedgerow.privacy.ledger import transaction
    from hedgerow.service import host as hosting
    from services.server import hosted

    class Clock(datetime):
        off = timedelta(0)

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + cls.off

    for module in (transaction, hosting):
        monkeypatch.setattr(module, "datetime", Clock)
    host, client = hosted(tmp_path / "h")
    try:
        _, text = hosting.make_token(host.state, "bob", "analyst", ("people",), True, None)
        owner = {"Authorization": f"Bearer {text}"}
        body = {"sql": "SELECT COUNT(*) AS n FROM people WHERE k = 1", "within_count": 300, "spend": True}
        first = client.post(f"{D}/ask", json=body | {"request": "r"}, headers=owner).json()
        Clock.off = -timedelta(days=400)
        again = client.post(f"{D}/ask", json=body | {"request": "r"}, headers=owner).json()
        assert (again["rows"], again["cost"]) == (first["rows"], None)
        other = client.post(f"{D}/ask", json=body | {"sql": body["sql"] + " AND sex = 'F'"}, headers=owner)
        assert other.json()["cost"] is not None
        ledger = host.datasets["people"].opened.ledger
        assert ledger.verify().ok
        charged = [e for e in ledger.replay(None) if "own measurement" in e.note]
        assert len(charged) == 2
        assert charged[1].time < charged[0].time  # it says what the clock said
        revoked, secret = hosting.make_token(host.state, "eve", "analyst", ("people",), False, None)
        host.state.revoke(revoked.id)
        Clock.off = -timedelta(days=800)
        assert client.get(D + "/schema", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    finally:
        Clock.off = timedelta(0)
        host.close(1)
