"""PUBLIC. What may be asked, and what was released.

Nothing private is known here: no rows, no budget, no noise drawn.
"""
