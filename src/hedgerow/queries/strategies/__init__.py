"""What is measured in place of the questions themselves: linear maps, groups of levels, sketches.

They are public matrices; what they say about rows is a statistic of the curator.
"""
