"""Settings of one connection: what SET and SHOW speak of, and what questions are asked with."""

from __future__ import annotations

import re
from typing import Any

from hedgerow.errors import BadValue
from hedgerow.service.catalogue_functions import VERSION

_REPORTED = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "default_transaction_read_only": "on",
    "application_name": "",
    "session_authorization": "",
}
_FIXED = {
    "transaction_isolation": "serializable",
    "transaction isolation level": "serializable",
    "search_path": "public",
    "server_version_num": "150000",
    "max_identifier_length": "255",
    "lc_collate": "C",
    "lc_ctype": "C",
    "statement_timeout": "0",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "max_index_keys": "32",
}
_OWN: dict[str, str] = {
    "hedgerow.spend": "off",
    "hedgerow.max_epsilon": "",
    "hedgerow.within": "",
    "hedgerow.within_count": "",
    "hedgerow.confidence": "",
    "hedgerow.request": "",
}
_MOST = 200  # settings of one connection
_NOT_SET = ("server_version", "server_encoding", "integer_datetimes", "is_superuser", "server_version_num")


class WireSettings:
    """The settings of one connection.

    >>> settings = WireSettings("ann")
    >>> settings.set("hedgerow.spend", "on")
    >>> settings.wish["spend"]
    True
    """

    def __init__(self, user: str) -> None:
        self._held = _REPORTED | _FIXED | _OWN | {"session_authorization": user}
        self._names = {name.lower(): name for name in self._held}
        self._before: dict[str, str] = {}

    @property
    def reported(self) -> dict[str, str]:
        """Those that clients are told of."""
        return {name: self._held[name] for name in _REPORTED}

    @property
    def wish(self) -> dict[str, Any]:
        """How questions are asked."""
        made: dict[str, Any] = {"spend": self._held["hedgerow.spend"] == "on"}
        for name in ("max_epsilon", "within", "within_count", "confidence"):
            said = self._held[f"hedgerow.{name}"]
            made[name] = float(said) if said else None
        made["request"] = self._held["hedgerow.request"] or None
        return made

    def show(self, name: str) -> str:
        """What a setting is; empty if it is none that is known."""
        return self._held[self._names[name.lower()]] if name.lower() in self._names else ""

    def set(self, name: str, value: str, *, local: bool = False) -> None:
        """Set one; those of Hedgerow's are checked, those of PostgreSQL's are kept and do nothing.

        Args:
            name: the setting.
            value: its new value.
            local: whether it is put back when the transaction ends.
        """
        if len(name) > 64 or len(value) > 1000 or len(self._names) > _MOST:
            raise BadValue("a setting has a name of up to 64 and a value of up to 1,000 characters")
        name = self._names.setdefault(name.lower(), name)
        if name in _NOT_SET:
            raise BadValue(f"the setting {name} cannot be changed")
        if name.lower().startswith("hedgerow."):
            value = _checked(name.lower(), value)
        elif name.lower() == "client_encoding" and re.sub(r"[^a-z0-9]", "", value.lower()) not in (
            "utf8",
            "unicode",
        ):
            raise BadValue("texts are UTF-8 here")
        if local:
            self._before.setdefault(name, self._held.get(name, ""))
        self._held[name] = value

    def end(self) -> None:
        """Put back what was set for one transaction."""
        self._held |= self._before
        self._before = {}

    def reset(self, name: str) -> None:
        """Put one back, or all of them."""
        first = _REPORTED | _FIXED | _OWN
        for held in [self._names.get(name.lower(), name)] if name.lower() != "all" else list(self._held):
            if held != "session_authorization":
                self._held[held] = first.get(held, "")


def _checked(name: str, value: str) -> str:
    if name not in _OWN:
        raise BadValue(f"there is no setting {name}; there is {', '.join(sorted(_OWN))}")
    if name == "hedgerow.spend":
        found = {"on": "on", "true": "on", "1": "on", "off": "off", "false": "off", "0": "off"}.get(
            value.lower()
        )
        if found is None:
            raise BadValue("hedgerow.spend is on or off")
        return found
    if name != "hedgerow.request" and value:
        try:
            float(value)
        except ValueError:
            raise BadValue(f"{name} is a number, not {value!r}") from None
    return value
