"""From a dataset to a release and what people read of it: plans, files, the report.

No private act of its own: a mechanism makes the release, and its curator pays.
"""
