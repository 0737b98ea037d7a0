"""The closed set of things that are computed from rows, each with the facts its sensitivity follows from.

No noise and no charge: a statistic is exact, and stays in this room until the curator has added noise.
"""
