"""A server over data that grow: after an append it answers what was learned, and limits go on."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from hedgerow.errors import DataChanged, LimitExceeded
from hedgerow.serve.cli.commands import app
from hedgerow.serve.http.app import application
from hedgerow.service import accounts, wire
from hedgerow.service.asking import Ask
from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
from hedgerow.service.host import Host, make_token
from hedgerow.service.hosted import CHANGED, Hosted
from hedgerow.service.learning import Learning
from hedgerow.service.people import accounts_of
from hedgerow.service.tokens import Token

ANN = Token("1", "ann", "analyst", may_spend=True)
OWNER = Token("2", "owner", "owner", may_spend=True)
COUNT = "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'"
OTHER = "SELECT COUNT(*) AS n FROM people WHERE sex = 'M' AND age < 50"
WHOM = "Each id is counted in the block in which it first appeared."


def said(*command: str) -> str:
    done = CliRunner().invoke(app, list(command))
    assert done.exit_code == 0, done.output
    return done.stdout


def append(day: int, *more: str) -> None:
    lines = [f"{60 * day + i},{'FM'[i % 2]},{i}" for i in range(60)]
    Path("rows.csv").write_text("\n".join(["id,sex,age", *lines]))
    said("append", "people", "rows.csv", "--day", f"2026-01-0{day}", *more)


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {bins: [0, 100, 50]}\n")
    append(1, "--epsilon", "60", "--delta", "0", "--unit", "id", "--max-rows", "1")
    append(2)
    hosted = Hosted(DatasetSettings(str(tmp_path / "people")))
    hosted.reopen()
    learn(hosted)
    yield hosted
    hosted.close()


def learn(hosted: Hosted, **how: bool) -> None:
    """As a job does, beside the server."""
    dataset = hosted.dataset
    known, table = dataset.open(dataset.domain, None)
    with dataset.curator(table, known) as curator:
        Learning("2", **how).open(curator).close()
    hosted.reopen()


def spend(hosted: Hosted, sql: str, who: Token = ANN, within_count: float = 10.0):
    ask = Ask(sql, within_count=within_count, spend=True)
    return hosted.in_lane(lambda: hosted.ask(ask, who)).result()


def free(hosted: Hosted, sql: str):
    """As doors ask: what can be read is read, else the lane is asked."""
    read = hosted.free(Ask(sql), ANN)
    return (read or hosted.in_lane(lambda: hosted.ask(Ask(sql), ANN)).result()).answer


def blocks() -> list[float]:
    held = json.loads(said("budget", "show", "people", "--json"))
    return [round(block["spent"]["epsilon"], 6) for block in held["blocks"]]


def test_after_an_append_a_server_answers_what_was_learned_until_it_is_learned_anew(served):
    assert served.state == "ready", served.words
    before = served.free(Ask(COUNT), ANN).answer
    assert WHOM in before.notes
    append(3)
    served._looks._last = 0.0  # it looks once a second
    assert served.state == "data_changed"
    for day in range(4, 6):  # as it stands, and after a restart; more blocks change nothing
        append(day)
        after = free(served, COUNT)
        assert after.value == before.value
        assert CHANGED in after.notes
        with pytest.raises(DataChanged):
            spend(served, OTHER)
        assert blocks() == [2, 2, *[0] * (day - 2)]
        served.reopen()
        assert served.state == "data_changed", served.words
    learn(served, anew=True)
    assert served.state == "ready", served.words
    assert blocks() == [4, 4, 2, 2, 2]
    # two cells with Laplace noise of scale 1.5 each: further off with probability below 1e-9
    assert abs(free(served, COUNT).value - 150) <= 45


def test_what_was_learned_before_an_append_is_read_from_the_ledger_alone(served):
    """The cache may be deleted at any time, and a second server has none; an analyst paid for a part."""
    served.in_lane(lambda: served.limit("ann", 5)).result()
    spend(served, COUNT)
    opened = served.opened
    payer = opened.curator.child("ann")
    served.in_lane(lambda: opened.session._core.learn_table(payer, ("sex", "age"), payer.price("1"))).result()
    served.reopen()
    before, charged = free(served, COUNT).value, blocks()
    append(3)
    shutil.rmtree("people.hedgerow.cache")
    served.reopen()
    assert served.state == "data_changed", served.words
    assert free(served, COUNT).value == pytest.approx(before)
    with pytest.raises(DataChanged):
        spend(served, OTHER)
    assert blocks() == [*charged, 0]


def test_a_list_of_questions_is_one_turn_and_opens_one_account(served, monkeypatch):
    ledger, held = served.opened.ledger, []
    turn, desk = ledger.turn, served._desk

    @contextmanager
    def counted():
        held.append(None)
        with turn():
            yield
        held.pop()

    def looked(*args, **options):
        assert held  # nobody goes on from another account, or spends, between this look and the answers
        return desk(*args, **options)

    monkeypatch.setattr(ledger, "turn", counted)
    monkeypatch.setattr(served, "_desk", looked)
    asks = [Ask(sql, within_count=10.0, spend=True) for sql in (COUNT, OTHER)]
    found = served.in_lane(lambda: served.ask_all(asks, ANN)).result()
    assert len(found) == 2
    assert accounts_of(ledger, "ann") == ["ann"]


def test_the_limits_of_analysts_go_on_with_blocks_that_came_later(served):
    served.in_lane(lambda: served.limit("ann", 5)).result()
    paid = spend(served, COUNT).answer.cost.epsilon
    assert 0 < paid < 5
    served._give_back()
    append(3)
    learn(served, anew=True)
    ledger = served.opened.ledger
    assert spend(served, OTHER).answer.value is not None
    served._give_back()
    assert accounts_of(ledger, "ann") == ["ann", "ann#2"]
    told = wire.budget(ledger, "ann")["yours"]
    assert told["limit"]["epsilon"] == pytest.approx(5)
    assert told["spent"]["epsilon"] == pytest.approx(sum(ledger.budget.part(ledger.spent(a)).epsilon
                                                         for a in ("ann", "ann#2")))  # fmt: skip
    assert [part.name for part in accounts.parts(ledger)] == ["ann"]
    with pytest.raises(LimitExceeded):
        spend(served, "SELECT COUNT(*) AS n FROM people WHERE age >= 50", within_count=1.01)
    assert accounts.limit(ledger, "ann", 9).given.amount == 9
    first, second, third = blocks()
    assert first == second > third
    assert "lines of the ledger verify" in said("budget", "verify", "people")


@pytest.fixture
def doors(served, tmp_path):
    """An owner and an analyst at a second server of the same data."""
    config = Config(ServerSettings(grid_ms=1), Limits(), (DatasetSettings(str(tmp_path / "people")),))
    host = Host(config)
    host.start()
    host.ready = True
    made = []
    for name, role in (("own", "owner"), ("sue", "analyst")):
        _, token = make_token(host.state, name, role, ("*",), False, None)
        made.append(TestClient(application(host), headers={"Authorization": f"Bearer {token}"}))
    yield made
    host.close(0)


def test_owners_append_blocks_over_http(doors, tmp_path):
    """The reply says nothing about rows; afterwards what was learned is answered, with a note."""
    owner, analyst = doors
    before = analyst.post("/v1/datasets/people/ask", json={"sql": COUNT}).json()
    path = "/v1/datasets/people/blocks"
    (tmp_path / "few.csv").write_text("id,sex,age\n900,F,1\n")
    replies = [owner.post(path, json={"path": "few.csv", "day": "2026-01-03"})]
    (tmp_path / "many.csv").write_text("id,sex,age\n" + "".join(f"{i},F,1\n" for i in range(1000, 1400)))
    replies.append(owner.post(path, json={"path": str(tmp_path / "many.csv"), "day": "2026-01-04"}))
    for number, reply in enumerate(replies, 3):
        assert reply.status_code == 201, reply.text
        told = reply.json()
        assert (told["number"], told["name"]) == (number, f"2026-01-0{number}")
        assert told["state"] == "data_changed"
        assert WHOM in told["notes"]
    few, many = (reply.text.replace("2026-01-04", "2026-01-03") for reply in replies)
    assert many.replace('"number":4', '"number":3').replace("Blocks: 4", "Blocks: 3") == few
    after = analyst.post("/v1/datasets/people/ask", json={"sql": COUNT}).json()
    assert after["rows"] == before["rows"]
    assert CHANGED in after["notes"]
    assert len(blocks()) == 4


def test_what_is_appended_over_http_lies_in_a_folder_that_the_server_was_given(doors, tmp_path):
    owner, analyst = doors
    path = "/v1/datasets/people/blocks"
    outside = tmp_path.parent / f"{tmp_path.name}-outside.csv"
    outside.write_text("id,sex,age\n900,F,1\n")
    (tmp_path / "link.csv").symlink_to(outside)
    (tmp_path / "rows.csv").write_text("id,sex,age\n900,F,1\n")
    for name in (str(outside), f"../{outside.name}", "link.csv", "/etc/passwd"):
        assert owner.post(path, json={"path": name, "day": "2026-01-03"}).status_code == 403
    assert analyst.post(path, json={"path": "rows.csv", "day": "2026-01-03"}).status_code == 403
    late = {"path": "rows.csv", "day": "2025-01-01"}
    odd = [
        {},
        {"path": "nowhere.csv"},
        {"path": 7},
        {"path": "people"},
        late | {"day": 3},
        late | {"day": "soon"},
    ]
    for wrong in (late, *odd):
        reply = owner.post(path, json=wrong)
        assert reply.status_code == 400, (wrong, reply.text)
    assert len(blocks()) == 2
