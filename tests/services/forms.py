"""What a browser would send of a page's form, without a browser: fields by name, as they were left."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any


class _Fields(HTMLParser):
    """Collects the fields of every form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[list[tuple[str, str]]] = []
        self._select = self._area = ""
        self._option: str | None = None
        self._chosen = False
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        held = {name: "" if value is None else value for name, value in attrs}
        if tag == "form":
            self.forms.append([])
        elif tag == "input" and held.get("name"):
            ticked = held.get("type") not in ("checkbox", "radio") or "checked" in held
            if ticked:
                self.forms[-1].append((held["name"], held.get("value", "")))
        elif tag == "select":
            self._select, self._option = held.get("name", ""), None
        elif tag == "option" and self._select:
            self._chosen = "selected" in held or self._option is None
            self._option = held.get("value") if self._chosen else self._option
        elif tag == "textarea":
            self._area, self._text = held.get("name", ""), []

    def handle_data(self, data: str) -> None:
        if self._area:
            self._text.append(data)
        elif self._select and self._chosen and self._option is None:  # an option that is its own value
            self._option = data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._select:
            self.forms[-1].append((self._select, self._option or ""))
            self._select = ""
        elif tag == "textarea" and self._area:
            self.forms[-1].append((self._area, "".join(self._text)))
            self._area = ""


def fields(page: str, having: str) -> dict[str, list[str]]:
    """The fields of the form on a page that has a field of this name and value, `name=value`."""
    reader = _Fields()
    reader.feed(page)
    name, _, value = having.partition("=")
    (form,) = [form for form in reader.forms if (name, value) in form]
    found: dict[str, list[str]] = {}
    for key, held in form:
        found.setdefault(key, []).append(held)
    return found
