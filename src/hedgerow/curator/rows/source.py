"""Which data file a run began with: a mark in the ledger, so that no run goes on with a file that changed.

A run that goes on with other rows is as private as any, but what it says belongs to neither. The mark is the
time of the file's last change, and what was said of how a CSV file is read (ledgers of before have the time
alone, which goes with every way). It is nothing about its content, not even its size: whether a run goes on
is seen by everybody, and must not be a fact about rows. Of several files it is the newest one's time; frames
have none.
When the owner says that a file that was written again has the same rows, the ledger keeps both marks, and
nobody is asked again about that state of the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hedgerow.errors import DataChanged

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.ledger.ledger import Entry, Ledger
    from hedgerow.privacy.ledger.transaction import Transaction

_SAME_ROWS = "hedgerow: same rows"


def recall_run(
    curator: Curator, request: str, question: str, writer: Ledger | Transaction | None = None
) -> Entry | None:
    """The first line of a run, or None if there is none; LedgerError if it began with another file."""
    known = (writer or curator.ledger).recall(request, question, analyst=curator.account)
    return None if known is None else _checked(curator, known, writer)


def begin_run(
    curator: Curator,
    answer: bytes,
    *,
    request: str,
    question: str,
    note: str = "",
    run: str | None = None,
    writer: Ledger | Transaction | None = None,
) -> Entry:
    """Write the first line of a run with the mark of this file, or find it there as `recall_run` does.

    Args:
        curator: whose rows the run reads.
        answer: what is kept in the line.
        request, question, note, run: as in `Ledger.record`.
        writer: the transaction that it is a part of; the curator's ledger if None.
    """
    known = recall_run(curator, request, question, writer)
    if known is not None:
        return known
    kept = (writer or curator.ledger).record(
        answer,
        curator.table.written,
        account=curator.account,
        analyst=curator.account,
        request=request,
        question=question,
        note=note,
        run=run,
    )
    return _checked(curator, kept, writer)  # of two that begin a run at once the first one's file is its file


def _checked(curator: Curator, entry: Entry, writer: Ledger | Transaction | None) -> Entry:
    """The line without the mark, if it belongs to this file."""
    table = curator.table
    began, now = entry.state, table.written
    time = (now or b"").partition(b"/")[0]
    known = not began or not now or not _alike(curator.ledger, began).isdisjoint((now, time))
    if not known and curator.scope is not None:  # blocks are never changed: these are others
        appended = DataChanged(
            "blocks were appended since this run began, and it is about those before: name its last one with "
            "--to, or begin anew, with --anew or under another name"
        )
        appended.began = began
        raise appended
    if not known and not table.same_rows:
        if began and began.partition(b"/")[0] == time:
            raise DataChanged(
                "the data file is read otherwise than when this run began, in another encoding or with other "
                "line ends: read it as then, or begin anew, with --anew or under another name"
            )
        raise DataChanged(
            "the data file has changed since this run began; if it has the same rows, say so with "
            "--same-rows or Table.open(same_rows=True), else begin anew, with --anew or under another name"
        )
    if began and now and not known:
        words = "The owner said that the data file, written again, has the same rows"
        (writer or curator.ledger).record(state=began + b" " + now, note=words, run=_SAME_ROWS)
    return replace(entry, state=None)


def _alike(ledger: Ledger, mark: bytes) -> set[bytes]:
    """The states of the data file that its owner said have the same rows as one of them."""
    pairs = [set((entry.state or b"").split()) for entry in ledger.replay(_SAME_ROWS)]
    alike, before = {mark}, 0
    while len(alike) > before:  # what is alike to something alike is alike
        before = len(alike)
        alike = alike.union(*(pair for pair in pairs if pair & alike))
    return alike
