"""Schema: a schema file, with the owner's mark on whether its content was confirmed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from hedgerow.errors import DomainMismatch
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


@dataclass(frozen=True)
class Schema:
    """A schema file.

    Args:
        path: the file.
        domain: what it declares.
        confirmed: False only for a proposal that the owner has not confirmed.
        tables: what is joined to the facts; files are named from the schema's folder.
    """

    path: Path
    domain: Domain
    confirmed: bool
    tables: tuple[JoinedTable, ...] = ()

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
        told = held.get("tables") if "attributes" in held else None
        tables = () if told is None else JoinedTable.declared(told)
        beside = tuple(replace(table, source=str(path.parent / table.source)) for table in tables)
        return cls(path, domain, mark is not False, beside)

    def confirmed_domain(self) -> Domain:
        """The domain, if the owner stands by it."""
        if not self.confirmed:
            raise DomainMismatch(
                f"{str(self.path)!r} was proposed from private rows and is not confirmed: read it, then run "
                f"`hedgerow schema check {self.path} --confirm`"
            )
        return self.domain

    def confirm(self) -> None:
        """Set the owner's mark, leaving the rest of the file as it is."""
        text = self.path.read_text(encoding="utf-8-sig")
        if self.path.suffix == ".json":
            text = re.sub(r'("confirmed"\s*:\s*)false', r"\1true", text, count=1)
        else:
            text = re.sub(r"(?mi)^(confirmed\s*:\s*)\S+", r"\1true", text, count=1)
        with whole(self.path) as draft:
            draft.write_text(text, encoding="utf-8")


def proposal_text(domain: Domain, name: str) -> str:
    """A proposed schema as YAML, marked as unconfirmed and saying so loudly; nothing else about rows."""
    return _WARNING.format(name=name) + _body(domain, confirmed=False)


def private_text(domain: Domain, cost: str) -> str:
    """A schema that was drafted from noise alone, as YAML: it is public as it is."""
    return _DRAFTED.format(cost=cost) + _body(domain, confirmed=True)


def _body(domain: Domain, *, confirmed: bool) -> str:
    import yaml

    held = {"confirmed": confirmed} | domain.to_schema()
    text: str = yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return text
