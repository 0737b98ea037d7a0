"""Kills and crowds: nothing uncharged, nothing twice, nothing lost; no cap and no limit is passed."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from hedgerow.audit.ledger_replay import replay
from hedgerow.privacy.ledger.ledger import Ledger
from services.server import RunningServer, write_people

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.timeout(2400)]
D = "/v1/datasets/people"
CONFIG = '[server]\ngrid_ms = 20\n[[dataset]]\npath = "people.csv"\nepsilon = 4\nlearn = 0.5\n'
LEVELS = [f"l{i}" for i in range(40)]


@pytest.fixture
def crowded(tmp_path: Path):
    """A server with a column of many levels, so that there are many different questions."""
    write_people(tmp_path, 500)
    rows = (tmp_path / "people.csv").read_text().splitlines()[1:]
    lines = [f"{row},{LEVELS[i % len(LEVELS)]}" for i, row in enumerate(rows)]
    (tmp_path / "people.csv").write_text("sex,k,l\n" + "\n".join(lines) + "\n")
    schema = f"attributes:\n  sex: [F, M]\n  k: [0, 1, 2]\n  l: [{', '.join(LEVELS)}]\n"
    (tmp_path / "schema.yaml").write_text(schema)
    (tmp_path / "hedgerow.toml").write_text(CONFIG)
    server = RunningServer(tmp_path, ("--config", "hedgerow.toml"))
    yield server.start()
    if server.process.poll() is None:
        server.process.kill()
        server.process.wait(10)


def question(number: int, close: float) -> dict:
    sex, level = "FM"[number % 2], LEVELS[number // 2 % len(LEVELS)]
    where = f"sex = '{sex}' AND l = '{level}'"
    return {"sql": f"SELECT COUNT(*) AS n FROM people WHERE {where}", "within_count": close, "spend": True}


def ledger_of(server: RunningServer) -> Ledger:
    return Ledger.open(server.folder / "people.csv.hedgerow.db", create=False, readonly=True)


def measured(ledger: Ledger) -> list:
    """The charges for answers that were measured."""
    return [e for e in ledger.replay(None) if e.kind == "charge" and "own measurement" in e.note]


def test_kills_under_load_leave_every_reply_charged_once_and_none_lost(crowded, size):
    kills, clients, most = size(5, 100), 4, 20
    tokens = [crowded.new_token(f"analyst{i}", may_spend=True) for i in range(clients)]
    seen: dict[tuple[int, int], list] = defaultdict(list)
    up, over = threading.Event(), threading.Event()
    up.set()

    def client(me: int) -> None:
        for turn in range(most):
            if turn > 5 and over.is_set():
                return
            while turn == most - 1 and not over.is_set():  # the last one is asked after the last kill
                time.sleep(0.05)
            asked = question(me * most + turn, 90) | {"request": f"ask {turn}"}
            for _ in range(2):  # also when it was answered: the reply may have been lost
                told = None
                while told is None:
                    up.wait()
                    try:
                        reply = crowded.post(f"{D}/ask", asked, tokens[me])
                    except httpx.HTTPError:
                        time.sleep(0.05)
                        continue
                    assert reply.status_code in (200, 503), reply.text
                    told = reply.json() if reply.status_code == 200 else None
                seen[me, turn].append(told)

    def killer() -> None:
        for number in range(kills):
            time.sleep(0.2 + 0.37 * (number % 4))
            up.clear()
            crowded.process.send_signal(signal.SIGKILL)
            crowded.process.wait()
            crowded.start(learned=False)
            crowded.wait("ready")
            up.set()
        over.set()

    with ThreadPoolExecutor(clients + 1) as pool:
        done = [pool.submit(killer), *(pool.submit(client, me) for me in range(clients))]
        for future in done:
            future.result()
    assert crowded.stop() == 0
    for told in seen.values():
        assert len({json.dumps(t["rows"]) for t in told}) == 1
        assert sum(t["cost"] is not None for t in told) <= 1
    with ledger_of(crowded) as ledger:
        assert ledger.verify().ok
        assert replay(ledger).ok
        charges = measured(ledger)
        assert len(charges) == len(seen) >= 6 * clients  # nothing twice, nothing uncharged
        values = sorted(float(t[0]["rows"][0]["n"]["value"]) for t in seen.values())
        assert len(values) == len(charges)
        assert {e.account.split(":")[0] for e in charges} <= {f"analyst{i}" for i in range(clients)}
        receipts = [t["receipt"] for told in seen.values() for t in told if t["receipt"]]
        assert all(ledger.hash_at(r["seq"]) == r["head"] for r in receipts)


def test_fifty_analysts_at_once_pass_neither_the_cap_nor_their_own_limits(crowded, size):
    analysts, each = 50, size(2, 8)
    names = [f"crowd{i}" for i in range(analysts)]
    tokens = [crowded.new_token(name, may_spend=True) for name in names]
    for name in names[::2]:
        assert (
            crowded.call("PUT", f"/v1/analysts/{name}/limits/people", json={"epsilon": 0.5}).status_code
            == 200
        )

    def ask(me: int) -> list[tuple[int, dict]]:
        out = []
        for turn in range(each):
            close = (25, 14, 60, 14)[me % 4]  # some of it is more than a limit, all of it than there is
            reply = crowded.post(f"{D}/ask", question(me * each + turn, close), tokens[me])
            out.append((reply.status_code, reply.json()))
        return out

    with ThreadPoolExecutor(analysts) as pool:
        replies = list(pool.map(ask, range(analysts)))
    said = [told["error"]["code"] for many in replies for status, told in many if status != 200]
    assert set(said) == {"budget_refused", "limit_refused"}
    yours = [crowded.get(f"{D}/budget", token).json()["yours"] for token in tokens[::2]]
    assert all(y["spent"]["epsilon"] <= y["limit"]["epsilon"] for y in yours)
    assert crowded.stop() == 0
    with ledger_of(crowded) as ledger:
        assert ledger.verify().ok
        assert replay(ledger).ok
        assert ledger.spent() <= ledger.budget.cost
        paid = sum((e.cost.amount for e in ledger.replay(None) if e.kind == "charge"), Fraction(0))
        assert paid == ledger.spent().amount  # all that was given for charges was charged
        for name in names[::2]:
            assert ledger.spent(name) <= ledger.limit(name).most
        answered = [told for many in replies for status, told in many if status == 200]
        assert len(measured(ledger)) == sum(told["cost"] is not None for told in answered)
