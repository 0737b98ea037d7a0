"""OfflineMW: multiplicative weights for a workload that is known beforehand, by theorem and tuned.

No question by question: that is `online`.
"""
