"""BoostQueries: synopses right on most questions, boosted until their median is right on all.

Sampling of questions touches rows and so is the curator's; here are the rounds and their parameters.
"""
