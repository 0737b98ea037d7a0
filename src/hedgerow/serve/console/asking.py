"""The page of questions: SQL or choices, the price before, the answer drawn, offers after a refusal."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from hedgerow.errors import BadValue, BudgetExceeded, HedgerowError, NotLearned
from hedgerow.serve.call import Form, told_to
from hedgerow.serve.console import charts, rendering
from hedgerow.service import frames, offers, picturing, wire
from hedgerow.service.asking import Ask
from hedgerow.service.clicked import MEASURES, OPERATORS, Clicked

if TYPE_CHECKING:
    from hedgerow.serve.call import Call

_FILES = {"csv": frames.CSV, "parquet": frames.PARQUET, "svg": picturing.SVG, "png": picturing.PNG}
_MOST_ROWS = 400  # of a page
_LATEST = 8
_UP = 1.000001  # a price that was rounded to be shown is still paid


@dataclass(frozen=True)
class Board:
    """What somebody has typed and chosen: the statement, the accuracy, and the choices that say the same."""

    sql: str
    within: float | None
    clicked: Clicked | None

    @classmethod
    def of(cls, form: Form, table: str, names: list[str]) -> Board:
        """From the fields of either form; what is chosen becomes the statement, and the other way round."""
        within = form.real("within")
        if form.text("build"):
            rows = zip(form.texts("fc"), form.texts("fo"), form.texts("fv"), strict=False)
            clicked = Clicked.chosen(form.text("m"), form.text("of"), form.texts("by"), list(rows))
            return cls(clicked.sql(table), within, clicked)
        sql = form.text("sql")
        return cls(sql, within, Clicked.read(sql, names) if sql else Clicked())

    @property
    def ask(self) -> Ask:
        """The question, which spends nothing."""
        return Ask(self.sql, within_count=self.within)


async def ask_page(call: Call) -> Response:
    """Ask: SQL or choices, and the answer with its error bars."""
    _ = call.who
    hosted = call.hosted
    if hosted.state == "setup" and call.who.owns:
        return RedirectResponse(f"/d/{hosted.name}/setup", 303)
    if hosted.state in ("setup", "unlearned"):
        return rendering.page(call, "waiting", words=hosted.words if call.who.owns else None)
    board, schema = await _board(call)
    found: dict[str, Any] = {"answer": None, "refusal": None, "price": None, "offers": []}
    if board.sql:
        found |= await _asked(call, board)
    latest = call.host.log.latest(hosted.name, call.who.name, 4 * _LATEST)
    recent = list(dict.fromkeys(item["sql"] for item in latest if item["sql"] != board.sql))[:_LATEST]
    saved = call.host.saved.of(hosted.name, call.who.name)
    status = 200 if found["refusal"] is None else found["refusal"]["status"]
    return rendering.page(
        call, "ask", status, board=board, schema=schema, recent=recent, saved=saved, measures=MEASURES,
        operators=list(OPERATORS), **found,
    )  # fmt: skip


async def spend(call: Call) -> Response:
    """Ask a question that costs, at no more than the price that was shown."""
    _ = call.who, call.hosted
    form = await call.form()
    sql, within = form.text("sql"), form.real("within")
    most = form.real("most")
    if most is None:
        raise BadValue("a question that costs is sent with the most that it may cost")
    question = Ask(sql, within_count=within, spend=True, max_epsilon=most * _UP)
    question = replace(question, request=form.text("request") or secrets.token_hex(8))
    await call.turn.ask(question)
    there = rendering.query(sql=sql, within=form.text("within") or None)
    return RedirectResponse(f"/d/{call.hosted.name}?{there}", 303)


async def save(call: Call) -> Response:
    """Keep a question by a name, or keep it no more; for whoever does it alone."""
    who, hosted = call.who, call.hosted
    form, kept = await call.form(), call.host.saved
    if form.text("drop"):
        kept.drop(hosted.name, who.name, form.text("drop"))
        return RedirectResponse(f"/d/{hosted.name}", 303)
    sql, within = form.text("sql"), form.real("within")
    kept.keep(hosted.name, who.name, form.text("name"), Ask(sql, within_count=within))
    there = rendering.query(sql=sql, within=form.text("within") or None)
    return RedirectResponse(f"/d/{hosted.name}?{there}", 303)


async def price(call: Call) -> Response:
    """What asking would cost, and how far off it would be, while somebody types; a part of a page."""
    call.host.refuse_haste(call.who)
    board, schema = await _board(call)
    told: dict[str, Any] = {"explained": None, "refusal": None, "offers": []}
    if board.sql:
        try:
            told["explained"] = await call.turn.explain(board.ask)
        except HedgerowError as error:
            told |= await _refusal(call, board, error)
    return rendering.fragment(
        "_price", board=board, schema=schema, dataset=call.hosted.name, who=call.who, measures=MEASURES,
        operators=list(OPERATORS), **told,
    )  # fmt: skip


async def compose(call: Call) -> Response:
    """What was chosen as SQL; a part of a page."""
    call.host.refuse_haste(call.who)
    board, _ = await _board(call)
    return PlainTextResponse(board.sql)


async def download(call: Call) -> Response:
    """A free answer as a file: CSV, Parquet, SVG or PNG."""
    _ = call.who
    kind = call.request.query_params.get("as", "csv")
    if kind not in _FILES:
        raise BadValue(f"an answer is taken away as {', '.join(_FILES)}")
    board, _ = await _board(call)
    answer = await call.turn.ask(board.ask)
    media = _FILES[kind]
    if kind in ("svg", "png"):
        made = await call.read(lambda: picturing.drawn(answer, media))
    else:
        made = await call.read(lambda: _frame(answer, media))
    name = f'attachment; filename="{call.hosted.name}.{kind}"'
    return Response(made, media_type=media, headers={"Content-Disposition": name})


def _frame(answer: dict[str, Any], media: str) -> bytes:
    """Rows as a file; people open CSV with programs that compute what begins as a formula, so none does."""
    table = frames.table(answer)
    return frames.encoded(frames.without_formulas(table) if media == frames.CSV else table, media)


async def history(call: Call) -> Response:
    """What was asked: one's own questions, or everybody's for the owner."""
    who, hosted = call.who, call.hosted
    items = await call.read(lambda: call.host.log.latest(hosted.name, None if who.owns else who.name, 200))
    return rendering.page(call, "history", items=items)


async def _board(call: Call) -> tuple[Board, dict[str, Any]]:
    """What was typed and chosen, and the schema; long statements take long to read, and hold nobody up."""
    hosted = call.hosted
    held: dict[str, list[str]] = {}
    for name, value in call.request.query_params.multi_items():
        held.setdefault(name, []).append(value)

    def read() -> tuple[Board, dict[str, Any]]:
        schema = wire.schema(hosted.domain, hosted.opened.ledger.settings)
        return Board.of(Form(held), hosted.name, [a["name"] for a in schema["attributes"]]), schema

    found: tuple[Board, dict[str, Any]] = await call.read(read)
    return found


async def _asked(call: Call, board: Board) -> dict[str, Any]:
    """The answer, or what it would cost, or why there is none."""
    try:
        answer = await call.turn.ask(board.ask)
    except BudgetExceeded as error:
        return await _priced(call, board, error)
    except HedgerowError as error:
        return await _refusal(call, board, error)
    return {"answer": await call.read(lambda: picture(answer))}


async def _priced(call: Call, board: Board, error: BudgetExceeded) -> dict[str, Any]:
    """A question that costs: its price, and what else there is where that is too much."""
    needed = getattr(error.needed, "epsilon", None)
    if needed is None:
        return await _refusal(call, board, error)
    found = await call.turn.explain(board.ask)
    left = getattr(error.remaining, "epsilon", 0.0)
    told = {"needed": needed, "left": left, "request": secrets.token_hex(8), "explained": found}
    told["affordable"] = found["affordable"]
    return {"price": told, "offers": await _offers(call, board, error)}


async def _refusal(call: Call, board: Board, error: HedgerowError) -> dict[str, Any]:
    if isinstance(error, NotLearned):
        raise error
    told, status = told_to(error, call.who)
    span = offers.word_at(board.sql, error.position)
    parts = None
    if span is not None:
        parts = (board.sql[: span[0]], board.sql[slice(*span)], board.sql[span[1] :])
    shown = told["error"] | {"status": status, "parts": parts}
    return {"refusal": shown, "offers": await _offers(call, board, error)}


async def _offers(call: Call, board: Board, error: HedgerowError) -> list[dict[str, Any]]:
    hosted = call.hosted
    unit = hosted.opened.ledger.settings.unit
    found = await call.read(lambda: offers.nearest(board.ask, error, hosted.domain, unit))
    return [{"words": o.words, "sql": o.ask.sql, "within": o.ask.within_count} for o in found]


def picture(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with what a page draws of it."""
    kind = picturing.kind_of(answer)
    labels, numbers = charts.groups_of(answer)
    shown: dict[str, Any] = {"kind": kind, "labels": labels, "numbers": numbers}
    cut = answer | {"rows": answer["rows"][:_MOST_ROWS]}
    if kind in ("bars", "line", "number"):
        shown["marks"] = {name: charts.marks(cut, name) for name in numbers}
        shown["widths"] = charts.widths(answer)
    if kind == "line":
        shown["lines"] = {name: [charts.line(answer, name, w) for w in (1000, 340)] for name in numbers}
        shown["beside"] = {name: charts.beside(cut, marks) for name, marks in shown["marks"].items()}
    if kind == "heat":
        shown["heat"] = charts.heat(answer)
    more = len(answer["rows"]) - len(cut["rows"])
    return answer | shown | {"shown": cut["rows"], "more": more}
