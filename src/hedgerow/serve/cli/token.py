"""`hedgerow token`: who may reach a server; works without one, to replace an owner's lost token too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.serve.cli.options import Json
from hedgerow.serve.cli.serve import StateFolder
from hedgerow.serve.cli.terminal import emit, printing, screen

app = typer.Typer(
    help="Make, list and revoke the tokens of a server.", no_args_is_help=True, rich_markup_mode=None
)


def _state(folder: Path | None, *, must_exist: bool = False) -> Any:
    from hedgerow.errors import missing
    from hedgerow.service.state import FILE, ServerState

    place = folder or Path(".hedgerow")
    if must_exist and not (place / FILE).exists():
        raise missing(place / FILE)
    return ServerState(place)


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom it is for.", show_default=False)],
    role: Annotated[str, typer.Option(help="owner, analyst or reader.")],
    dataset: Annotated[
        list[str] | None, typer.Option(help="A dataset that it reaches; all if not given.")
    ] = None,
    may_spend: Annotated[bool, typer.Option("--may-spend", help="Its questions may cost something.")] = False,
    days: Annotated[int | None, typer.Option(min=1, help="How long it lives; 90 days if not given.")] = None,
    state: StateFolder = None,
    json: Json = False,
) -> None:
    """Make a token for NAME; it is shown once."""
    from hedgerow.service.host import make_token
    from hedgerow.service.tokens import ALL

    held = _state(state)
    token, text = make_token(held, name, role, tuple(dataset) if dataset else ALL, may_spend, days)
    held.close()
    with printing(f"the token {token.id} was made: revoke it, and make another"):
        if json:
            emit(token.to_json() | {"token": text})
        else:
            screen().print(text, soft_wrap=True)


@app.command("list")
def list_(state: StateFolder = None, json: Json = False) -> None:
    """List all tokens, without their secrets."""
    held = _state(state, must_exist=True)
    found = [token.to_json() for token in held.tokens()]
    held.close()
    if json:
        emit({"tokens": found})
        return
    for token in found:
        reach = ", ".join(token["datasets"]).replace("*", "all datasets")
        ended = f"revoked {token['revoked']}" if token["revoked"] else f"until {token['expires']}"
        spends = ", may spend" if token["may_spend"] else ""
        screen().print(
            f"{token['id']}  {token['name']}  {token['role']}{spends}  {reach}  {ended}", soft_wrap=True
        )


@app.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The token's id.", show_default=False)],
    state: StateFolder = None,
    json: Json = False,
) -> None:
    """End a token now."""
    held = _state(state, must_exist=True)
    token = held.revoke(id)
    held.close()
    if json:
        emit(token.to_json())
    else:
        screen().print(f"The token {token.id} of {token.name} is revoked.")
