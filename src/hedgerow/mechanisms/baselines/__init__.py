"""What every mechanism must beat: independent noise, the noisy histogram, randomised response.

Nothing here learns: what is measured is what is released.
"""
