"""AsyncClient: the same for programs that wait for many things at once; `connect_async` opens one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

from hedgerow.client.client import Client, connect
from hedgerow.client.served import ServedAnswer

T = TypeVar("T")


class AsyncClient:
    """A dataset at a server, whose methods are awaited; each runs in a thread with a connection of its own.

    Args:
        client: who asks.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, sql: str, params: Any = None, **wish: Any) -> ServedAnswer:
        """As `Client.ask`."""
        return await _in_thread(self._client.ask, sql, params, **wish)

    async def ask_many(self, questions: Any, **wish: Any) -> list[ServedAnswer]:
        """As `Client.ask_many`."""
        return await _in_thread(self._client.ask_many, questions, **wish)

    async def explain(self, sql: str, params: Any = None, **wish: Any) -> dict[str, Any]:
        """As `Client.explain`."""
        return await _in_thread(self._client.explain, sql, params, **wish)

    async def table(self, *columns: str, **wish: Any) -> ServedAnswer:
        """As `Client.table`."""
        return await _in_thread(self._client.table, *columns, **wish)

    async def datasets(self) -> list[dict[str, Any]]:
        """As `Client.datasets`."""
        return await _in_thread(self._client.datasets)

    async def budget(self) -> dict[str, Any]:
        """As `Client.budget`."""
        return await _in_thread(self._client.budget)

    async def history(self, after: int = -1, limit: int = 100) -> list[dict[str, Any]]:
        """As `Client.history`."""
        return await _in_thread(self._client.history, after, limit)

    async def schema(self) -> dict[str, Any]:
        """As `Client.schema`."""
        return await _in_thread(self._client.schema)

    async def sample(self, rows: int = 1000, **options: Any) -> Any:
        """As `Client.sample`."""
        return await _in_thread(self._client.sample, rows, **options)

    async def synopsis(self, to: Any) -> Any:
        """As `Client.synopsis`."""
        return await _in_thread(self._client.synopsis, to)

    async def ask_owner(self, sql: str, reason: str, params: Any = None, **wish: Any) -> dict[str, Any]:
        """As `Client.ask_owner`."""
        return await _in_thread(self._client.ask_owner, sql, reason, params, **wish)

    async def job(self, kind: str, **options: Any) -> dict[str, Any]:
        """As `Client.job`."""
        return await _in_thread(self._client.job, kind, **options)

    async def close(self) -> None:
        """Close the connections."""
        await _in_thread(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._client)


def connect_async(
    url: str | None = None, token: str | None = None, dataset: str | None = None, **options: Any
) -> AsyncClient:
    """As `connect`, for `await`.

    Args:
        url, token, dataset, options: as there.

    >>> connect_async("http://127.0.0.1:8765/people", "hr_1_x")
    <Hedgerow at http://127.0.0.1:8765/people>
    """
    return AsyncClient(connect(url, token, dataset, **options))


async def _in_thread(work: Callable[..., T], *args: Any, **named: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **named))
