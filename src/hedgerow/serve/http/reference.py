"""The API's page, from the table of endpoints; `python -m hedgerow.serve.http.reference` writes it."""

from __future__ import annotations

from pathlib import Path

from hedgerow.serve.call import STATUS
from hedgerow.serve.http.endpoints import ENDPOINTS, Endpoint

PAGE = "docs/api.md"
_ROLES = ("nobody", "reader", "analyst", "owner")
_LEAST = {"anybody": 0, "reader": 1, "analyst": 2, "owner": 3}
_HEAD = """\
# HTTP API

Every endpoint of [a server](serve.md), and who may use it: yes, 401 (a token is needed) or 403 (another one
is needed). A token that does not reach a dataset gets 403 for it, whether it is there or not.
`/openapi.json` describes what is sent and replied. A test tries every line with every role; this page is
written from the same table (`python -m hedgerow.serve.http.reference`).

"""
_TAIL = """
## Errors

One shape: `{"error": {"code", "message", "hint", "needed", "remaining", "affordable", "position"}}`.
429 and 503 say when to come back (`Retry-After`).

| status | codes |
| --- | --- |
"""


def page() -> str:
    """The page as Markdown."""
    head = f"| endpoint | | {' | '.join(_ROLES)} |\n|{' --- |' * (2 + len(_ROLES))}\n"
    codes: dict[int, list[str]] = {}
    for code, status in STATUS.items():
        codes.setdefault(status, []).append(f"`{code}`")
    errors = "".join(f"| {status} | {', '.join(named)} |\n" for status, named in sorted(codes.items()))
    return _HEAD + head + "".join(map(_line, ENDPOINTS)) + _TAIL + errors


def _line(endpoint: Endpoint) -> str:
    least = _LEAST[endpoint.whom]
    cells = ["yes" if rank >= least else "403" if rank else "401" for rank in range(len(_ROLES))]
    return f"| `{endpoint.method} {endpoint.path}` | {endpoint.words} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
