"""What a session counts by: one form for each count, as all doors write it."""

from hedgerow.queries.one_form import is_nothing, one_form

__all__ = ["is_nothing", "one_form"]
