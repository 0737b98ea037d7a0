"""BoostedClassifier: boosting for people, and what it takes from scikit-learn.

No learner here: weak learners are public and live in `learning`.
"""
