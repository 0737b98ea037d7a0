"""A draft of a schema holds what private rows hold: one owner sees it, on one page, and nothing keeps it."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient

import hedgerow as hr
from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.serve.http.app import application
from hedgerow.service import setting_up
from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
from hedgerow.service.host import Host, make_token
from services.forms import fields

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")
HERE = {"Sec-Fetch-Site": "same-origin"}
SECRET = "Zebraville"
RARE = "Quaggastadt"  # of so few rows that no draft proposes it: only the preview shows it
COUNT = "1,061"  # rows of the most common town, exactly


@pytest.fixture
def host(tmp_path):
    towns = ["Harbour"] * 1061 + [SECRET] * 25 + [RARE] * 5
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
    for secret in (SECRET, RARE, COUNT):
        assert secret in reply.text
        assert secret.encode() not in kept(tmp_path)
        assert secret not in caplog.text
        assert secret not in owner.get("/d/rows/setup").text
    assert reply.headers["cache-control"] == "no-store"
    assert f'value="{RARE}"' not in reply.text  # shown, and not proposed


def test_a_preview_is_marked_as_private_and_comes_back_with_nothing(host, tmp_path, caplog):
    """What the form sends back holds no preview, and neither does the page that refuses it."""
    caplog.set_level(logging.DEBUG)
    owner = comes_in(host)
    drafted = owner.post("/d/rows/setup", data={"do": "draft"}).text
    assert drafted.count("Private preview of") == 2
    form = fields(drafted, "do=schema")
    assert RARE not in str(form)
    assert COUNT not in str(form)
    form["c1.edges.width"] = ["none"]
    reply = owner.post("/d/rows/setup", data=form)
    assert reply.status_code == 400
    assert "is no number" in reply.text
    assert "Private preview of" not in reply.text
    assert SECRET in reply.text  # what the owner left on the page is there again
    assert not (tmp_path / "schema.yaml").exists()
    for secret in (RARE, COUNT):
        assert secret not in reply.text
        assert secret.encode() not in kept(tmp_path)
        assert secret not in caplog.text


def test_no_repr_of_a_proposal_holds_a_value(host):
    found = setting_up.proposal(host.datasets["rows"])
    assert found.columns[0].glimpse.common[0] == ("Harbour", 1061)
    for shown in (found, found.columns[0].glimpse, *(c.glimpse for c in found.columns)):
        assert SECRET not in repr(shown)
        assert RARE not in repr(shown)
        assert "1061" not in repr(shown)


def test_nobody_but_an_owner_gets_a_draft(host):
    comes_in(host).post("/d/rows/setup", data={"do": "draft"})
    for role in ("analyst", "reader"):
        _, token = make_token(host.state, f"one-{role}", role, ("rows",), False, None)
        other = comes_in(host, token)
        replies = [other.get(f"/d/rows{tail}") for tail in ("", "/setup", "/explore", "/budget", "/history")]
        for reply in (*replies, other.post("/d/rows/setup", data={"do": "draft"}), other.get("/")):
            for secret in (SECRET, RARE, COUNT, "Harbour", "preview"):
                assert secret not in reply.text


def test_what_is_confirmed_is_what_the_owner_left_on_the_page(host, tmp_path):
    owner = comes_in(host)
    owner.post("/d/rows/setup", data={"do": "draft"})
    form = {
        "c0.name": "town", "c0.kind": "levels", "c0.levels.keep": "Harbour", "c0.levels.values": "Elsewhere",
        "c0.levels.other": "yes", "c1.name": "age", "c1.kind": "out", "c1.edges.values": "0, 50, 100",
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


ODD = "id,ok,price,day,at,grade,note,town\n" + "".join(
    f'U{i:06d},{("yes", "No", "Y", "n")[i % 4]},"{i % 900},{i % 10}5",{1 + i % 28:02d}/{1 + i % 12:02d}/'
    f"20{10 + i % 9},{i % 24:02d}:{i % 60:02d},{i % 4},{('NA', 'fine', 'bad')[i % 3]},{('a', ' b')[i % 2]}\n"
    for i in range(600)
)


def test_a_draft_that_is_confirmed_as_it_is_declares_what_was_drafted(host, tmp_path):
    """However cells are written: truth values, decimal commas, days, times, words for nothing, spaces."""
    (tmp_path / "rows.csv").write_text(ODD)
    drafted = Inspector(tmp_path / "rows.csv").propose()
    assert {"ok", "price", "day", "at", "grade", "note"} <= set(drafted.domain)
    owner = comes_in(host)
    form = fields(owner.post("/d/rows/setup", data={"do": "draft"}).text, "do=schema")
    assert owner.post("/d/rows/setup", data=form).status_code == 200
    written = hr.Domain.load(tmp_path / "schema.yaml")
    assert dict(written) == dict(drafted.domain)


def test_how_many_rows_people_have_is_proposed_with_whom_to_protect(tmp_path):
    rows = "".join(f"{i // 3},{'FM'[i % 2]}\n" for i in range(600))
    (tmp_path / "rows.csv").write_text(f"person_id,sex\n{rows}")
    made = Host(Config(ServerSettings(grid_ms=1), Limits(), (DatasetSettings(str(tmp_path / "rows.csv")),)))
    made.start()
    made.ready = True
    try:
        owner = comes_in(made)
        drafted = fields(owner.post("/d/rows/setup", data={"do": "draft"}).text, "do=schema")
        confirmed = owner.post("/d/rows/setup", data=drafted).text
    finally:
        made.close(1.0)
    assert 'name="unit" value="person_id"' in confirmed
    assert 'name="max_rows" value="3"' in confirmed


def test_kinds_change_by_a_click_and_what_was_left_out_comes_back(host, tmp_path):
    rows = "".join(f"P{i % 7},{i % 12},2020-{1 + i % 12:02d}-01,{i:04d}\n" for i in range(400))
    (tmp_path / "rows.csv").write_text("person_id,month,day,serial\n" + rows)
    owner = comes_in(host)
    page = owner.post("/d/rows/setup", data={"do": "draft"}).text
    form = fields(page, "do=schema")
    at = {form[f"c{i}.name"][0]: f"c{i}." for i in range(4)}
    assert form[at["serial"] + "kind"] == ["out"]
    assert form[at["month"] + "kind"] == ["levels"]
    form[at["month"] + "kind"] = ["edges"]
    form |= {at["month"] + "edges.start": ["0"], at["month"] + "edges.stop": ["12"]}
    form[at["month"] + "edges.width"] = ["3"]
    form[at["day"] + "kind"] = ["levels"]
    form[at["day"] + "levels.keep"] = form[at["day"] + "levels.keep"][:5]
    form[at["serial"] + "kind"] = ["edges"]
    form[at["serial"] + "edges.keep"] = ["0", "400"]
    form[at["serial"] + "edges.values"] = ["200, 100"]
    form[at["person_id"] + "kind"] = ["out"]
    assert owner.post("/d/rows/setup", data=form).status_code == 200
    written = hr.Domain.load(tmp_path / "schema.yaml").to_schema()["attributes"]
    assert list(written) == ["month", "day", "serial"]
    assert written["month"]["edges"] == [0, 3, 6, 9, 12]
    assert written["day"]["levels"] == [f"2020-0{m}-01" for m in range(1, 6)]
    assert written["serial"]["edges"] == [0, 100, 200, 400]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"c0.name": "town"},
        {"c0.name": "town", "c0.kind": "rows"},
        {"c0.name": "town", "c0.kind": "out"},
        {"c0.name": "age", "c0.kind": "edges", "c0.edges.values": "0, x"},
        {"c0.name": "age", "c0.kind": "edges", "c0.edges.values": "100, 0"},
        {"c0.name": "age", "c0.kind": "edges", "c0.edges.start": "0", "c0.edges.width": "1"},
        {"c0.name": "day", "c0.kind": "dates", "c0.dates.start": "soon"},
        {"c0.name": "town", "c0.kind": "levels", "c0.levels.values": ""},
    ],
)
def test_a_schema_that_is_none_is_refused_and_not_written(host, tmp_path, form):
    owner = comes_in(host)
    assert owner.post("/d/rows/setup", data=form | {"do": "schema"}).status_code == 400
    assert not (tmp_path / "schema.yaml").exists()


def test_a_budget_is_made_once_and_spends_nothing(host):
    owner = comes_in(host)
    schema = {"c0.name": "town", "c0.kind": "levels", "c0.levels.values": "a\nb"}
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
    form = {"do": "schema", "c0.name": "town", "c0.kind": "levels", "c0.levels.values": "Harbour"}
    assert owner.post("/d/rows/setup", data=form).status_code == 200
    assert owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1"}).status_code == 303
    first = (tmp_path / "schema.yaml").read_bytes()
    (tmp_path / "more.csv").write_text("x\n" + "0\n1\n" * 50)
    assert owner.post("/new", data={"path": "more.csv"}).status_code == 303
    assert "What is in it" in owner.get("/d/more/setup").text.split('aria-current="step"')[1][:40]
    form = {"do": "schema", "c0.name": "x", "c0.kind": "levels", "c0.levels.values": "0\n1"}
    assert owner.post("/d/more/setup", data=form).status_code == 200
    assert (tmp_path / "schema.yaml").read_bytes() == first
    assert "x:" in (tmp_path / "more.schema.yaml").read_text()
    assert host.datasets["rows"].state == "unlearned"


def test_no_schema_is_written_over_that_of_another_dataset(host, tmp_path):
    owner = comes_in(host)
    form = {"do": "schema", "c0.name": "town", "c0.kind": "levels", "c0.levels.values": "Harbour"}
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
