"""The page about SQL holds: what works is answered, what cannot be is refused for the reason given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import worlds

from hedgerow.errors import HedgerowError
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
WORKS, CANNOT = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)


class _Held:
    def __init__(self, table: object) -> None:
        self.table = table


def _statements(block: str) -> list[tuple[str, str]]:
    """The statements of a block, each with the comment above it."""
    out: list[tuple[str, str]] = []
    said, lines = "", []
    for line in block.splitlines():
        if line.startswith("-- "):
            said = line.removeprefix("-- ")
            continue
        lines.append(line)
        if line.endswith(";"):
            out.append((said, "\n".join(lines).removesuffix(";")))
            lines = []
    return out


@pytest.mark.parametrize("text", [text for _, text in _statements(WORKS)])
def test_what_works_works(text: str) -> None:
    world = worlds.world("flights")
    tables = exact_tables(world.columns, {a: world.domain[a].size for a in world.domain}, world.domain)
    asked = sql(world.domain, text)
    if isinstance(asked, TwoStages):
        made, _ = asked.answered(lambda questions: [_Held(q.evaluate(tables)) for q in questions])
        assert made.result.rows
    else:
        assert asked.evaluate(tables).rows


@pytest.mark.parametrize(("why", "text"), _statements(CANNOT))
def test_what_cannot_be_is_refused_for_that_reason(why: str, text: str) -> None:
    with pytest.raises(HedgerowError, match=re.escape(why.rsplit(": ", maxsplit=1)[1])):
        sql(worlds.world("flights").domain, text)
