"""The description of the API in OpenAPI 3.1, made from the table of endpoints."""

from __future__ import annotations

import re
from typing import Any

import hedgerow
from hedgerow.serve.http.call import STATUS
from hedgerow.serve.http.endpoints import ENDPOINTS, Endpoint

_ASK: dict[str, Any] = {
    "type": "object",
    "required": ["sql"],
    "additionalProperties": False,
    "properties": {
        "sql": {"type": "string", "description": "One SELECT statement."},
        "params": {"type": "array", "description": "Values for its placeholders."},
        "within": {"type": ["number", "null"], "description": "How far off, as a part of all rows."},
        "within_count": {"type": ["number", "null"], "description": "The same as a number of rows."},
        "confidence": {"type": ["number", "null"]},
        "spend": {"type": "boolean", "default": False, "description": "Whether it may cost something."},
        "max_epsilon": {"type": ["number", "null"], "description": "The most that it may cost."},
        "request": {"type": ["string", "null"], "description": "The same id is one question, asked twice."},
    },
}
_PRICE: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {"epsilon": {"type": ["number", "null"]}, "delta": {"type": "number"}},
}
_ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["sql", "columns", "rows", "confidence", "source", "cached", "cost", "remaining", "notes"],
    "properties": {
        "sql": {"type": "string"},
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "object"}},
        "confidence": {"type": "number"},
        "source": {"enum": ["certified", "measured", "learned"]},
        "cached": {"type": "boolean"},
        "simultaneous": {"type": "boolean"},
        "cost": _PRICE,
        "remaining": _PRICE,
        "notes": {"type": "array", "items": {"type": "string"}},
        "private": {"type": "boolean"},
        "request": {"type": ["string", "null"]},
        "receipt": {"type": ["object", "null"]},
    },
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "needed", "remaining", "affordable", "position"],
            "properties": {
                "code": {"enum": sorted(STATUS)},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"]},
                "needed": _PRICE,
                "remaining": _PRICE,
                "affordable": {"type": ["boolean", "null"]},
                "position": {"type": ["object", "null"]},
            },
        }
    },
}


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
            "schemas": {"Ask": _ASK, "Answer": _ANSWER, "Error": _ERROR},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": endpoint.words,
        "description": f"For: {endpoint.whom}.",
        "operationId": endpoint.door.__name__,
        "responses": {str(endpoint.status): _success(endpoint)},
    }
    failures = {400, 404, 413, 500, 503} | (set() if endpoint.whom == "anybody" else set(STATUS.values()))
    for status in sorted(failures):
        codes = [code for code, number in STATUS.items() if number == status]
        error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        told["responses"][str(status)] = {"description": ", ".join(codes), "content": error}
    if endpoint.whom != "anybody":
        told["security"] = [{"token": []}]
    names = re.findall(r"{(\w+)}", endpoint.path)
    told["parameters"] = [
        {"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names
    ] + [{"name": n, "in": "query", "required": False, "schema": {"type": "string"}} for n in endpoint.query]
    if endpoint.body is not None:
        schema = (
            {"$ref": "#/components/schemas/Ask"} if endpoint.path.endswith("/ask") else {"type": "object"}
        )
        content: dict[str, Any] = {"application/json": {"schema": schema, "example": endpoint.body}}
        if isinstance(endpoint.body, str):  # a form of a page
            content = {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _success(endpoint: Endpoint) -> dict[str, Any]:
    schema: dict[str, Any] = (
        {"type": "object"} if endpoint.media == "application/json" else {"type": "string"}
    )
    if endpoint.path.endswith("/ask"):
        schema = {"$ref": "#/components/schemas/Answer"}
    return {"description": endpoint.words, "content": {endpoint.media: {"schema": schema}}}
