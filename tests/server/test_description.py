"""The API's description is true: what is sent by it gets a documented status and a documented shape."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from starlette.testclient import TestClient

from hedgerow.serve.http import openapi
from hedgerow.serve.http.app import application
from hedgerow.serve.http.endpoints import ENDPOINTS
from hedgerow.service.host import make_token
from services.server import SQL, hosted

pytestmark = [pytest.mark.xdist_group("server"), pytest.mark.filterwarnings("ignore:Using `httpx`")]
TOLD = openapi.description()
KINDS: dict[str, Any] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list,
    "null": type(None),
}  # fmt: skip


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return TOLD["components"]["schemas"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is as a schema says; as much of JSON Schema as the description uses."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    right = any(isinstance(value, KINDS[k]) and (k == "boolean") == isinstance(value, bool) for k in kinds)
    if not right and not (isinstance(value, bool) and "boolean" in kinds):
        return False
    if isinstance(value, list):
        return all(fits(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        closed = schema.get("additionalProperties", True) is False and value.keys() - parts.keys()
        whole = set(schema.get("required", ())) <= value.keys()
        return whole and not closed and all(fits(value[n], parts[n]) for n in value.keys() & parts.keys())
    return True


def drawn(rng: random.Random, schema: dict[str, Any]) -> Any:
    """A value that fits a schema, or nearly does."""
    schema = resolved(schema)
    if rng.random() < 0.04:
        return rng.choice([None, True, -1, 1e308, "", "x", [], {}, "é\x00", 10**30])
    if "anyOf" in schema:
        return drawn(rng, rng.choice(schema["anyOf"]))
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kinds = schema.get("type", ["string", "number"])
    kind = rng.choice([kinds] if isinstance(kinds, str) else kinds)
    if kind == "object":
        parts, needed = schema.get("properties", {}), schema.get("required", ())
        names = [n for n in parts if n in needed or rng.random() < 0.4]
        return {n: SQL if n == "sql" and rng.random() < 0.7 else drawn(rng, parts[n]) for n in names}
    if kind == "array":
        return [drawn(rng, schema.get("items", {})) for _ in range(rng.randint(0, 3))]
    plain = {
        "boolean": [True, False],
        "integer": [0, 1, 100, -5],
        "null": [None],
        "number": [0.5, 100, 0, 1e-9],
    }
    return rng.choice(plain.get(kind, ["people", "a", "learn", "0.5", "SELECT 1", "2027-01-01"]))


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    host, _ = hosted(tmp_path_factory.mktemp("described") / "host", slice(300))
    host.jobs.add = lambda dataset, asked: (_ for _ in ()).throw(ValueError)  # no process for each of them
    made = []
    for name, role in (("sue", "analyst"), ("own", "owner")):
        _, token = make_token(host.state, name, role, ("*",), True, None)
        made.append(TestClient(application(host), headers={"Authorization": f"Bearer {token}"}))
    yield made
    host.close(0)


def test_every_endpoint_says_what_is_sent_and_replied_and_examples_fit():
    for endpoint in ENDPOINTS:
        told = TOLD["paths"][endpoint.path][endpoint.method.lower()]
        assert told["summary"]
        if isinstance(endpoint.body, dict):
            content = told["requestBody"]["content"]["application/json"]
            assert fits(content["example"], content["schema"]), endpoint.path
    assert not fits({"sql": SQL, "more": 1}, {"$ref": "#/components/schemas/Ask"})
    assert not fits({"sql": 1}, {"$ref": "#/components/schemas/Ask"})


DRAWN = [e for e in ENDPOINTS if e.door.__name__ not in ("add_job", "events", "draft")]


@pytest.mark.parametrize("endpoint", DRAWN, ids=lambda e: f"{e.method} {e.path}")
def test_what_is_drawn_from_the_description_gets_what_it_promises(clients, endpoint, size):
    rng = random.Random(f"{endpoint.method} {endpoint.path}")
    told = TOLD["paths"][endpoint.path][endpoint.method.lower()]
    for _ in range(size(6, 200)):
        path = endpoint.path.format(dataset="people", id="none", name="sue")
        query = {p["name"]: str(drawn(rng, p["schema"])) for p in told["parameters"] if p["in"] == "query"}
        content = told.get("requestBody", {}).get("content", {}).get("application/json")
        body = None if content is None else json.dumps(drawn(rng, content["schema"])).encode()
        for client in clients:
            reply = client.request(endpoint.method, path, params=query, content=body, follow_redirects=False)
            assert str(reply.status_code) in told["responses"], (body, query, reply.text)
            assert reply.status_code < 500, (body, query, reply.text)
            promised = told["responses"][str(reply.status_code)].get("content", {})
            media = reply.headers.get("content-type", "").split(";")[0]
            assert media in promised or not promised, (media, promised.keys())
            if media == "application/json":
                assert fits(reply.json(), promised[media]["schema"]), (reply.status_code, reply.text)
