"""How often a question goes to the database and back: at most four times, and once if it is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow.privacy.ledger.postgres_store import PostgresStore
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
