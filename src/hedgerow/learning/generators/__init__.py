"""Base synopsis generators for boosting queries: from noisy answers to sampled questions to all the others.

They see what is released or public. No rounds, no sampling and no charge: those are the mechanism's.
"""
