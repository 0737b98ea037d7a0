"""A draft of a schema holds what private rows hold: one owner sees it, on one page, and nothing keeps it."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient

from hedgerow.serve.http.app import application
from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
from hedgerow.service.host import Host, make_token

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")
HERE = {"Sec-Fetch-Site": "same-origin"}
SECRET = "Zebraville"


@pytest.fixture
def host(tmp_path):
    towns = ["Harbour"] * 60 + [SECRET] * 25 + ["Nowhere"] * 5
    (tmp_path / "rows.csv").write_text("town,age\n" + "".join(f"{t},{i % 90}\n" for i, t in enumerate(towns)))
    made = Host(Config(ServerSettings(grid_ms=1), Limits(), (DatasetSettings(str(tmp_path / "rows.csv")),)))
    made.start()
    made.ready = True
    yield made
    made.close(1.0)


def comes_in(host, token=None):
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    if token is None:
        client.get(f"/login?link={host.visits.new_link()}", headers={"Sec-Fetch-Site": "none"})
    else:
        client.post("/login", data={"token": token})
    return client


def kept(folder):
    """Everything that lies in a folder beside the rows."""
    return b"".join(f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.name != "rows.csv")


def test_a_draft_is_on_one_page_and_nowhere_else(host, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    owner = comes_in(host)
    reply = owner.post("/d/rows/setup", data={"do": "draft"})
    assert SECRET in reply.text
    assert reply.headers["cache-control"] == "no-store"
    assert SECRET.encode() not in kept(tmp_path)
    assert SECRET not in caplog.text
    assert SECRET not in owner.get("/d/rows/setup").text


def test_nobody_but_an_owner_gets_a_draft(host):
    comes_in(host).post("/d/rows/setup", data={"do": "draft"})
    for role in ("analyst", "reader"):
        _, token = make_token(host.state, f"one-{role}", role, ("rows",), False, None)
        other = comes_in(host, token)
        replies = [other.get(f"/d/rows{tail}") for tail in ("", "/setup", "/explore", "/budget", "/history")]
        for reply in (*replies, other.post("/d/rows/setup", data={"do": "draft"}), other.get("/")):
            assert SECRET not in reply.text
            assert "Harbour" not in reply.text


def test_what_is_confirmed_is_what_the_owner_left_on_the_page(host, tmp_path):
    owner = comes_in(host)
    owner.post("/d/rows/setup", data={"do": "draft"})
    form = {
        "c0.name": "town", "c0.keep": "yes", "c0.kind": "levels", "c0.values": "Harbour\r\nElsewhere",
        "c0.other": "yes", "c1.name": "age", "c1.kind": "edges", "c1.values": "0, 50, 100",
    }  # fmt: skip
    reply = owner.post("/d/rows/setup", data=form | {"do": "schema"})
    assert reply.status_code == 200
    assert "location" not in reply.headers
    text = (tmp_path / "schema.yaml").read_text()
    assert "Elsewhere" in text
    assert "age" not in text
    assert SECRET.encode() not in kept(tmp_path)
    page = owner.get("/d/rows/setup").text
    assert "1,000 ±" in page
    assert host.datasets["rows"].state == "setup"


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"c0.name": "town"},
        {"c0.name": "town", "c0.keep": "yes", "c0.kind": "rows"},
        {"c0.name": "age", "c0.keep": "yes", "c0.kind": "edges", "c0.values": "0, x"},
        {"c0.name": "age", "c0.keep": "yes", "c0.kind": "edges", "c0.values": "100, 0"},
        {"c0.name": "day", "c0.keep": "yes", "c0.kind": "dates", "c0.start": "soon"},
        {"c0.name": "town", "c0.keep": "yes", "c0.kind": "levels", "c0.values": ""},
    ],
)
def test_a_schema_that_is_none_is_refused_and_not_written(host, tmp_path, form):
    owner = comes_in(host)
    assert owner.post("/d/rows/setup", data=form | {"do": "schema"}).status_code == 400
    assert not (tmp_path / "schema.yaml").exists()


def test_a_budget_is_made_once_and_spends_nothing(host):
    owner = comes_in(host)
    schema = {"c0.name": "town", "c0.keep": "yes", "c0.kind": "levels", "c0.values": "a\nb"}
    assert owner.post("/d/rows/setup", data=schema | {"do": "schema"}).status_code == 200
    form = {"do": "budget", "epsilon": "2"}
    assert owner.post("/d/rows/setup", data=form | {"protect": "people"}).status_code == 400
    assert owner.post("/d/rows/setup", data=form | {"protect": "rows"}).status_code == 303
    assert host.datasets["rows"].opened.ledger.spent().is_zero
    assert owner.post("/d/rows/setup", data=form | {"epsilon": "9"}).status_code in (400, 409)
    assert host.datasets["rows"].opened.ledger.budget.epsilon == 2


def test_a_dataset_beside_another_gets_a_schema_of_its_own(host, tmp_path):
    """The schema.yaml that lies there is about the other's rows: it is not taken for confirmed, nor lost."""
    owner = comes_in(host)
    form = {"do": "schema", "c0.name": "town", "c0.kind": "levels", "c0.keep": "yes", "c0.values": "Harbour"}
    assert owner.post("/d/rows/setup", data=form).status_code == 200
    assert owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1"}).status_code == 303
    first = (tmp_path / "schema.yaml").read_bytes()
    (tmp_path / "more.csv").write_text("x\n" + "0\n1\n" * 50)
    assert owner.post("/new", data={"path": "more.csv"}).status_code == 303
    assert "What is in it" in owner.get("/d/more/setup").text.split('aria-current="step"')[1][:40]
    form = {"do": "schema", "c0.name": "x", "c0.kind": "levels", "c0.keep": "yes", "c0.values": "0\n1"}
    assert owner.post("/d/more/setup", data=form).status_code == 200
    assert (tmp_path / "schema.yaml").read_bytes() == first
    assert "x:" in (tmp_path / "more.schema.yaml").read_text()
    assert host.datasets["rows"].state == "unlearned"


