"""BoostedClassifier: boosting for people - a classifier that protects everyone it learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.training import training_table
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.learning.learners.additive import Additive, sigmoid
from hedgerow.learning.learners.base_learner import BaseLearner
from hedgerow.learning.learners.histogram_learner import HistogramLearner
from hedgerow.learning.learners.logistic_learner import LogisticLearner
from hedgerow.learning.learners.stump_learner import StumpLearner
from hedgerow.mechanisms.boost_people import rounds as boost_rounds
from hedgerow.mechanisms.boost_people.estimator import BASES, not_fitted
from hedgerow.mechanisms.boost_people.inputs import (
    classes_column,
    columns_of,
    domain_for,
    is_frame,
    names_of,
    width_of,
)
from hedgerow.mechanisms.boost_people.receipt import BoostReceipt
from hedgerow.mechanisms.boost_people.rounds import Problem, Terms, Trained
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEARNERS: dict[str, Callable[[], BaseLearner]] = {
    "histogram": HistogramLearner,
    "stump": StumpLearner,
    "logistic": LogisticLearner,
}
_MOST_ROUNDS = 10_000


class BoostedClassifier(*BASES):  # type: ignore[misc]
    """A private classifier by boosting, in scikit-learn's manner.

    Privacy: tuned - the Gaussian mechanism (Laplace if delta is 0) on weighted counts whose weights are
    functions of the row itself and of released values, composed under zCDP [CKS20]; theorem - that of
    `privacy.sampled` ([DRV10] Lemma 6.5, mended) at the statistical distance 1/l of lazily smoothed
    distributions [BCS20]. Accuracy: theorem - at most
    max(l/m, exp(-2 eta^2 T)) of the training rows are wrong if every weak hypothesis has advantage eta;
    tuned - additive logistic regression [FHT00], judged by held-out rows. Charged in `Curator.measure_all`
    and `curator.statistics.smooth.weak_hypothesis`; both arguments are written out in
    docs/privacy/boosting.md.

    Args:
        epsilon, delta: what one fit spends.
        domain: the declared features and the class; or one `Attribute` that stands for every feature.
        base_learner: `histogram`, `stump`, `logistic`, or an object with the protocol of
            `learning.learners.base_learner`; the mode's own (`histogram`, `stump`) if None.
        mode: `tuned`, or `theorem` ([DRV10] Fig. 2 in its sound form, needs `replace`).
        ledger: the dataset's ledger to charge (a path or a `Ledger`); None: the fit has a budget of its own
            that nothing remembers, so every further fit to the same rows costs the same again.
        label: the class attribute; y's own name if the domain has it, else the domain's last attribute.
        classes: the declared classes, where the domain does not declare them.
        neighbours: `add_remove` or `replace`; the mode's own if None.
        gamma: theorem: the part of the training rows that may be wrong.
        eta: theorem: the advantage over 1/2 that weak hypotheses are assumed to have.

    >>> from hedgerow import Domain, bins
    >>> domain = Domain({"age": bins(0, 100, 10), "ill": ["no", "yes"]})
    >>> ages = np.arange(2000)[:, None] % 100
    >>> model = BoostedClassifier(2.0, 1e-6, domain).fit(ages, np.where(ages[:, 0] < 50, "no", "yes"))
    >>> model.predict([[5], [95]]).tolist()
    ['no', 'yes']
    """

    citations: ClassVar[tuple[str, ...]] = ("DRV10", "BCS20", "FHT00", "CKS20")

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        domain: Any = None,
        *,
        base_learner: str | BaseLearner | None = None,
        mode: Literal["tuned", "theorem"] = "tuned",
        ledger: Any = None,
        label: str | None = None,
        classes: Any = None,
        neighbours: Literal["add_remove", "replace"] | None = None,
        gamma: float = 0.2,
        eta: float = 0.1,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.base_learner = base_learner
        self.mode = mode
        self.ledger = ledger
        self.label = label
        self.classes = classes
        self.neighbours = neighbours
        self.gamma = gamma
        self.eta = eta

    def fit(self, X: Any, y: Any) -> BoostedClassifier:
        """Learn from rows; refusals depend on parameters, names and shapes, and come before any charge.

        Args:
            X: a frame with the declared features, or a matrix with them in the domain's order.
            y: the classes.
        """
        learner, budget = self._learner(), self._budget()
        if y is None:
            classes_column(y)
        declared = deepcopy(
            self.domain
        )  # attributes keep what they compute: a parameter stays as it was given
        domain, label = domain_for(declared, self.label, self.classes, X, y)
        problem = Problem(domain, label)
        columns = columns_of(X, list(problem.features)) | {label: classes_column(y)}
        _same_length(columns)
        neighbours = self.neighbours or ("replace" if self.mode == "theorem" else "add_remove")
        own = self.ledger is None
        new = own or (isinstance(self.ledger, (str, Path)) and not Path(self.ledger).exists())
        table = training_table(columns, domain)
        curator = Curator(table, budget if new else None, ":memory:" if own else self.ledger, neighbours)
        self._train(curator, problem, learner, budget, remembered=not own)
        self.n_features_in_ = width_of(X)
        if is_frame(X) and all(isinstance(n, str) for n in names_of(X)):
            self.feature_names_in_ = np.array(names_of(X), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def fit_curator(self, curator: Curator) -> BoostedClassifier:
        """Learn from the rows that a curator guards, people with several rows included.

        Args:
            curator: its domain has the features and the class, its ledger is charged.
        """
        learner, budget = self._learner(), self._budget()
        if not isinstance(curator.domain, Domain):
            raise DomainMismatch("a classifier needs a declared domain; see Domain.load")
        problem = Problem(*domain_for(curator.domain, self.label, None, None, None))
        self._same_promise(curator, problem)
        self._train(curator, problem, learner, budget, remembered=True)
        self.n_features_in_ = len(problem.features)
        self.feature_names_in_ = np.array(list(problem.features), dtype=object)
        return self

    def _same_promise(self, curator: Curator, problem: Problem) -> None:
        """Parameters that a curator settles are left out, or say the same."""
        if self.neighbours not in (None, curator.privacy.neighbours):
            raise UnsupportedQuery(
                f"the curator's ledger was made for neighbours={curator.privacy.neighbours!r}; leave them out"
            )
        if self.domain is not None and self.domain != curator.domain:
            raise DomainMismatch("the curator's table has another domain; leave domain out")
        if self.classes is not None and list(self.classes) != list(problem.classes):
            raise DomainMismatch("the curator's domain declares other classes; leave classes out")

    def _train(
        self, curator: Curator, problem: Problem, learner: BaseLearner, budget: Budget, *, remembered: bool
    ) -> None:
        privacy = curator.privacy
        if self.mode == "theorem" and (privacy.neighbours != "replace" or privacy.max_rows != 1):
            raise UnsupportedQuery("theorem mode needs neighbours='replace' and one row per unit")
        price = _price(curator, budget)
        curator.ledger.check(price, curator.account)
        models = len(problem.sides)
        if self.mode == "theorem":
            trained, self.theorem_ = boost_rounds.theorem(curator, problem, self.gamma, self.eta, price)
            each = f"{self.theorem_[0].rounds} rounds at most, of which a tenth tests whether to stop"
        else:
            trained = boost_rounds.tuned(curator, problem, learner, price)
            self.__dict__.pop("theorem_", None)  # of an earlier fit
            each = f"a fifth for counts by class, the rest evenly for {learner.rounds} rounds"
        shared = f", each shared evenly by {models} one-against-rest classifiers" if models > 1 else ""
        self.problem_: Problem = problem
        self.trained_: Trained = trained
        self.classes_: NDArray[Any] = _array(problem.classes)
        self.privacy_receipt_ = BoostReceipt.of(curator, price, f"{each}{shared}", remembered=remembered)

    # -- asking --------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        chosen = self._chosen(self.predict_proba(X))
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class, in the order of `classes_` (vote shares in theorem mode)."""
        codes = self._codes(X)
        return self._probabilities([stages[-1] for stages in self.trained_.stages], codes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins: of the second class if there are two, else of each class."""
        codes = self._codes(X)
        margins = np.column_stack([stages[-1].margin(codes) for stages in self.trained_.stages])
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The predictions after each round."""
        codes = self._codes(X)
        for models in zip(*self.trained_.stages, strict=True):
            yield self.classes_[self._chosen(self._probabilities(models, codes))]

    def _chosen(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)

    def _probabilities(self, models: Any, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        margins = np.column_stack([self._margin(m, codes) for m in models])
        share = (1.0 + margins) / 2.0 if self.trained_.votes else sigmoid(margins)
        if share.shape[1] == 1:
            return np.column_stack([1.0 - share[:, 0], share[:, 0]])
        share = np.maximum(share, 1e-12)
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    @staticmethod
    def _margin(model: Additive, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        return model.margin(codes)

    def _codes(self, X: Any) -> dict[str, NDArray[Any]]:
        if not hasattr(self, "trained_"):
            raise not_fitted(type(self).__name__)
        _same_features(self, X)
        features = self.problem_.features
        columns = columns_of(X, list(features))
        return {name: attribute.encode(columns[name]) for name, attribute in features.items()}

    # -- parameters --------------------------------------------------------------------------------

    def _budget(self) -> Budget:
        if not _number(self.epsilon) or not self.epsilon > 0:
            raise UnsupportedQuery("epsilon must be a number above 0")
        if not _number(self.delta) or not 0 <= self.delta < 1:
            raise UnsupportedQuery("delta must be a number from 0 to below 1")
        if self.neighbours not in (None, "add_remove", "replace"):
            raise UnsupportedQuery("neighbours is 'add_remove' or 'replace'")
        if self.mode == "theorem" and self.neighbours == "add_remove":
            raise UnsupportedQuery("theorem mode needs neighbours='replace' and one row per unit")
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def _learner(self) -> BaseLearner:
        if self.mode not in ("tuned", "theorem"):
            raise UnsupportedQuery("mode is 'tuned' or 'theorem'")
        if self.mode == "theorem":
            if self.base_learner not in (None, "stump"):
                raise UnsupportedQuery("theorem mode boosts private stumps; leave base_learner out")
            if not (_number(self.gamma) and 0 < self.gamma < 1 and _number(self.eta) and 0 < self.eta < 0.5):
                raise UnsupportedQuery("theorem mode needs 0 < gamma < 1 and 0 < eta < 1/2")
        chosen = "histogram" if self.base_learner is None else self.base_learner
        if isinstance(chosen, str):
            if chosen not in _LEARNERS:
                raise UnsupportedQuery(
                    f"base_learner is one of {', '.join(_LEARNERS)}, or a learner of one's own"
                )
            return _LEARNERS[chosen]()
        if not isinstance(chosen, BaseLearner):
            raise UnsupportedQuery("a base learner has `rounds` and `begin`; see learning.base_learner")
        if type(chosen.rounds) is not int or not 1 <= chosen.rounds <= _MOST_ROUNDS:
            raise UnsupportedQuery(f"a base learner's rounds are a whole number from 1 to {_MOST_ROUNDS}")
        return chosen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = True
        return tags


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(float(value))


def _price(curator: Curator, budget: Budget) -> Cost:
    """The budget in the ledger's currency, never worth more than its epsilon at the ledger's delta."""
    kept = curator.ledger.budget
    if budget.currency == "epsilon" and curator.ledger.currency != "epsilon":
        raise UnsupportedQuery("delta=0 asks for pure epsilon, but the dataset's ledger is not pure")
    if curator.ledger.currency == "rho" and 0 < kept.delta_exact < budget.delta_exact:
        return curator.price(Budget(epsilon=budget.epsilon_exact))
    return curator.price(budget)


def _array(values: tuple[Any, ...]) -> NDArray[Any]:
    kinds = {type(v) for v in values}
    return np.array(values) if len(kinds) == 1 else np.array(values, dtype=object)


def _same_length(columns: Mapping[str, Any]) -> None:
    if len({len(c) for c in columns.values()}) > 1:
        raise ValueError("Found input variables with inconsistent numbers of samples")


def _same_features(model: Any, X: Any) -> None:
    """Rows to classify have the features that were learned from."""
    if width_of(X) != model.n_features_in_:
        raise ValueError(
            f"X has {width_of(X)} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )


__all__ = ["BoostReceipt", "BoostedClassifier", "Terms"]
