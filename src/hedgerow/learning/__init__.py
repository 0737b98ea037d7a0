"""PUBLIC. Hypotheses about the data, learned from what was released: post-processing, no epsilon here."""
