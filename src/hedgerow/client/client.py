"""Client: a dataset at a server, asked from Python; `connect` opens one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from hedgerow.client.address import Address
from hedgerow.client.served import ServedAnswer
from hedgerow.client.transport import Transport
from hedgerow.errors import BadValue, NotFound

PLAIN = (str, int, float, bool, type(None))
_DONE = ("done", "failed", "refused")


class Client:
    """A dataset at a server.

    Args:
        address: where it is; without a dataset's name the one that the token reaches.
        patience: seconds that one request may take.
        tries: how often a request is tried when the server cannot be reached, or says "later".
    """

    def __init__(self, address: Address, *, patience: float = 120.0, tries: int = 5) -> None:
        self._transport = Transport(address, patience, tries)
        self._dataset = address.dataset

    @property
    def named(self) -> str | None:
        """The dataset's name, as far as somebody has said it."""
        return self._dataset

    @property
    def dataset(self) -> str:
        """The name of the dataset that is asked."""
        if self._dataset is None:
            names = [found["name"] for found in self.datasets()]
            if len(names) != 1:
                there = f"there are {', '.join(names)}" if names else "this token reaches none"
                raise NotFound(f"which dataset is meant? {there}", hint="say dataset='NAME'")
            (self._dataset,) = names
        return self._dataset

    def datasets(self) -> list[dict[str, Any]]:
        """The datasets that the token reaches, with their states."""
        found: list[dict[str, Any]] = self._get("/v1/datasets")["datasets"]
        return found

    def ask(
        self,
        sql: str,
        params: Sequence[Any] | None = None,
        *,
        within: float | None = None,
        within_count: float | None = None,
        confidence: float | None = None,
        spend: bool = False,
        max_epsilon: float | None = None,
        request: str | None = None,
    ) -> ServedAnswer:
        """The answer to a question; free unless `spend`.

        Args:
            sql: one SELECT statement.
            params: values for ? in order, or for $1, $2.
            within: how far off counts may be, as a part of all rows.
            within_count: the same as a number of rows.
            confidence: how sure to be.
            spend: whether it may cost something.
            max_epsilon: the most that it may cost.
            request: an id: the same question with the same id is answered and charged once. One is made
                for every question that may cost something, so that trying again is safe.
        """
        wish: dict[str, Any] = {"within": within, "within_count": within_count, "confidence": confidence}
        wish |= {"spend": spend, "max_epsilon": max_epsilon, "request": request}
        if spend and request is None:
            wish["request"] = secrets.token_hex(12)
        return ServedAnswer(self._post("ask", question(sql, params) | wish))

    def ask_many(
        self, questions: Sequence[str | dict[str, Any]], *, spend: bool = False
    ) -> list[ServedAnswer]:
        """The answers to many questions, priced and refused as a whole.

        Args:
            questions: statements, or dictionaries with `sql` and what `ask` takes.
            spend: whether they may cost something.
        """
        asks = [{"sql": q, "spend": spend} if isinstance(q, str) else {"spend": spend} | q for q in questions]
        told = self._post("ask/batch", {"questions": asks, "request": secrets.token_hex(12)})
        return [ServedAnswer(answer) for answer in told["answers"]]

    def explain(self, sql: str, params: Sequence[Any] | None = None, **wish: Any) -> dict[str, Any]:
        """What asking would do - source, expected error, worst cost - which spends nothing.

        Args:
            sql, params: the question.
            wish: within, within_count, confidence, as in `ask`.
        """
        told: dict[str, Any] = self._post("explain", question(sql, params) | wish)
        return told

    def table(self, *columns: str, **wish: Any) -> ServedAnswer:
        """Counts of every combination of some columns' levels.

        Args:
            columns: their names.
            wish: what `ask` takes.
        """
        if not columns or not all(isinstance(name, str) for name in columns):
            raise BadValue("a table is asked for by the names of its columns, such as db.table('sex', 'age')")
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        return self.ask(f"SELECT {names}, COUNT(*) AS n FROM t GROUP BY {names}", **wish)

    def budget(self) -> dict[str, Any]:
        """What may be spent, was and is left, of the dataset and of one's own, and what that still buys."""
        return self._get(self._path("budget"))

    def history(self, after: int = -1, limit: int = 100) -> list[dict[str, Any]]:
        """What was asked; one's own questions, or everybody's for an owner.

        Args:
            after: only what came after this number.
            limit: the most that is told.
        """
        found: list[dict[str, Any]] = self._get(self._path(f"history?after={after:d}&limit={limit:d}"))[
            "items"
        ]
        return found

    def schema(self) -> dict[str, Any]:
        """Which columns there are, with their levels, and whom the budget protects."""
        return self._get(self._path("schema"))

    def sample(self, rows: int = 1000, *, to: str | Path | None = None) -> Any:
        """Synthetic rows, drawn from what was learned, free.

        Args:
            rows: how many.
            to: a file for them, .csv or .parquet; without one they come back as a list of dictionaries.
        """
        kind = "parquet" if to is not None and Path(to).suffix == ".parquet" else "csv"
        body = self._transport.send(
            "GET", self._path(f"sample?rows={rows:d}&format={kind}"), accept="*/*"
        ).body
        if to is None:
            import csv

            return list(csv.DictReader(body.decode().splitlines()))
        Path(to).write_bytes(body)
        return Path(to)

    def synopsis(self, to: str | Path) -> Path:
        """All that was learned, as a file for `hr.Synopsis.load`.

        Args:
            to: where it is written.
        """
        Path(to).write_bytes(self._transport.send("GET", self._path("synopsis"), accept="*/*").body)
        return Path(to)

    def ask_owner(
        self, sql: str, reason: str, params: Sequence[Any] | None = None, **wish: Any
    ) -> dict[str, Any]:
        """Put a question that is beyond one's limit to the owner.

        Args:
            sql, params: the question.
            reason: why it should be answered.
            wish: what `ask` takes.
        """
        wish = {"spend": True, "request": secrets.token_hex(12)} | wish
        data = question(sql, params) | wish | {"reason": reason}
        told: dict[str, Any] = self._transport.send("POST", self._path("approvals"), data, safe=False).json()
        return told

    def job(
        self, kind: str, *, watch: Callable[[dict[str, Any]], None] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Have the server learn, or make a release, and wait until that is done (owners).

        Args:
            kind: learn or release.
            watch: told the job each time it has moved.
            options: epsilon, and what the job takes.
        """
        send = self._transport.send
        job: dict[str, Any] = send("POST", self._path("jobs"), {"kind": kind} | options, safe=False).json()
        for _, moved in self._transport.stream(f"/v1/jobs/{job['id']}/events"):
            job = moved
            if watch is not None:
                watch(job)
        return job if job["state"] in _DONE else self._get(f"/v1/jobs/{job['id']}")

    def close(self) -> None:
        """Close the connection; asking opens another one."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        named = f"{self._transport.address.server}/{self._dataset or ''}".rstrip("/")
        return f"<Hedgerow at {named}>"

    def _path(self, what: str) -> str:
        return f"/v1/datasets/{quote(self.dataset)}/{what}"

    def _get(self, path: str) -> dict[str, Any]:
        told: dict[str, Any] = self._transport.send("GET", path).json()
        return told

    def _post(self, what: str, data: dict[str, Any]) -> Any:
        safe = not data.get("spend") or data.get("request") is not None
        return self._transport.send("POST", self._path(what), data, safe=safe).json()


def connect(
    url: str | None = None,
    token: str | None = None,
    dataset: str | None = None,
    *,
    patience: float = 120.0,
    tries: int = 5,
) -> Client:
    """A dataset at a server; nothing is sent until something is asked.

    Args:
        url: http://HOST:PORT, perhaps with /DATASET; HEDGEROW_URL if None.
        token: HEDGEROW_TOKEN, or what the file of HEDGEROW_TOKEN_FILE holds, if None.
        dataset: its name; the only one that the token reaches if None.
        patience: seconds that one request may take.
        tries: how often a request is tried when the server cannot be reached, or says "later".

    >>> connect("http://127.0.0.1:8765/people", "hr_1_x")
    <Hedgerow at http://127.0.0.1:8765/people>
    """
    return Client(Address.of(url, token, dataset), patience=patience, tries=tries)


def question(sql: str, params: Sequence[Any] | None = None) -> dict[str, Any]:
    """A statement and its values as they are sent; dates go as text.

    Args:
        sql: the statement.
        params: the values.

    >>> question("SELECT COUNT(*) FROM t WHERE day >= ?", [date(2024, 5, 1)])["params"]
    ['2024-05-01']
    """
    if not isinstance(sql, str):
        raise BadValue(f"a question is SQL, a text, not a {type(sql).__name__}")
    if params is not None and (isinstance(params, str | bytes) or not isinstance(params, Sequence)):
        raise BadValue("`params` is a list of values, one for each ?")
    return {"sql": sql, "params": [_sent(value) for value in params or ()]}


def _sent(value: Any) -> Any:
    if hasattr(value, "item") and not isinstance(value, PLAIN):  # a number of numpy's
        value = value.item()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, PLAIN):
        raise BadValue(
            f"a value is a number, a text, a date, true, false or null, not a {type(value).__name__}"
        )
    return value
