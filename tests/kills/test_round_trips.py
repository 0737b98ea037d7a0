"""How often a question goes to the database and back: at most four times, and once if it is free."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hedgerow.privacy.ledger.postgres_store import PostgresStore
from hedgerow.privacy.ledger.postgres_turn import Writing
from hedgerow.service.asking import Ask
from hedgerow.service.host import make_token
from services.postgres import Cluster, fresh_name
from services.server import hosted

pytestmark = pytest.mark.xdist_group("postgres")
D = "/v1/datasets/people"


def test_a_question_takes_at_most_four_round_trips_and_a_free_one_takes_one(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host, client = hosted(tmp_path / "h", ledger=postgres.url(fresh_name()))
    store = host.datasets["people"].opened.ledger._store
    assert isinstance(store, PostgresStore)
    taken: list[tuple[str, int]] = []

    def ask(who: str, **body: object) -> dict:
        before = store.trips
        reply = client.post(f"{D}/ask", json=body, headers={"Authorization": f"Bearer {tokens[who]}"})
        assert reply.status_code == 200, reply.text
        told = reply.json()
        taken.append(("free" if told["cost"] is None else "paid", store.trips - before))
        return told

    tokens = {n: make_token(host.state, n, "analyst", ("people",), True, None)[1] for n in ("ann", "bob")}
    try:
        for who in ("ann", "bob"):  # the first question of each opens an account, the first of all a guard
            for k in range(3):
                where = f"sex = '{'F' if who == 'ann' else 'M'}' AND k = {k}"
                sql = f"SELECT COUNT(*) AS n FROM people WHERE {where}"
                ask(who, sql=sql, within_count=200, spend=True, request=f"r{k}")
                ask(who, sql=sql)
        assert ask("bob", sql="SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND k = 1")["cached"]
    finally:
        host.close(1)
    assert max(trips for kind, trips in taken if kind == "paid") <= 4, taken
    assert {trips for kind, trips in taken if kind == "free"} == {1}, taken
    assert sum(kind == "paid" for kind, _ in taken) == 6


def test_nobody_reads_an_answer_before_its_charge_is_committed(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the lane commits, a reader beside it is told what was known before, and not what is new."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host, _ = hosted(tmp_path / "h", ledger=postgres.url(fresh_name()))
    people, seen = host.datasets["people"], []
    who, _ = make_token(host.state, "ann", "analyst", ("people",), True, None)
    sql = "SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND k = 1"
    commit = PostgresStore._commit

    def read() -> str:
        given = people.free(Ask.of({"sql": sql}), who)
        return "nothing" if given is None else given.answer.source

    def watched(store: PostgresStore, writing: Writing) -> None:
        if any(held["kind"] == "charge" for _, held in writing.held):
            with ThreadPoolExecutor(1) as other:
                seen.append(other.submit(read).result(60))
        commit(store, writing)

    monkeypatch.setattr(PostgresStore, "_commit", watched)
    try:
        asked = Ask.of({"sql": sql, "within_count": 200, "spend": True})
        assert people.in_lane(lambda: people.ask(asked, who)).result().answer.source == "measured"
        assert seen == ["learned"]
        assert read() == "measured"
    finally:
        host.close(1)
