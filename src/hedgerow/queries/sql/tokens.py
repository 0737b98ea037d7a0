"""The first gate of SQL: refuse words that no accepted statement has, bound the nesting, then parse.

The parser is recursive and, on some words (JOIN, types used as functions), exponential in the nesting, so
what it is given is bounded here. What a statement *means* is decided by the compiler alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from hedgerow.errors import BadSQL, UnsupportedSQL

LENGTH = 20_000
NESTING = 32
"""Measured: the compiled parser needs less than 512 KiB of stack for three times this nesting."""


class _Typed(DuckDB):
    """DuckDB's words, and names in backticks, as MySQL and BigQuery have them."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS: ClassVar = ['"', "`"]


_DUCKDB, _TYPED = Dialect.get_or_raise("duckdb"), _Typed()
_T = TokenType
_WORDS = frozenset(
    {_T.SELECT, _T.FROM, _T.WHERE, _T.GROUP_BY, _T.ORDER_BY, _T.LIMIT, _T.ALIAS, _T.ASC, _T.DESC, _T.FIRST}
    | {_T.AND, _T.OR, _T.NOT, _T.IN, _T.BETWEEN, _T.LIKE, _T.IS, _T.NULL, _T.ISNULL, _T.NOTNULL}
    | {_T.CASE, _T.WHEN, _T.THEN, _T.ELSE, _T.END, _T.DISTINCT, _T.TRUE, _T.FALSE, _T.DATE, _T.DCOLON}
    | {_T.L_PAREN, _T.R_PAREN, _T.COMMA, _T.DOT, _T.STAR, _T.SLASH, _T.DASH, _T.PLUS, _T.SEMICOLON}
    | {_T.EQ, _T.NEQ, _T.LT, _T.LTE, _T.GT, _T.GTE, _T.STRING, _T.NUMBER, _T.IDENTIFIER, _T.VAR}
)
TYPES = frozenset(_DUCKDB.parser_class.TYPE_TOKENS)
_BEFORE_NAMES = frozenset({_T.ALIAS, _T.FROM, _T.DOT})
_PREFIXES = frozenset({_T.NOT, _T.DASH, _T.PLUS})
_STEP = {
    **dict.fromkeys((_T.L_PAREN, _T.CASE, _T.L_BRACKET, _T.L_BRACE), 1),
    **dict.fromkeys((_T.R_PAREN, _T.END, _T.R_BRACKET, _T.R_BRACE), -1),
}
_NAMED = {
    "a join": "JOIN LEFT RIGHT FULL INNER OUTER CROSS NATURAL ASOF SEMI ANTI POSITIONAL LATERAL USING ON",
    "a common table expression": "WITH RECURSIVE",
    "a set operation": "UNION INTERSECT EXCEPT",
    "a window function": "OVER WINDOW PARTITION QUALIFY",
    "grouping sets": "GROUPING ROLLUP CUBE",
    "a subquery": "EXISTS ANY SOME",
    "sampling": "TABLESAMPLE",
    "a list or struct": "[ ] { }",
    "a placeholder": "? $ : @",
}
_PART = {word: part for part, words in _NAMED.items() for word in words.split()}
_HINTS = {
    "HAVING": "; filter the released rows instead",
    "OFFSET": "; use LIMIT alone",
    "ILIKE": "; use LIKE, levels are declared in one spelling",
    "FILTER": "; use CASE WHEN inside the aggregate",
    "%": "; use / for ratios",
    "//": "; use / for ratios",
}


def parse(text: str, names: Collection[str]) -> exp.Expr:
    """One statement's syntax tree; `names` are columns, which may be spelled like keywords."""
    tokens = tokens_of(text)
    _check_words(tokens, {name.casefold() for name in names})
    check_nesting(tokens, NESTING)
    return tree_of(tokens, text)


_CLAUSES = (
    *("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "AND", "OR", "NOT"),
    *("BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "END"),
)
_LIKE = (
    "a question looks like SELECT COUNT(*) FROM t WHERE column = 'level'; a column whose name is a word of "
    "SQL stands in double quotes"
)
_LOOKED = 3  # words, the one that was not understood and those before it: one of them may be misspelled
_OWN = {"DECODE": "DECODE_VALUES", "DATEDIFF": "DATE_GAP", "DATE_DIFF": "DATE_GAP"}
_STATEMENTS = frozenset(
    {_T.ALTER, _T.CREATE, _T.DROP, _T.GRANT, _T.INSERT, _T.INSTALL, _T.REVOKE, _T.ROLLBACK}
    | {_T.RETURNING, _T.SUMMARIZE, _T.UNCACHE, _T.FORCE}
)
"""Words of statements that are never accepted: within a question they name columns (`alter` is an age)."""
_VALUES = frozenset({_T.VAR, _T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.R_PAREN, _T.R_BRACKET, _T.ARRAY})


def tokens_of(text: str) -> list[Token]:
    """The words of one statement, without the semicolons at its end."""
    if not isinstance(text, str) or not text.strip():
        raise BadSQL("the SQL text is empty")
    if len(text) > LENGTH:
        raise UnsupportedSQL(f"the SQL text has {len(text):,} characters, more than {LENGTH:,}")
    try:
        tokens = _TYPED.tokenize(text)
    except Exception:  # the tokenizer's errors are many; all of them mean the same here
        raise BadSQL("the SQL text cannot be read: a quote or comment is not closed") from None
    while tokens and tokens[-1].token_type is _T.SEMICOLON:
        tokens.pop()
    tokens = list(_unbracketed(_limited(tokens)))
    ends = [None, *tokens], [*tokens[1:], None]
    return [_own(*three) for three in zip(ends[0], tokens, ends[1], strict=False)]


def _own(before: Token | None, token: Token, after: Token | None) -> Token:
    """The word, or another for a function whose arguments others write otherwise than the parser expects."""
    called = after is not None and after.token_type is _T.L_PAREN
    if before is not None and token.token_type in _STATEMENTS:
        return _as(token, _T.VAR, token.text)
    if called and token.token_type is _T.DIV and (before is None or before.token_type not in _VALUES):
        return _as(token, _T.VAR, "DIV_WHOLE")  # DIV(a, b), which is a DIV b elsewhere
    word = _OWN.get(token.text.upper()) if called and token.token_type is _T.VAR else None
    return token if word is None else _as(token, _T.VAR, word)


def _as(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _unbracketed(tokens: list[Token]) -> Iterator[Token]:
    """The same with SQL Server's [name] as a name; a list, an index, or [two words] stays what it is."""
    skip = 0
    for i, token in enumerate(tokens):
        if skip:
            skip -= 1
            continue
        opens = token.token_type is _T.L_BRACKET and not (i and tokens[i - 1].token_type in _VALUES)
        closed = opens and len(tokens) > i + 2 and tokens[i + 2].token_type is _T.R_BRACKET
        if closed and tokens[i + 1].text.isidentifier() and tokens[i + 1].token_type is not _T.STRING:
            yield _as(tokens[i + 1], _T.IDENTIFIER, tokens[i + 1].text)
            skip = 2
        else:
            yield token


def _limited(tokens: list[Token]) -> list[Token]:
    """The same with SQL Server's SELECT TOP 5 ... as SELECT ... LIMIT 5, of the statement itself."""
    depth, starts = 0, []
    for i, token in enumerate(tokens):
        depth += {_T.L_PAREN: 1, _T.R_PAREN: -1}.get(token.token_type, 0)
        if token.token_type is _T.SELECT and not depth:
            starts.append(i)
    if len(starts) != 1 or any(token.token_type is _T.LIMIT for token in tokens[starts[0] :]):
        return tokens
    at = starts[0] + 1
    words = [token.text.upper() for token in tokens[at : at + 5]]
    many = 4 if words[1:2] == ["("] and words[3:4] == [")"] else 2
    number = tokens[at + many // 2 : at + many // 2 + 1]
    named = len(words) > many and words[many] not in (",", "FROM", "AS", "PERCENT", "WITH")
    if words[:1] != ["TOP"] or not named or number[0].token_type is not _T.NUMBER:
        return tokens
    return [*tokens[:at], *tokens[at + many :], _as(tokens[-1], _T.LIMIT, "LIMIT"), number[0]]


def _check_words(tokens: list[Token], names: set[str]) -> None:
    """Only words that an accepted statement can have; a refusal names the first other one."""
    if not tokens or tokens[0].token_type is not _T.SELECT:
        start = (
            _PART.get(tokens[0].text.upper(), f"a statement that starts with {_short(tokens[0])}")
            if tokens
            else "a comment, or nothing,"
        )
        raise UnsupportedSQL(f"{start} is not supported; ask with SELECT ... FROM ...")
    kinds = [token.token_type for token in tokens]
    for i, kind in enumerate(kinds):
        after = kinds[i + 1] if i + 1 < len(kinds) else None
        if kind is _T.SEMICOLON:
            raise UnsupportedSQL("two statements in one text are not supported; ask them one by one")
        if kind is _T.SELECT and i:
            raise UnsupportedSQL("a subquery (a second SELECT) is not supported; ask it on its own")
        if (
            kind not in _WORDS
            and kinds[i - 1] not in _BEFORE_NAMES
            and tokens[i].text.casefold() not in names
        ):
            _refuse_word(tokens[i], after)
        if after is _T.L_PAREN and kind in TYPES:
            raise UnsupportedSQL(f"the function {_short(tokens[i])} is not supported")


def _refuse_word(token: Token, after: Any) -> None:
    word = token.text.upper()
    part = _PART.get(word.split(" ", maxsplit=1)[0])
    if part is not None:
        raise UnsupportedSQL(f"{part} ({_short(token)}) is not supported")
    call = "the function " if after is _T.L_PAREN and word not in _HINTS else ""
    raise UnsupportedSQL(f"{call}{_short(token)} is not supported{_HINTS.get(word, '')}")


def check_nesting(tokens: list[Token], most: int) -> None:
    """Parentheses, brackets, CASE and runs of prefixes (NOT, -) are what the parser recurses on.

    Indexes one after another, x[1][1], are as deep in its tree as they are many.
    """
    kinds = [token.token_type for token in tokens]
    if kinds.count(_T.WHEN) != kinds.count(_T.THEN) or kinds.count(_T.BETWEEN) > kinds.count(_T.AND):
        raise BadSQL("the SQL text cannot be read: a THEN after WHEN or an AND after BETWEEN is missing")
    depth = run = 0
    picked = sum(two == (_T.R_BRACKET, _T.L_BRACKET) for two in pairwise(kinds))
    for kind in kinds:
        run = run + 1 if kind in _PREFIXES else 0
        depth += _STEP.get(kind, 0)
        if max(depth, 0) + run + picked > most:
            raise UnsupportedSQL(f"the nesting is deeper than {most} levels, which is not supported")


def tree_of(tokens: list[Token], text: str) -> exp.Expr:
    """The syntax tree of words."""
    try:
        trees = _DUCKDB.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    except ParseError as error:
        refusal = BadSQL(f"the SQL text cannot be read{_place(error)}: {_advice(tokens, error)}")
        refusal.position = _position(error)
        raise refusal from None
    except Exception:  # a parser of so many dialects fails in many ways; a refusal is right for all of them
        raise BadSQL("the SQL text cannot be read") from None
    if len(trees) != 1 or trees[0] is None:
        raise BadSQL("the SQL text must hold one statement")
    if not all(any(group.args.values()) for group in trees[0].find_all(exp.Group)):
        raise BadSQL("GROUP BY needs columns after it")
    return trees[0]


def _place(error: ParseError) -> str:
    position = _position(error)
    if position is None:
        return ""
    near = str(error.errors[0].get("highlight") or "")[:40]
    return f" near line {position[0]}, column {position[1]}" + (f" ({near!r})" if near else "")


def _position(error: ParseError) -> tuple[int, int] | None:
    """The line and column of the first word that was not understood."""
    first: dict[str, Any] = error.errors[0] if error.errors else {}
    if first.get("line") is None:
        return None
    return int(first["line"]), max(1, int(first["col"]) - max(len(str(first.get("highlight") or "")) - 1, 0))


def _advice(tokens: list[Token], error: ParseError) -> str:
    """What to do about words that no parser understands."""
    kinds = [token.token_type for token in tokens]
    opened = kinds.count(_T.L_PAREN) - kinds.count(_T.R_PAREN)
    if opened:
        return "a ( is not closed" if opened > 0 else "there is a ) too many"
    line, column = _position(error) or (0, 0)
    before = [t for t in tokens if (t.line, t.col) <= (line, column + len(t.text) - 1)]
    for token in reversed(before[-_LOOKED:]):
        near = get_close_matches(token.text.upper(), _CLAUSES, n=1, cutoff=0.7)
        if token.token_type is _T.VAR and near and near[0] != token.text.upper():
            return f"did you mean {near[0]} where it says {_short(token)}?"
    return _LIKE


def _short(token: Token) -> str:
    return token.text[:40].upper() if token.text.isascii() else repr(token.text[:40])
