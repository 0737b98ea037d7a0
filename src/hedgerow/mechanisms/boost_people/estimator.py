"""What scikit-learn lends a classifier, where it is installed; the classifier works without it."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:  # the extra `hedgerow[learn]` is not installed
    BaseEstimator = ClassifierMixin = None


class _Plain:
    """Parameters by name, as scikit-learn's own base gives them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        from inspect import signature

        return {
            name: getattr(self, name) for name in signature(type(self).__init__).parameters if name != "self"
        }

    def set_params(self, **params: Any) -> Any:
        """Change some of the constructor's arguments."""
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def score(self, X: Any, y: Any) -> float:
        """The part of rows that `predict` gets right."""
        import numpy as np

        return float(np.mean(self.predict(X) == np.asarray(y)))  # type: ignore[attr-defined]


BASES: tuple[type, ...] = (ClassifierMixin, BaseEstimator) if BaseEstimator is not None else (_Plain,)


def not_fitted(name: str) -> Exception:
    """The error of a classifier that is asked before it has learned."""
    words = f"This {name} instance is not fitted yet; call 'fit' first."
    return NotFittedError(words) if BaseEstimator is not None else ValueError(words)


def conversion_warning() -> type[Warning]:
    """The warning for a y of the wrong shape."""
    return DataConversionWarning if BaseEstimator is not None else UserWarning
