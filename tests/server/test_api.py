"""The API as it is promised: shapes, sources, costs, requests, errors, formats."""

from __future__ import annotations

import io
import json
import stat
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.patience import eventually
from services.server import SQL

pytestmark = pytest.mark.xdist_group("server")
CLOSE = {"sql": "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'", "within_count": 200}
D = "/v1/datasets/people"


def test_the_ready_line_says_where_it_is_and_the_owners_token_once(server):
    assert server.event.keys() == {"event", "url", "wire", "owner_link", "owner_token", "datasets", "pid"}
    assert server.event["event"] == "ready"
    assert server.event["datasets"] == ["people"]
    assert server.event["owner_token"].startswith("hr_")
    assert server.get("/healthz", "").status_code == server.get("/readyz", "").status_code == 200


def test_datasets_and_schema_have_their_shapes(server):
    assert server.get("/v1/datasets").json()["datasets"][0].items() >= {
        ("name", "people"), ("state", "ready"), ("may_spend", True)
    }  # fmt: skip
    told = server.get(f"{D}/schema").json()
    assert told["attributes"][0] == {
        "name": "sex", "kind": "levels", "levels": ["F", "M"], "step": None, "missing": False
    }  # fmt: skip
    assert (told["unit"], told["max_rows"], told["neighbours"]) == (None, 1, "add_remove")


def test_a_learned_answer_is_free_and_says_how_far_off_it_may_be(server):
    told = server.ask().json()
    assert told["columns"] == ["sex", "n"]
    number = told["rows"][0]["n"]
    assert number["low"] < number["value"] < number["high"]
    assert (told["source"], told["cost"], told["receipt"], told["private"]) == ("learned", None, None, True)
    assert told.keys() >= {"sql", "confidence", "cached", "simultaneous", "remaining", "notes", "request"}


def test_a_question_that_may_not_spend_is_never_charged(server):
    before = server.get(f"{D}/budget").json()["spent"]
    refused = server.ask(**CLOSE)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (402, "budget_refused")
    assert error["needed"]["epsilon"] > 0
    assert error["affordable"] is True
    assert server.get(f"{D}/budget").json()["spent"] == before


def test_a_charged_answer_has_a_receipt_and_the_same_request_gets_it_again_free(server):
    question = CLOSE | {"within_count": 190, "spend": True, "request": "once"}
    first = server.ask(**question).json()
    assert first["cost"]["epsilon"] > 0
    assert first["receipt"]["seq"] > 0
    spent = server.get(f"{D}/budget").json()["spent"]
    again = server.ask(**question).json()
    assert (again["cached"], again["cost"], again["rows"]) == (True, None, first["rows"])
    assert server.get(f"{D}/budget").json()["spent"] == spent
    other = server.ask(**question | {"within_count": 180})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "request_reused")


def test_request_ids_of_one_analyst_are_nobody_elses(server):
    ann, bob = (server.new_token(name) for name in ("idann", "idbob"))
    assert server.ask(ann, request="1").status_code == 200
    assert server.ask(bob, request="1", sql="SELECT COUNT(*) AS n FROM people").status_code == 200


def test_max_epsilon_bounds_what_a_question_may_cost(server):
    refused = server.ask(**CLOSE | {"within_count": 20, "spend": True, "max_epsilon": 0.001})
    assert refused.status_code == 402


def test_a_batch_is_answered_whole_or_refused_whole(server):
    both = {
        "questions": [{"sql": SQL}, {"sql": "SELECT COUNT(*) AS n FROM people WHERE k = 1"}],
        "request": "b",
    }
    good = server.post(f"{D}/ask/batch", both)
    assert [a["source"] for a in good.json()["answers"]] == ["learned", "learned"]
    again = server.post(f"{D}/ask/batch", both)
    assert all(a["cached"] for a in again.json()["answers"])
    before = server.get(f"{D}/budget").json()["spent"]
    many = [
        CLOSE | {"sql": f"{CLOSE['sql']} AND k = {k}", "within_count": 30, "spend": True} for k in (0, 1, 2)
    ]
    refused = server.post(f"{D}/ask/batch", {"questions": [*many, *[{**q, "within_count": 5} for q in many]]})
    assert refused.status_code == 402, refused.text
    assert server.get(f"{D}/budget").json()["spent"] == before
    bad = server.post(f"{D}/ask/batch", {"questions": [{"sql": SQL}, {"sql": "SELECT nothing"}]})
    assert bad.status_code == 422


