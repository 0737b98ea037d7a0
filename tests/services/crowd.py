"""A crowd at one or two servers: clients that never give up, and note everything that they sent and heard."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx

import hedgerow as hr
from hedgerow.audit.ledger_replay import replay
from hedgerow.privacy.ledger.ledger import Ledger
from services.history import Notebook, Sent, check, question_of
from services.server import RunningServer, write_people

D = "/v1/datasets/people"
LEVELS = [f"l{i}" for i in range(40)]
DOMAIN = hr.Domain({"sex": ["F", "M"], "k": [0, 1, 2], "l": LEVELS})
CONFIG = '[server]\ngrid_ms = 20\n{server}[[dataset]]\npath = "people.csv"\nepsilon = 4\nlearn = 0.5\n{more}'


def write_crowd(folder: Path, server: str = "", more: str = "") -> None:
    """People with a column of many levels, so that there are many questions, and a configuration."""
    write_people(folder, 500)
    rows = (folder / "people.csv").read_text().splitlines()[1:]
    lines = [f"{row},{LEVELS[i % len(LEVELS)]}" for i, row in enumerate(rows)]
    (folder / "people.csv").write_text("sex,k,l\n" + "\n".join(lines) + "\n")
    schema = f"attributes:\n  sex: [F, M]\n  k: [0, 1, 2]\n  l: [{', '.join(LEVELS)}]\n"
    (folder / "schema.yaml").write_text(schema)
    (folder / "hedgerow.toml").write_text(CONFIG.format(server=server, more=more))


def sql_of(number: int) -> str:
    """One of 80 counts."""
    sex, level = "FM"[number % 2], LEVELS[number // 2 % len(LEVELS)]
    return f"SELECT COUNT(*) AS n FROM people WHERE sex = '{sex}' AND l = '{level}'"


def question(number: int, close: float) -> dict[str, Any]:
    """The same, to be measured."""
    return {"sql": sql_of(number), "within_count": close, "spend": True}


class Crowd:
    """Clients of servers that share one ledger.

    Args:
        servers: that run.
        names: of the clients; each has a token at every server.
    """

    def __init__(self, servers: Sequence[RunningServer], names: Sequence[str]) -> None:
        self.servers, self.names = servers, list(names)
        self.tokens = [[server.new_token(name, may_spend=True) for server in servers] for name in names]
        self.notebook = Notebook()
        self.progress = 1.0  # of a disturbance that says how far it is
        self.up = [threading.Event() for _ in servers]
        for up in self.up:
            up.set()

    def ask(self, me: int, at: int, number: int, request: str | None, close: float | None) -> None:
        """Ask until there is an answer, at whichever server is up, beginning with one of them."""
        sql, body = sql_of(number), question(number, close) if close is not None else {"sql": sql_of(number)}
        body |= {} if request is None else {"request": request}
        about: dict[str, Any] = {
            "who": self.names[me], "request": request, "question": question_of(DOMAIN, sql),
            "accurate": close is not None,
        }  # fmt: skip
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            at = (at + 1) % len(self.servers)
            if not self.up[at].wait(0.05):
                continue
            about["sent"] = time.monotonic()
            try:
                reply = self.servers[at].post(f"{D}/ask", body, self.tokens[me][at])
            except httpx.HTTPError:
                self.notebook.note(Sent(**about))
                time.sleep(0.02)
                continue
            assert reply.status_code in (200, 503), reply.text
            if reply.status_code == 200:
                self.notebook.heard(reply.json(), **about, got=time.monotonic())
                return
            self.notebook.note(Sent(**about))
            time.sleep(0.05)
        raise AssertionError("no answer for ten minutes")

    def disturbed(self, disturb: Callable[[], None], most: int = 20, least: int = 5) -> None:
        """Let everybody ask questions of their own and one that all ask, each twice, during a disturbance.

        New questions are spread over it; in between what was asked is asked again. At least one is asked
        after it is over.
        """
        over = threading.Event()

        def number_of(me: int, turn: int) -> int:
            return me * most + turn if turn % 4 else 4 * turn

        def early(turn: int) -> bool:
            return not over.is_set() and (turn == most - 1 or turn > 1 + self.progress * most)

        def client(me: int) -> None:
            for turn in range(most):
                while early(turn):
                    before = int(time.monotonic() * 1000) % turn
                    self.ask(me, before, number_of(me, before), f"ask {before}", 90)
                    over.wait(0.2)
                number = number_of(me, turn)
                for again in range(2):  # also when it was answered: the reply may have been lost
                    self.ask(me, turn + again, number, f"ask {turn}", 90)
                self.ask(me, turn, number, None, None)
                if turn >= least and over.is_set() and turn < most - 1:
                    self.ask(me, turn, me * most + most - 1, "last", 90)
                    return

        def first() -> None:
            try:
                disturb()
            finally:
                over.set()

        with ThreadPoolExecutor(len(self.names) + 1) as pool:
            done = [pool.submit(first), *(pool.submit(client, me) for me in range(len(self.names)))]
            for future in done:
                future.result()

    def kill(self, at: int) -> None:
        """kill -9 of a server under load, and start it again."""
        server = self.servers[at]
        self.up[at].clear()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server.process.stdout.close()
        server.start(learned=False)
        server.wait("ready")
        self.up[at].set()

    def kills(self, number: int) -> None:
        """Many of them, at different moments, one server after the other; a slow machine must get on too."""
        for i in range(number):
            self.progress = i / number
            before, deadline = self.notebook.answers, time.monotonic() + 5
            while self.notebook.answers == before and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.37 * (i % 4))
            self.kill(i % len(self.servers))

    def judge(self, ledger: Ledger) -> None:
        """A single curator could have said everything that was heard, and charged it once."""
        bought = check(self.notebook, ledger)
        assert replay(ledger).ok
        assert ledger.spent() <= ledger.budget.cost
        assert {b.who for b in bought} <= set(self.names)
        asked = {s.question for s in self.notebook.sent if s.accurate and s.got is not None}
        assert len(bought) == len(asked)
        assert len(asked) > len(self.names)


def crowd_of_fifty(servers: Sequence[RunningServer], each: int) -> Callable[[Ledger], None]:
    """Fifty analysts at once, half of them under a limit; returns what must hold of the ledger then."""
    names = [f"crowd{i}" for i in range(50)]
    tokens = [[server.new_token(name, may_spend=True) for server in servers] for name in names]
    for i, name in enumerate(names[::2]):
        server = servers[i % len(servers)]
        put = server.call("PUT", f"/v1/analysts/{name}/limits/people", json={"epsilon": 0.5})
        assert put.status_code == 200, put.text

    def ask(me: int) -> list[tuple[int, dict[str, Any]]]:
        out = []
        for turn in range(each):
            at = (me + turn) % len(servers)
            close = (25, 14, 60, 14)[me % 4]  # some of it is more than a limit, all of it than there is
            reply = servers[at].post(f"{D}/ask", question(me * each + turn, close), tokens[me][at])
            out.append((reply.status_code, reply.json()))
        return out

    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(ask, range(50)))
    said = [told["error"]["code"] for many in replies for status, told in many if status != 200]
    assert set(said) == {"budget_refused", "limit_refused"}
    for i, own in enumerate(tokens[::2]):
        at = i % len(servers)
        yours = servers[at].get(f"{D}/budget", own[at]).json()["yours"]
        assert yours["spent"]["epsilon"] <= yours["limit"]["epsilon"]
    answered = [told for many in replies for status, told in many if status == 200]

    def judge(ledger: Ledger) -> None:
        assert ledger.verify().ok
        assert replay(ledger).ok
        assert ledger.spent() <= ledger.budget.cost
        lines = list(ledger.replay(None))
        paid = sum((e.cost.amount for e in lines if e.kind == "charge"), Fraction(0))
        assert paid == ledger.spent().amount  # all that was given for charges was charged
        for name in names[::2]:
            limit = ledger.limit(name)
            assert limit is not None
            assert limit.most is not None
            assert ledger.spent(name) <= limit.most
        own = [e for e in lines if "own measurement" in e.note and e.account in names]
        assert len(own) == sum(told["cost"] is not None for told in answered)

    return judge
