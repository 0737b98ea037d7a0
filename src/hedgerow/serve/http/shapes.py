"""Shapes: what is sent and replied, as JSON Schema; the description of the API is made from them."""

from __future__ import annotations

from typing import Any

from hedgerow.serve.call import STATUS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
MAYBE: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
AMOUNT: Schema = {
    "type": ["number", "string"],
    "description": "A number; as a text it is taken to the last digit.",
}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
TEXTS: Schema = {"type": "array", "items": TEXT}
THING: Schema = {"type": "object"}


def ref(name: str) -> Schema:
    """One of the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(required: dict[str, Schema], /, **more: Schema) -> Schema:
    """An object: names that are always there, and names that may be."""
    return {"type": "object", "required": list(required), "properties": required | more}


def sent(required: dict[str, Schema], /, **more: Schema) -> Schema:
    """The same as it is sent: with another name it is refused."""
    return record(required, **more) | {"additionalProperties": False}


def many(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


PRICE: Schema = {
    "type": ["object", "null"],
    "properties": {"epsilon": {"type": ["number", "null"]}, "delta": NUMBER},
}
_WISH: dict[str, Schema] = {
    "params": {"type": "array", "description": "Values for its placeholders."},
    "within": {"type": ["number", "null"], "description": "How far off, as a part of all rows."},
    "within_count": {"type": ["number", "null"], "description": "The same as a number of rows."},
    "confidence": {"type": ["number", "null"], "description": "How sure to be."},
    "spend": {"type": "boolean", "default": False, "description": "Whether it may cost something."},
    "max_epsilon": {"type": ["number", "null"], "description": "The most that it may cost."},
    "request": {"type": ["string", "null"], "description": "The same id is one question, asked twice."},
}
_SQL: Schema = {"type": "string", "description": "One SELECT statement."}
_REASON = sent({"reason": TEXT})
_STATE = record({"name": TEXT, "state": TEXT, "words": MAYBE})
_TIMES: dict[str, Schema] = {"made": TEXT, "expires": TEXT, "used": MAYBE, "revoked": MAYBE, "source": MAYBE}
_TOKEN = {"id": TEXT, "name": TEXT, "role": TEXT, "may_spend": FLAG, **_TIMES, "datasets": TEXTS}
_LIMITS: Schema = {
    "type": ["object", "null"],
    "properties": {"limit": PRICE, "spent": PRICE, "remaining": PRICE},
}
_BUDGET = {
    "budget": PRICE,
    "spent": PRICE,
    "remaining": PRICE,
    "used": MAYBE_NUMBER,
    "yours": _LIMITS,
    "forecast": many(record({"what": TEXT, "within_count": MAYBE_NUMBER, "questions": MAYBE_NUMBER})),
}
_SPENT_BY = record({"time": TEXT, "epsilon": MAYBE_NUMBER, "part": MAYBE_NUMBER})

COMPONENTS: dict[str, Schema] = {
    "Ask": sent({"sql": _SQL}, **_WISH),
    "Answer": record(
        {
            "sql": TEXT,
            "columns": TEXTS,
            "rows": many(THING),
            "confidence": NUMBER,
            "source": {"enum": ["certified", "measured", "learned"]},
            "cached": FLAG,
            "simultaneous": FLAG,
            "cost": PRICE,
            "remaining": PRICE,
            "notes": TEXTS,
            "private": FLAG,
            "request": MAYBE,
            "receipt": {"type": ["object", "null"]},
        }
    ),
    "Explanation": record(
        {
            "source": TEXT,
            "cached": FLAG,
            "confidence": NUMBER,
            "error": {"description": "A number, or one for each group."},
            "cost": PRICE,
            "affordable": FLAG,
            "needs_rows": {"type": ["boolean", "integer", "null"]},
            "words": TEXT,
        }
    ),
    "Approval": record(
        {"id": TEXT, "state": {"enum": ["waiting", "approved", "refused"]}, "cost": PRICE, "question": THING,
         "reason": TEXT, "who": TEXT, "time": TEXT, "answer": {"type": ["object", "null"]}}
    ),
    "Job": record(
        {
            "id": TEXT,
            "kind": {"enum": ["learn", "release"]},
            "state": {"enum": ["queued", "running", "done", "failed", "refused"]},
            "part": {"type": ["number", "null"]},
            "words": TEXT,
            "result": {"type": ["object", "null"]},
        }
    ),
    "Error": record(
        {
            "error": record(
                {
                    "code": {"enum": sorted(STATUS)},
                    "message": TEXT,
                    "hint": MAYBE,
                    "needed": PRICE,
                    "remaining": PRICE,
                    "affordable": {"type": ["boolean", "null"]},
                    "position": {"type": ["object", "null"]},
                }
            )
        }
    ),
}  # fmt: skip

BODIES: dict[str, Schema] = {
    "ask": ref("Ask"),
    "ask_batch": sent({"questions": many(ref("Ask"))}, request=MAYBE),
    "explain": {"anyOf": [ref("Ask"), sent({"questions": many(ref("Ask"))}, request=MAYBE)]},
    "put_approval": sent({"sql": _SQL, "reason": TEXT}, **_WISH),
    "decide": sent({"decision": {"enum": ["approved", "refused"]}, "reason": TEXT}),
    "add_dataset": record({"path": TEXT}),
    "put_schema": sent({}, yaml=MAYBE, confirm=FLAG),
    "make_budget": sent(
        {"epsilon": AMOUNT},
        delta=AMOUNT,
        unit=MAYBE,
        max_rows={"type": ["integer", "null"]},
        neighbours={"enum": ["add_remove", "replace", None]},
    ),
    "append": sent({"path": TEXT}, day=MAYBE),
    "raise_budget": sent({"epsilon": AMOUNT, "reason": TEXT}, delta=AMOUNT),
    "freeze": _REASON,
    "thaw": _REASON,
    "same_rows": _REASON,
    "draft": THING,
    "add_job": record({"kind": {"enum": ["learn", "release"]}}, epsilon=AMOUNT),
    "new_token": sent(
        {"name": TEXT, "role": {"enum": ["owner", "analyst", "reader"]}},
        datasets={"type": ["array", "null"], "items": TEXT},
        may_spend=FLAG,
        expires={"type": ["string", "number", "null"]},
    ),
    "put_limit": sent({"epsilon": AMOUNT}),
}
"""What is sent, by the name of the door."""

REPLIES: dict[str, Schema] = {
    "healthz": record({"ok": FLAG}),
    "readyz": record({"ready": FLAG}),
    "datasets": record({"datasets": many(record({"name": TEXT, "state": TEXT, "may_spend": FLAG}))}),
    "schema": record(
        {
            "attributes": many(
                record({"name": TEXT, "kind": TEXT, "levels": {"type": "array"}, "missing": FLAG})
            ),
            "unit": MAYBE,
            "max_rows": WHOLE,
            "neighbours": TEXT,
        }
    ),
    "ask": ref("Answer"),
    "ask_batch": record({"answers": many(ref("Answer"))}),
    "explain": {"anyOf": [ref("Explanation"), record({"explanations": many(ref("Explanation"))})]},
    "budget": record(_BUDGET, series=many(_SPENT_BY), lasts=MAYBE),
    "raise_budget": record(_BUDGET, words=TEXTS),
    "history": record({"items": many(THING), "next": {"type": ["integer", "null"]}}),
    "put_approval": ref("Approval"),
    "approvals": record({"approvals": many(ref("Approval"))}),
    "decide": ref("Approval"),
    "add_job": ref("Job"),
    "job": ref("Job"),
    "add_dataset": _STATE,
    "put_schema": _STATE,
    "make_budget": _STATE,
    "append": record(
        {"number": WHOLE, "name": TEXT, "by": TEXT, "year": WHOLE, "notes": TEXTS, "state": TEXT}
    ),
    "freeze": _STATE,
    "thaw": _STATE,
    "same_rows": _STATE,
    "draft": record({"yaml": TEXT, "confirmed": FLAG}),
    "ledger": THING,
    "verify": record({"ok": FLAG, "entries": WHOLE, "problems": TEXTS, "words": TEXT, "receipt": THING}),
    "new_token": record(_TOKEN, token=TEXT),
    "tokens": record({"tokens": many(record(_TOKEN))}),
    "revoke_token": record(_TOKEN),
    "put_limit": record({"analyst": TEXT, "dataset": TEXT, "yours": _LIMITS}),
}  # fmt: skip
"""What is replied, by the name of the door."""
