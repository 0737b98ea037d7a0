"""What a session is asked: as all doors read it, see `queries.pieces` and `queries.reply`."""

from hedgerow.queries.pieces import ManyQueries, OneQuery, Statement, read, read_all
from hedgerow.queries.reply import Asked, Reply

__all__ = ["Asked", "ManyQueries", "OneQuery", "Reply", "Statement", "read", "read_all"]
