"""Projection: the distribution whose answers are nearest to noisy ones.

All of it is post-processing: no rows, no epsilon.
"""