def test_explaining_spends_nothing_and_says_what_asking_would(server):
    before = server.get(f"{D}/ledger").json()["lines"]
    told = server.post(f"{D}/explain", CLOSE | {"within_count": 150}).json()
    assert told.keys() == {
        "source", "cached", "confidence", "error", "cost", "affordable", "needs_rows", "words"
    }  # fmt: skip
    assert told["cost"]["epsilon"] > 0
    free = server.post(f"{D}/explain", {"questions": [{"sql": SQL}, CLOSE]}).json()["explanations"]
    assert free[0]["cost"]["epsilon"] == 0
    kinds = [line["kind"] for line in server.get(f"{D}/ledger").json()["lines"][len(before) :]]
    assert "charge" not in kinds


def test_budget_and_history_have_their_shapes(server):
    told = server.get(f"{D}/budget").json()
    assert told["budget"]["epsilon"] == 2
    assert told["forecast"][0].keys() == {"what", "within_count", "questions"}
    for request in ("seen", "seen too"):
        server.ask(request=request)

    def history() -> list[dict[str, object]]:
        return server.get(f"{D}/history", params={"limit": 1000}).json()["items"]

    eventually(lambda: len(history()) >= 2)  # the log is written a moment later
    items = history()
    assert items[-1].keys() == {"seq", "time", "who", "sql", "source", "cost", "request"}
    page = server.get(f"{D}/history", params={"limit": 1}).json()
    assert page["next"] == page["items"][0]["seq"]
    after = server.get(f"{D}/history", params={"limit": 1, "after": page["next"]}).json()
    assert after["items"][0]["seq"] > page["next"]


def test_an_analyst_sees_their_own_history_only(server):
    ann, bob = (server.new_token(name) for name in ("histann", "histbob"))
    server.ask(ann, sql="SELECT COUNT(*) AS secret_of_ann FROM people")
    server.ask(bob)
    eventually(lambda: "secret_of_ann" in server.get(f"{D}/history", ann).text)
    eventually(lambda: server.get(f"{D}/history", bob).json()["items"])
    assert "secret_of_ann" not in server.get(f"{D}/history", bob).text


def test_answers_come_as_csv_arrow_and_parquet(server):
    def asked(media):
        return server.post(f"{D}/ask", {"sql": SQL}, headers={"Accept": media})

    names = ["sex", "n", "n_low", "n_high", "n_source"]
    assert asked("text/csv").text.splitlines()[0].replace('"', "").split(",") == names
    arrow = pa.ipc.open_stream(asked("application/vnd.apache.arrow.stream").content).read_all()
    parquet = pq.read_table(io.BytesIO(asked("application/vnd.apache.parquet").content))
    assert arrow.column_names == parquet.column_names == names


def test_synthetic_rows_and_a_synopsis_can_be_taken_home(server, tmp_path):
    import hedgerow as hr

    rows = server.get(f"{D}/sample", params={"rows": 7}).text.splitlines()
    assert len(rows) == 8
    table = pq.read_table(io.BytesIO(server.get(f"{D}/sample?rows=5&format=parquet").content))
    assert table.num_rows == 5
    file = tmp_path / "people.hedgerow"
    file.write_bytes(server.get(f"{D}/synopsis").content)
    synopsis = hr.Synopsis.load(file)
    assert synopsis.table(("sex",)).sum() == pytest.approx(3000, rel=0.1)


