"""Contracts: what is owed by whoever adds an engine, a store, a hypothesis, a mechanism, a base learner or a
base generator, as checks that a third person runs on theirs. The house runs them on its own.

A suite comes twice: `check_engine(make)` tries everything and raises one sentence that names the check that
failed; `engine_checks(make)` is the list of checks, for `@pytest.mark.parametrize("check", ..., ids=str)`.
No rows of anybody's are read: the suites make up their own.
"""

from hedgerow.testing.contracts.check import BrokenContract, Check
from hedgerow.testing.contracts.engine import check_engine, engine_checks
from hedgerow.testing.contracts.generator import check_generator, generator_checks
from hedgerow.testing.contracts.hypothesis import (
    check_hypothesis,
    check_names_hypothesis,
    hypothesis_checks,
    names_hypothesis_checks,
)
from hedgerow.testing.contracts.learner import check_learner, learner_checks
from hedgerow.testing.contracts.mechanism import check_mechanism, mechanism_checks
from hedgerow.testing.contracts.store import check_store, store_checks

__all__ = [
    "BrokenContract",
    "Check",
    "check_engine",
    "check_generator",
    "check_hypothesis",
    "check_learner",
    "check_mechanism",
    "check_names_hypothesis",
    "check_store",
    "engine_checks",
    "generator_checks",
    "hypothesis_checks",
    "learner_checks",
    "mechanism_checks",
    "names_hypothesis_checks",
    "store_checks",
]
