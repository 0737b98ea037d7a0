"""Weak learners that see nothing but released, noisy counts, and the public models that they make.

No rounds of boosting and no charge: those are the mechanism's.
"""
