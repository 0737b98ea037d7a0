"""PUBLIC. What may be asked and what was released; knows nothing private."""