def test_no_schema_is_written_over_that_of_another_dataset(host, tmp_path):
    owner = comes_in(host)
    form = {"do": "schema", "c0.name": "town", "c0.kind": "levels", "c0.keep": "yes", "c0.values": "Harbour"}
    owner.post("/d/rows/setup", data=form)
    owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1"})
    first = (tmp_path / "schema.yaml").read_bytes()
    (tmp_path / "more.csv").write_text("x\n" + "0\n1\n" * 50)
    host.add({"path": "more.csv"})  # as programs add it: with the schema that lies there
    assert owner.post("/d/more/setup", data=form).status_code == 400
    told = owner.put("/v1/datasets/more/schema", json={"yaml": "attributes:\n  x: [0, 1]\n", "confirm": True})
    assert told.status_code == 400
    assert "'rows'" in told.json()["error"]["message"]
    assert (tmp_path / "schema.yaml").read_bytes() == first


def test_a_schema_that_is_sent_joins_no_file_from_elsewhere(host, tmp_path, tmp_path_factory):
    """Owners reach the folders that the server was given, over HTTP, and no file beyond them."""
    owner, elsewhere = comes_in(host), tmp_path_factory.mktemp("elsewhere") / "private.csv"
    elsewhere.write_text("town,secret\nHarbour,x\n")
    (tmp_path / "link.csv").symlink_to(elsewhere)
    (tmp_path / "towns.csv").write_text("town,secret\nHarbour,x\n")
    for file, status in (
        (elsewhere, 403),
        ("../elsewhere/private.csv", 403),
        ("link.csv", 403),
        ("towns.csv", 200),
    ):
        joined = f"{{file: {file}, key: town, public: true}}"
        yaml = f"attributes:\n  secret: [x, y]\ntables:\n  towns: {joined}\n"
        told = owner.put("/v1/datasets/rows/schema", json={"yaml": yaml, "confirm": False})
        assert told.status_code == status, told.text
        assert (tmp_path / "schema.yaml").exists() == (status == 200)
