"""Interactive mechanisms from an update rule and a sparse vector: the driver, OnlineMW and SparseMW.

What they learn is a hypothesis of `learning`; what they compare is a run of the curator.
"""
