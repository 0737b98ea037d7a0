"""Attacks from inside the door: people with tokens who want what is not theirs, or to be paid for."""

from __future__ import annotations

import threading

import pytest
from starlette.testclient import TestClient

from hedgerow.serve.http.app import application
from hedgerow.service.host import make_token
from services.server import SQL, hosted

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.filterwarnings("ignore:Using `httpx`")]
D = "/v1/datasets/people"
CLOSE = {"sql": "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'", "within_count": 200, "spend": True}
OTHER = CLOSE | {"sql": "SELECT COUNT(*) AS n FROM people WHERE k = 1"}


def person(host, name, role="analyst"):
    """A client with a token that may spend."""
    token = make_token(host.state, name, role, ("*",), True, None)[1]
    return TestClient(application(host), headers={"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A host, an owner at it, and an analyst who may spend."""
    host, _ = hosted(tmp_path_factory.mktemp("attacks") / "host")
    yield host, person(host, "own", "owner"), person(host, "sue")
    host.close(0)


def spent(client):
    """What the dataset has spent."""
    return client.get(f"{D}/budget").json()["spent"]


def test_a_batch_with_a_request_id_used_twice_is_refused_before_anything_is_charged(place):
    _, own, sue = place
    before = spent(own)
    twice = [CLOSE | {"request": "x"}, OTHER | {"request": "x"}]
    said = sue.post(f"{D}/ask/batch", json={"questions": twice})
    assert (said.status_code, said.json()["error"]["code"]) == (409, "request_reused")
    assert spent(own) == before
    first = sue.post(f"{D}/ask", json=CLOSE | {"within_count": 400, "request": "y"})
    assert first.status_code == 200
    before = spent(own)
    said = sue.post(f"{D}/ask/batch", json={"questions": [OTHER, CLOSE | {"request": "y"}]})
    assert (said.status_code, said.json()["error"]["code"]) == (409, "request_reused")
    assert spent(own) == before


def test_an_analyst_without_an_account_binds_no_request_id_of_the_owner(place):
    host, own, _ = place
    from hedgerow.service.asking import Ask

    people = host.datasets["people"]
    who = next(t for t in host.state.tokens() if t.name == "ann")
    people.in_lane(lambda: people.ask(Ask(SQL, request="monday"), who)).result()
    sql = "SELECT COUNT(*) AS n FROM people WHERE sex = 'M' AND k = 1"
    said = own.post(f"{D}/ask", json=CLOSE | {"sql": sql, "request": "monday"})
    assert said.status_code == 200, said.text
    assert said.json()["receipt"] is not None  # it was asked in the lane


def test_a_question_is_approved_at_the_price_that_the_owner_saw(place):
    host, own, sue = place
    asked = {"sql": "SELECT COUNT(*) AS n FROM people WHERE k = 2", "within_count": 150, "reason": "r"}
    put = sue.post(f"{D}/approvals", json=asked).json()
    item = host.approvals.get(put["id"])
    low = item["cost"]["epsilon"] / 2
    host.approvals._keep(item | {"cost": {"epsilon": low, "delta": 0.0}})  # as if it had been cheaper then
    before = spent(own)
    yes = {"decision": "approved", "reason": "cheap"}
    said = own.post(f"/v1/approvals/{put['id']}", json=yes)
    assert (said.status_code, said.json()["error"]["code"]) == (402, "budget_refused")
    assert spent(own) == before
    now = next(a for a in own.get(f"{D}/approvals").json()["approvals"] if a["id"] == put["id"])
    assert (now["state"], now["cost"]["epsilon"]) == ("waiting", item["cost"]["epsilon"])
    assert own.post(f"/v1/approvals/{put['id']}", json=yes).status_code == 200


def test_of_two_decisions_at_once_one_holds_and_a_refused_question_is_not_paid(place):
    host, own, sue = place
    asked = {"sql": "SELECT COUNT(*) AS n FROM people WHERE k = 0", "within_count": 150, "reason": "r"}
    id = sue.post(f"{D}/approvals", json=asked).json()["id"]
    before, held, said = spent(own), threading.Event(), []
    busy = host.datasets["people"].in_lane(lambda: held.wait(10))
    late = threading.Thread(
        target=lambda: said.append(
            own.post(f"/v1/approvals/{id}", json={"decision": "approved", "reason": "yes"})
        )
    )
    late.start()
    while not host.datasets["people"]._lane._work_queue.qsize():
        pass
    host.approvals.decide(id, "refused", "no", None)  # while the approval waits for its turn
    held.set()
    busy.result()
    late.join()
    assert said[0].status_code == 400, said[0].text
    assert spent(own) == before
    assert host.approvals.get(id)["state"] == "refused"


def test_what_is_asked_without_an_accuracy_is_put_for_approval_at_the_price_of_the_accuracy_it_gets(tmp_path):
    host, _ = hosted(tmp_path / "within", within=0.04)
    own, sue = person(host, "own", "owner"), person(host, "sue")
    put = sue.post(f"{D}/approvals", json={"sql": SQL, "reason": "r"}).json()
    assert put["cost"]["epsilon"] > 0
    assert sue.post(f"{D}/explain", json={"sql": SQL, "spend": True}).json()["cost"] == put["cost"]
    assert sue.post(f"{D}/ask", json={"sql": SQL}).json()["source"] == "learned"
    before = spent(own)
    assert sue.post(f"{D}/ask", json={"sql": SQL, "spend": True}).json()["source"] != "learned"
    assert spent(own) != before
    host.close(0)


def test_many_explanations_count_as_many(place):
    host, _, _ = place
    fast = person(host, "fast")
    most, host.rate._most = host.rate._most, 5
    try:
        many = [fast.post(f"{D}/explain", json={"questions": [{"sql": SQL}] * 5}) for _ in range(2)]
    finally:
        host.rate._most = most
    assert [said.status_code for said in many] == [200, 429]


def test_deep_parameters_are_bad_input(place):
    _, _, sue = place
    for depth in (500, 9000):
        deep = "[" * depth + "]" * depth
        for path in ("ask", "explain"):
            said = sue.post(
                f"{D}/{path}", content=f'{{"sql": "SELECT 1", "params": {deep}, "request": "deep-{depth}"}}'
            )
            assert said.status_code in (400, 422), said.text


def test_freezing_does_not_wait_for_the_questions_that_wait(place):
    host, own, sue = place
    people, held, said = host.datasets["people"], threading.Event(), {}
    before = spent(own)
    busy = people.in_lane(lambda: held.wait(10))
    asked = CLOSE | {"sql": "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND k = 2"}
    calls = (sue, "ask", asked), (own, "freeze", {"reason": "an incident"})
    threads = []
    for waiting, (client, path, data) in enumerate(calls, 1):
        go = threading.Thread(
            target=lambda c=client, p=path, d=data: said.update({p: c.post(f"{D}/{p}", json=d)})
        )
        go.start()
        threads.append(go)
        while people._lane._work_queue.qsize() < waiting:
            pass
    held.set()
    busy.result()
    for go in threads:
        go.join()
    assert said["ask"].json()["error"]["code"] == "frozen"
    assert spent(own) == before
    assert said["freeze"].json()["state"] == "frozen"
    assert own.post(f"{D}/thaw", json={"reason": "over"}).json()["state"] == "ready"
    assert own.post(f"{D}/freeze", json={"reason": " "}).status_code == 400
    assert people.state == "ready"


def test_a_job_that_waited_while_the_dataset_was_frozen_is_refused(place):
    from hedgerow.errors import Frozen
    from hedgerow.service.work import refuse_frozen

    host, own, _ = place
    dataset = host.datasets["people"].settings.dataset()
    refuse_frozen(dataset)
    own.post(f"{D}/freeze", json={"reason": "an incident"})
    with pytest.raises(Frozen):
        refuse_frozen(dataset)
    own.post(f"{D}/thaw", json={"reason": "over"})
    refuse_frozen(dataset)


def test_a_budget_that_is_refused_changes_nothing(place):
    host, own, _ = place
    said = own.post(f"{D}/budget", json={"epsilon": 9, "neighbours": "replace"})
    assert said.status_code == 400, said.text
    host.datasets["people"].reopen()
    assert host.datasets["people"].state == "ready", host.datasets["people"].words


def test_a_revoked_token_of_the_environment_does_not_come_back(tmp_path, monkeypatch):
    from hedgerow.errors import HedgerowError
    from hedgerow.service.config import Config, ServerSettings
    from hedgerow.service.host import OWNER_TOKEN, Host

    config, token = Config(ServerSettings(state=str(tmp_path))), "hr_mine_" + "a1" * 12
    for _ in range(2):  # as often as it is started
        monkeypatch.setenv(OWNER_TOKEN, token)
        host = Host(config)
        host.start()
        assert host.who(f"Bearer {token}").owns
        host.close(0)
    monkeypatch.setenv(OWNER_TOKEN, token)
    host = Host(config)
    host.state.revoke("mine")
    with pytest.raises(HedgerowError, match="revoked"):
        host.start()
    host.log.close()
    host.state.close()
