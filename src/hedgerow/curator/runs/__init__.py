"""Private comparisons with a threshold, question after question: sparse vectors, their plans and proofs.

No hypothesis and no mechanism: what is compared is given, and only "above" or "below" leaves.
"""
