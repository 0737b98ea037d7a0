"""A file that is not UTF-8 is set up in a browser: its encoding is asked for, and kept."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from hedgerow.release.schema import Schema
from hedgerow.serve.http.app import application
from hedgerow.service.config import Config, DatasetSettings, Limits, ServerSettings
from hedgerow.service.host import Host
from services.forms import fields

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")
HERE = {"Sec-Fetch-Site": "same-origin"}


def started(path, **more):
    made = Host(Config(ServerSettings(grid_ms=1), Limits(), (DatasetSettings(str(path), **more),)))
    made.start()
    made.ready = True
    return made


@pytest.fixture
def path(tmp_path):
    towns = ["Köln"] * 60 + ["Süd"] * 60
    text = "town,age\n" + "".join(f"{t},{i % 90}\n" for i, t in enumerate(towns))
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    return tmp_path / "rows.csv"


def owner_of(host):
    client = TestClient(application(host), base_url="http://testserver", follow_redirects=False, headers=HERE)
    client.get(f"/login?link={host.visits.new_link()}", headers={"Sec-Fetch-Site": "none"})
    return client


def test_an_encoding_that_is_said_in_the_first_run_is_kept_over_a_restart(path):
    host = started(path)
    owner = owner_of(host)
    assert 'name="encoding"' in owner.get("/d/rows/setup").text
    for wrong in ("", "utf-8", "nonsense"):
        reply = owner.post("/d/rows/setup", data={"do": "draft", "encoding": wrong})
        assert reply.status_code == 400
        assert 'role="alert"' in reply.text
        assert 'name="encoding"' in reply.text
        assert "Köln" not in reply.text
    drafted = owner.post("/d/rows/setup", data={"do": "draft", "encoding": "latin-1"})
    assert drafted.status_code == 200
    assert "Köln" in drafted.text
    confirmed = owner.post("/d/rows/setup", data=fields(drafted.text, "do=schema"))
    assert confirmed.status_code == 200
    host.close(1.0)

    host = started(path)
    hosted = host.datasets["rows"]
    assert hosted.dataset.encoding == "latin-1"
    assert len(host.datasets) == 1  # how it is read is no dataset
    owner = owner_of(host)
    given = owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1", "protect": "rows"})
    assert given.status_code == 303
    assert hosted.state == "unlearned"
    late = owner.post("/d/rows/setup", data={"do": "draft", "encoding": "cp1252"})
    assert "stays as it is" in late.text
    host.close(1.0)


def test_an_encoding_belongs_to_the_file_that_it_was_said_of(path, tmp_path):
    host = started(path)
    owner_of(host).post("/d/rows/setup", data={"do": "draft", "encoding": "latin-1"})
    host.close(1.0)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "rows.csv"
    other.write_text("town,age\nKöln,3\n", encoding="utf-8")
    server = ServerSettings(grid_ms=1, state=str(tmp_path / ".hedgerow"))
    host = Host(Config(server, Limits(), (DatasetSettings(str(other)),)))
    host.start()
    assert host.datasets["rows"].dataset.encoding is None
    host.close(1.0)


def test_a_server_is_told_an_encoding_like_every_command(path):
    host = started(path, encoding="latin-1")
    assert "Köln" in owner_of(host).post("/d/rows/setup", data={"do": "draft"}).text
    host.close(1.0)


def test_a_file_with_line_breaks_in_cells_is_set_up_in_a_browser(tmp_path):
    lines = "".join(f'"said\n{i}",{"FM"[i % 2]},{i % 80}\n' for i in range(200))
    (tmp_path / "rows.csv").write_text("note,sex,age\n" + lines)
    host = started(tmp_path / "rows.csv")
    owner = owner_of(host)
    drafted = owner.post("/d/rows/setup", data={"do": "draft"})
    assert drafted.status_code == 200
    assert "all of the file follows RFC 4180" in drafted.text
    sent = fields(drafted.text, "do=schema")
    wrong = owner.post("/d/rows/setup", data=sent | {"c0.name": "sex", "c1.name": "sex"})
    assert wrong.status_code == 400
    assert fields(wrong.text, "do=schema")["multiline"] == sent["multiline"] == ["yes"]  # as it was left
    assert owner.post("/d/rows/setup", data=sent).status_code == 200
    assert Schema.load(tmp_path / "schema.yaml").csv == {"multiline": True}
    given = owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1", "protect": "rows"})
    assert given.status_code == 303
    hosted = host.datasets["rows"]
    assert hosted.state == "unlearned"
    assert hosted.dataset.open(hosted.dataset.domain, None)[1]._reading.rows == 200
    host.close(1.0)


def test_an_owner_who_does_not_vouch_for_line_breaks_has_them_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("note,sex\n" + '"said\nso",F\n"x",M\n' * 100)
    host = started(tmp_path / "rows.csv")
    owner = owner_of(host)
    sent = fields(owner.post("/d/rows/setup", data={"do": "draft"}).text, "do=schema")
    sent.pop("multiline")
    assert owner.post("/d/rows/setup", data=sent).status_code == 200
    assert Schema.load(tmp_path / "schema.yaml").csv == {}
    given = owner.post("/d/rows/setup", data={"do": "budget", "epsilon": "1", "protect": "rows"})
    assert given.status_code == 400
    assert "opens a quoted cell" in given.text
    host.close(1.0)


def test_a_draft_takes_nothing_from_a_schema_that_lies_about(tmp_path, monkeypatch):
    """A proposal of before, or the schema of other data in the server's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "schema.yaml").write_text(
        "csv: {encoding: latin-1, multiline: true}\nattributes: {a: [b, c]}\n"
    )
    text = "note,town\n" + '"said\nso",Köln\n"x",Süd\n' * 100
    (tmp_path / "data" / "rows.csv").write_text(text, encoding="utf-8")
    host = started(tmp_path / "data" / "rows.csv")
    drafted = owner_of(host).post("/d/rows/setup", data={"do": "draft"})
    assert "Köln" in drafted.text
    assert "all of the file follows RFC 4180" in drafted.text
    host.close(1.0)
