"""Projection: Gaussian noise on every answer, then the distribution whose answers are nearest.

The optimiser sees released numbers only and lives in `learning`.
"""
