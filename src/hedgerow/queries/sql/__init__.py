"""SQL to a Question: tokens, columns, predicates, aggregates, the statement.

Public through and through: a refusal here depends on the text and the schema alone.
"""
