"""Address: where a server is, which of its datasets is meant, and the token that opens it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hedgerow.client.environment import secret
from hedgerow.errors import BadValue

_NAME = r"[A-Za-z0-9_]+"


@dataclass(frozen=True)
class Address:
    """A server, and perhaps one of its datasets.

    Args:
        server: http://HOST:PORT or https://HOST:PORT.
        dataset: the dataset's name; None until somebody says it.
        token: what opens it; never shown.

    >>> Address.of("http://127.0.0.1:8765/people", "hr_1_x")
    Address(server='http://127.0.0.1:8765', dataset='people')
    """

    server: str
    dataset: str | None
    token: str | None = field(repr=False)

    @classmethod
    def of(cls, url: str | None, token: str | None = None, dataset: str | None = None) -> Address:
        """From what was said, and from the environment (HEDGEROW_URL, HEDGEROW_TOKEN) where nothing was.

        Args:
            url: the server's, perhaps with /DATASET at its end.
            token: the token.
            dataset: the dataset's name, where the address does not say it.
        """
        for name, given in (("url", url), ("token", token), ("dataset", dataset)):
            if not isinstance(given, str | None):
                raise BadValue(f"`{name}` is a text, not a {type(given).__name__}")
        url = url or secret("HEDGEROW_URL")
        if not url:
            raise BadValue("no server was named", hint="say url='http://HOST:PORT', or set HEDGEROW_URL")
        url = re.sub(r"^(https?):/+", r"\1://", url)  # a path keeps one slash only
        try:
            parts = urlsplit(url)
        except ValueError:
            raise BadValue("a server is http://HOST:PORT, perhaps with /DATASET") from None
        path = parts.path.strip("/")
        if parts.scheme not in ("http", "https") or not parts.hostname or not _is_port(parts.netloc):
            raise BadValue(f"a server is http://HOST:PORT, perhaps with /DATASET, not {_plain(url)!r}")
        if parts.username is not None:
            raise BadValue("a token stands in no address", hint="say token='hr_...', or set HEDGEROW_TOKEN")
        for name in (path, dataset or ""):
            if name and not re.fullmatch(_NAME, name):
                raise BadValue(f"{name!r} is no dataset's name: those have letters, digits and _ only")
        if dataset and path and dataset != path:
            raise BadValue(f"the address says {path!r} and `dataset` says {dataset!r}: which is meant?")
        token = (token or secret("HEDGEROW_TOKEN") or "").strip()
        if not token.isascii() or not token.isprintable():
            raise BadValue("a token looks like hr_..., in plain letters and digits")
        return cls(f"{parts.scheme}://{parts.netloc}", dataset or path or None, token or None)


def _is_port(place: str) -> bool:
    try:
        urlsplit(f"//{place}").port  # noqa: B018 - raises where it is none
    except ValueError:
        return False
    return True


def _plain(url: str) -> str:
    """An address without what may be a secret in it."""
    return re.sub(r"//[^/@]*@", "//", url)
