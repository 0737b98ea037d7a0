"""SparseProject: a noisy random projection of names without end, for sparse questions.

Finite domains do not come here: they have tables.
"""
