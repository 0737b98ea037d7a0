"""The description of the API in OpenAPI 3.1, made from the table of endpoints."""

from __future__ import annotations

import re
from typing import Any

import hedgerow
from hedgerow.serve.call import STATUS
from hedgerow.serve.http import shapes
from hedgerow.serve.http.endpoints import ENDPOINTS, Endpoint
from hedgerow.service import frames

_QUERY: dict[str, dict[str, Any]] = {
    "after": {"type": "integer", "minimum": -1},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
    "rows": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "format": {"enum": ["csv", "parquet"]},
}
_PATH = {"dataset": {"type": "string", "pattern": "^[a-z0-9_]{1,64}$"}}


def description() -> dict[str, Any]:
    """All endpoints, with examples and every status that they can have."""
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hedgerow",
            "version": hedgerow.__version__,
            "description": "Differentially private answers to many statistical questions, from one budget.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": shapes.COMPONENTS,
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": endpoint.words,
        "description": f"For: {endpoint.whom}.",
        "operationId": endpoint.door.__name__,
        "responses": {str(endpoint.status): _success(endpoint)},
    }
    for status in sorted(_failures(endpoint)):
        codes = [code for code, number in STATUS.items() if number == status]
        content = {"application/json": {"schema": shapes.ref("Error")}}
        if endpoint.media == "text/html" and status < 500:
            content["text/html"] = {"schema": {"type": "string"}}
        told["responses"][str(status)] = {"description": ", ".join(codes), "content": content}
    if endpoint.whom != "anybody":
        told["security"] = [{"token": []}]
    told["parameters"] = [
        {"name": n, "in": "path", "required": True, "schema": _PATH.get(n, {"type": "string"})}
        for n in re.findall(r"{(\w+)}", endpoint.path)
    ] + [
        {"name": n, "in": "query", "required": False, "schema": _QUERY.get(n, {"type": "string"})}
        for n in endpoint.query
    ]
    if endpoint.body is not None:
        told["requestBody"] = {"required": bool(endpoint.body), "content": _sent(endpoint)}
    return told


def _failures(endpoint: Endpoint) -> set[int]:
    """The statuses that are no success."""
    if endpoint.media == "text/html":
        return {400, 401, 403, 404, 413, 500, 503}
    return {400, 404, 413, 500, 503} | (set() if endpoint.whom == "anybody" else set(STATUS.values()))


def _sent(endpoint: Endpoint) -> dict[str, Any]:
    """What is sent."""
    if isinstance(endpoint.body, str):  # a form of a page
        form = {"type": "object", "properties": {"token": {"type": "string"}}}
        return {"application/x-www-form-urlencoded": {"schema": form}}
    name = endpoint.door.__name__
    made: dict[str, Any] = {"application/json": {"schema": shapes.BODIES[name], "example": endpoint.body}}
    if name == "add_dataset":  # rows themselves
        made |= {media: {"schema": {"type": "string"}} for media in (frames.CSV, frames.PARQUET)}
    return made


def _success(endpoint: Endpoint) -> dict[str, Any]:
    """What is replied."""
    schema: dict[str, Any] = {"type": "string"}
    if endpoint.media == "application/json":
        schema = shapes.REPLIES[endpoint.door.__name__]
    content = {media: {"schema": schema} for media in endpoint.media.split(", ")}
    if endpoint.door.__name__ == "ask":
        content |= {media: {"schema": {"type": "string"}} for media in frames.MEDIA}
    if endpoint.status == 303:
        return {"description": endpoint.words}
    return {"description": endpoint.words, "content": content}
