"""Two servers and one ledger in PostgreSQL: one budget, one session, whatever is killed, stopped or cut."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hedgerow.privacy.ledger.ledger import Ledger
from services.crowd import Crowd, D, crowd_of_fifty, question, sql_of, write_crowd
from services.hosts import HOW, Hosts
from services.patience import eventually
from services.postgres import Cluster, fresh_name, shared
from services.server import RunningServer

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.timeout(2400)]


class Pair:
    """Two servers of one dataset, whose ledger lies in PostgreSQL; each has a state folder of its own."""

    def __init__(self, folder: Path, url: str, hosts: Hosts | None) -> None:
        self.folder, self.url, self.hosts = folder, url, hosts
        cache = {"XDG_CACHE_HOME": str(folder / "cache")}
        self.servers = []
        for i in range(2):
            at = () if hosts is None else ("--host", hosts.addresses[i], "--insecure")
            inside = () if hosts is None else hosts.inside(i)
            options = ("--config", "hedgerow.toml", "--state", f"state{i}", *at)
            self.servers.append(RunningServer(folder, options, cache, inside))

    def start(self) -> Pair:
        for server in self.servers:
            server.start()
        return self

    def end(self) -> None:
        for server in self.servers:
            if server.process is not None and server.process.poll() is None:
                server.process.kill()
                server.process.wait(10)

    def ledger(self) -> Ledger:
        return Ledger.open(self.url, create=False)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts | None]:
    """Two hosts, where they can be had."""
    made = Hosts()
    yield made if made.make() else None
    made.remove()


@pytest.fixture(scope="module")
def cluster(hosts: Hosts | None) -> Iterator[Cluster]:
    """A cluster that may be stopped: no other tests are in it."""
    shared()  # or skip
    folder = Path(tempfile.mkdtemp(prefix="hedgerow-pg-", dir="/tmp"))
    folder.chmod(0o755)
    made = Cluster(folder / "c").make()
    if hosts is not None:
        made.configure(listen_addresses=f"'127.0.0.1,{hosts.gateway}'")
        with (made.data / "pg_hba.conf").open("a") as out:
            out.write(f"host all all {hosts.network} trust\n")
    yield made.start()
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def pair(cluster: Cluster, hosts: Hosts | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    name = fresh_name()
    near = cluster.url(name)
    far = near if hosts is None else cluster.url(name, host=hosts.gateway)
    write_crowd(folder, more=f'ledger = "{far}"\n')
    made = Pair(folder, near, hosts)
    yield made.start()
    made.end()


def ask(server: RunningServer, token: str | None = None, **body: Any) -> dict[str, Any]:
    reply = server.post(f"{D}/ask", body, token)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_what_one_server_says_the_other_says_too(pair: Pair) -> None:
    """No stale free answer, no second noise; limits, freezing and raising reach both."""
    one, two = pair.servers
    before = ask(two, sql=sql_of(70))
    assert before["source"] == "learned"
    assert ask(two, sql=sql_of(70))["rows"] == before["rows"]
    paid = ask(one, **question(70, 60))
    assert paid["cost"] is not None
    for server, body in ((two, {"sql": sql_of(70)}), (two, question(70, 60)), (one, {"sql": sql_of(70)})):
        told = ask(server, **body)
        assert (told["rows"], told["cost"]) == (paid["rows"], None)
    one.new_token("lim", may_spend=True)
    token = two.new_token("lim", may_spend=True)
    assert one.call("PUT", "/v1/analysts/lim/limits/people", json={"epsilon": 0.001}).status_code == 200
    refused = two.post(f"{D}/ask", question(71, 60), token)
    assert (refused.status_code, refused.json()["error"]["code"]) == (402, "limit_refused")
    assert one.post(f"{D}/freeze", {"reason": "a look"}).status_code == 200
    assert two.post(f"{D}/ask", {"sql": sql_of(70)}).json()["error"]["code"] == "frozen"
    assert one.post(f"{D}/thaw", {"reason": "looked"}).status_code == 200
    eventually(lambda: two.state() == "ready")
    assert ask(two, sql=sql_of(70))["rows"] == paid["rows"]
    with pair.ledger() as ledger:
        assert ledger.verify().ok


def test_kills_of_two_servers_leave_every_reply_charged_once_and_none_lost(pair: Pair, size: Any) -> None:
    crowd = Crowd(pair.servers, [f"analyst{i}" for i in range(3)])
    crowd.disturbed(lambda: crowd.kills(size(2, 100)), most=size(7, 20), least=2)
    with pair.ledger() as ledger:
        _judge_own(crowd, ledger)


def test_a_database_that_stops_and_starts_gets_503_and_then_answers(
    pair: Pair, cluster: Cluster, size: Any
) -> None:
    crowd = Crowd(pair.servers, ["dora", "egon"])

    def stops() -> None:
        for mode in size(["immediate"], ["immediate", "fast"] * 10):
            time.sleep(0.3)
            cluster.stop(mode)
            refused = pair.servers[0].post(f"{D}/ask", {"sql": sql_of(1)})
            assert refused.status_code == 503, refused.text
            assert refused.json()["error"]["code"] == "ledger_unavailable"
            assert "Retry-After" in refused.headers
            cluster.start()

    crowd.disturbed(stops, most=size(7, 20), least=2)
    with pair.ledger() as ledger:
        _judge_own(crowd, ledger)


def _judge_own(crowd: Crowd, ledger: Ledger) -> None:
    """Earlier tests of this module asked the same ledger: their charges are nobody's here."""
    from services import history

    asked = {s.question for s in crowd.notebook.sent if s.accurate}
    own = [paid for paid in history.charges(ledger) if paid.question in asked]
    wrong = history.problems(crowd.notebook.sent, own, ledger.hash_at)
    assert not wrong, wrong[:5]
    outcome = ledger.verify()
    assert outcome.ok, outcome.describe()
    assert ledger.spent() <= ledger.budget.cost
    assert len({s.question for s in crowd.notebook.sent if s.got}) > len(crowd.names)


def test_the_two_servers_are_on_two_hosts_and_one_that_is_cut_off_holds_nobody_up_for_long(
    pair: Pair, size: Any
) -> None:
    """A host that is cut off in the middle of its turn holds the ledger until the database misses it."""
    if pair.hosts is None:
        pytest.skip(HOW)
    hosts, (one, two) = pair.hosts, pair.servers
    assert [server.url.split(":")[1] for server in (one, two)] == [f"//{a}" for a in hosts.addresses]
    crowd = Crowd(pair.servers, ["fay", "gus"])

    def cut() -> None:
        for _ in range(size(0, 3)):
            time.sleep(1)
            crowd.up[1].clear()
            hosts.link(1, up=False)
            time.sleep(40)
            hosts.link(1, up=True)
            crowd.up[1].set()

    crowd.disturbed(cut, most=size(3, 20), least=1)
    with pair.ledger() as ledger:
        _judge_own(crowd, ledger)


def test_fifty_analysts_over_two_servers_pass_neither_the_cap_nor_their_own_limits(
    pair: Pair, size: Any
) -> None:
    judge = crowd_of_fifty(pair.servers, size(2, 8))
    assert [server.stop() for server in pair.servers] == [0, 0]
    with pair.ledger() as ledger:
        judge(ledger)
