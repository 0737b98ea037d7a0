"""Schema: a schema file, with the owner's mark on whether its content was confirmed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain.csv_section import csv_section
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.domain.joined import JoinedTable
from hedgerow.queries.domain.schema_file import read_schema
from hedgerow.release.writing import whole

_WARNING = """\
# PROPOSED FROM PRIVATE ROWS by `hedgerow schema infer`. NOT PUBLIC YET.
#
# The levels, the ranges and every `step` below were read off the data. A schema is public knowledge:
# whoever reads a release reads it. Change what only the data could have told you - rare values, exact
# minima and maxima - to what anyone may know, and leave out columns that nobody should ask about. Then set
# `confirmed: true`, or run
#     hedgerow schema check {name} --confirm
# Nothing is released from this file before that.
"""

_DRAFTED = """\
# Drafted by `hedgerow schema infer --private` from noise and the names of columns, for {cost}, which the
# dataset's ledger holds. It tells no more about anybody than that allows: it may be used and shown as it
# is, or changed.
"""


_STANDARD = """\
# `multiline`: quoted cells of the file hold line breaks, and a row may be several lines, as RFC 4180 says.
# Confirm it if what wrote the file puts such cells into quotes and doubles the quotes in them, as pandas and
# spreadsheets do. Of a file that was written otherwise one row could hide others: mend it, and draft again.
"""


@dataclass(frozen=True)
class Schema:
    """A schema file.

    Args:
        path: the file.
        domain: what it declares.
        confirmed: False only for a proposal that the owner has not confirmed.
        tables: what is joined to the facts; files are named from the schema's folder.
        csv: how CSV files are written, where that was said: encoding, delimiter and multiline.
    """

    path: Path
    domain: Domain
    confirmed: bool
    tables: tuple[JoinedTable, ...] = ()
    csv: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Schema:
        """Read a schema file; a file without a mark was written by hand, which is as good as confirmed."""
        held = read_schema(path)
        try:
            domain = Domain.from_schema(held)
            _ = domain.size
        except DomainMismatch as error:
            raise DomainMismatch(f"in the schema file {str(path)!r}: {error}") from None
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise DomainMismatch(
                f"the schema file {str(path)!r} has an entry that cannot be understood: look over its dates, "
                "bins and hierarchies, and that `missing` is true or false"
            ) from None
        mark = held.get("confirmed", True)
        if not isinstance(mark, (bool, list, dict)):
            raise DomainMismatch(f"`confirmed` in {str(path)!r} is true or false, not {mark!r}")
        told, csv = (held.get(key) if "attributes" in held else None for key in ("tables", "csv"))
        tables = () if told is None else JoinedTable.declared(told)
        beside = tuple(replace(table, source=str(path.parent / table.source)) for table in tables)
        return cls(path, domain, mark is not False, beside, {} if csv is None else csv_section(csv, path))

    def confirmed_domain(self) -> Domain:
        """The domain, if the owner stands by it."""
        if not self.confirmed:
            raise DomainMismatch(
                f"{str(self.path)!r} was proposed from private rows and is not confirmed: read it, then run "
                f"`hedgerow schema check {self.path} --confirm`"
            )
        return self.domain

    def read_by(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """How a CSV file is read: as was said, else as is written here.

        Args:
            said: encoding, delimiter and multiline, or those of them that were said.
        """
        return {**said, **{name: value for name, value in self.csv.items() if not said.get(name)}}

    def confirm(self) -> None:
        """Set the owner's mark, leaving the rest of the file as it is."""
        text = self.path.read_text(encoding="utf-8-sig")
        if self.path.suffix == ".json":
            text = re.sub(r'("confirmed"\s*:\s*)false', r"\1true", text, count=1)
        else:
            text = re.sub(r"(?mi)^(confirmed\s*:\s*)\S+", r"\1true", text, count=1)
        with whole(self.path) as draft:
            draft.write_text(text, encoding="utf-8")


def proposal_text(domain: Domain, name: str, csv: Mapping[str, Any]) -> str:
    """A proposed schema as YAML, marked as unconfirmed and saying so loudly; nothing else about rows.

    Args:
        domain: what is proposed.
        name: of the file.
        csv: how the CSV file is written, where its header does not show it.
    """
    return _WARNING.format(name=name) + schema_text(domain.to_schema(), csv)


def private_text(domain: Domain, cost: str, csv: Mapping[str, Any]) -> str:
    """A schema that was drafted from noise alone, as YAML: it is public as it is.

    Args:
        domain: what was drafted.
        cost: what it cost.
        csv: how the CSV file is written, by its owner's word alone.
    """
    return _DRAFTED.format(cost=cost) + schema_text(domain.to_schema(), csv, confirmed=True)


def schema_text(held: Mapping[str, Any], csv: Mapping[str, Any], *, confirmed: bool = False) -> str:
    """A schema as YAML.

    Args:
        held: the schema as plain data.
        csv: how the CSV file is written; what was not said is left out.
        confirmed: the owner's mark.
    """
    import yaml

    said = {name: value for name, value in csv.items() if value}
    body = {"confirmed": confirmed} | ({"csv": said} if said else {}) | dict(held)
    text: str = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    if said.get("multiline") and not confirmed:
        text = text.replace("csv:", f"{_STANDARD}csv:", 1)
    return text
