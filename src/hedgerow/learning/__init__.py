"""PUBLIC. Hypotheses about the data, learned from what was released.

Post-processing: no rows and no epsilon here.
"""