@pytest.mark.parametrize(
    ("question", "status", "code"),
    [
        ({"sql": "SELECT COUNT( FROM people"}, 422, "bad_sql"),
        ({"sql": "SELECT COUNT(*) FROM people WHERE nothing = 1"}, 422, "unknown_column"),
        ({"sql": "SELECT COUNT(*) FROM people WHERE sex = 'X'"}, 422, "unknown_level"),
        ({"sql": "SELECT COUNT(*) FROM visits"}, 422, "unknown_table"),
        ({"sql": "DELETE FROM people"}, 422, "unsupported_sql"),
        ({"sql": 7}, 400, "bad_input"),
        ({"sql": SQL, "within": 2}, 400, "bad_input"),
        ({"sql": SQL, "more": 2}, 400, "bad_input"),
        ({"sql": SQL, "request": ""}, 400, "bad_input"),
        ([1], 400, "bad_input"),
    ],
)
def test_what_is_wrong_with_a_question_is_said_in_one_shape(server, question, status, code):
    told = server.post(f"{D}/ask", question)
    error = told.json()["error"]
    assert (told.status_code, error["code"]) == (status, code)
    assert error.keys() == {"code", "message", "hint", "needed", "remaining", "affordable", "position"}


def test_lost_paths_and_methods_have_the_same_shape(server):
    for reply, status in ((server.get("/nowhere"), 404), (server.call("DELETE", "/v1/datasets"), 405)):
        assert reply.status_code == status
        assert reply.json()["error"]["message"]


def test_every_reply_has_the_headers_of_security(server):
    for path in ("/", "/healthz", "/v1/datasets", "/nowhere"):
        headers = server.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_the_description_names_every_endpoint_with_an_example(server):
    told = server.get("/openapi.json", "").json()
    assert told["openapi"].startswith("3.1")
    for path in ("/v1/datasets/{dataset}/ask", "/v1/tokens", "/v1/jobs/{id}/events"):
        assert path in told["paths"]
    ask = told["paths"]["/v1/datasets/{dataset}/ask"]["post"]
    assert ask["requestBody"]["content"]["application/json"]["example"]["sql"]


def test_metrics_hold_public_numbers_for_the_owner(server):
    text = server.get("/metrics").text
    assert 'hedgerow_epsilon_budget{dataset="people"} 2' in text
    assert "hedgerow_grid_overruns_total" in text


def test_charged_questions_are_answered_on_the_grid_and_learned_ones_are_not(server):
    question = CLOSE | {"within_count": 170, "spend": True}
    began = time.monotonic()
    assert server.ask(**question).status_code == 200
    assert time.monotonic() - began >= 0.25
    began = time.monotonic()
    refused = server.ask(**question | {"within_count": 1})
    assert refused.status_code == 402
    assert time.monotonic() - began >= 0.25  # refusals come no sooner


def test_state_belongs_to_its_owner_and_holds_no_secret(server):
    server.ask(request="logged")
    folder = server.folder / ".hedgerow"
    eventually((folder / "asked.jsonl").exists)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert server.token.split("_")[2].encode() not in file.read_bytes()
    lines = [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]
    assert all(
        line.keys() == {"dataset", "time", "who", "sql", "source", "cost", "request"} for line in lines
    )


def test_the_ledger_verifies_and_its_lines_can_be_read(server):
    assert server.get(f"{D}/verify").json()["ok"] is True
    lines = server.get(f"{D}/ledger").json()["lines"]
    assert lines[0]["kind"] == "open"


def test_placeholders_and_statements_in_two_stages_are_answered_free(server):
    asked = {"sql": "SELECT COUNT(*) AS n FROM people WHERE sex = ? AND k >= ?", "params": ["F", 1]}
    first, again = (server.ask(**asked, request="with params").json() for _ in range(2))
    assert (first["source"], first["cost"], again["cached"]) == ("learned", None, True)
    other = server.ask(**asked | {"params": ["M", 1]}, request="with params")
    assert other.json()["error"]["code"] == "request_reused"
    staged = server.ask(
        sql="SELECT MAX(n) AS most FROM (SELECT k, COUNT(*) AS n FROM people GROUP BY k) AS by_k"
    )
    assert staged.json()["source"] == "learned", staged.text
    assert staged.json()["cost"] is None
