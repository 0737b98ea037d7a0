"""The sequential audit: few samples refute what is wrong, and looking often does not refute what is right.

Every run of an honest mechanism is refuted with probability at most 1e-6, however often it looks.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import audit
from hedgerow.audit import betting
from hedgerow.audit.broken_svt import PublishedSVT
from hedgerow.audit.case import AUDITS
from hedgerow.audit.controls import (
    controls,
    exact_errors,
    exact_table_returned,
    float_laplace,
    query_of_the_largest_count,
)
from hedgerow.audit.neighbours import neighbouring_answers, neighbouring_tables
from hedgerow.curator.noise.noise import discrete_laplace, os_entropy
from sizes import size

ONE = hr.Budget(epsilon=1)
STREAMS = neighbouring_answers(6, levels=(0, -1))
FIXED = 300_000  # outputs that the audit of fixed size draws from the controls

ENDLESS = {  # mechanisms of infinite loss, and how many outputs of each data set they are given today
    "without noise": (PublishedSVT(5, Fraction(1), 1), STREAMS, FIXED),
    "unlimited above": (
        PublishedSVT(6, Fraction(1), 1),
        neighbouring_answers(16, levels=(-1,))[3],
        FIXED,
    ),
    "float Laplace": (float_laplace, (0, 1), FIXED // 5),
    "exact errors": (exact_errors, neighbouring_tables("replace"), FIXED // 4),
}


def noisy(x, n):
    return np.asarray(x) + discrete_laplace(Fraction(1), n * len(x), os_entropy).reshape(n, -1)


@pytest.mark.parametrize("name", ENDLESS)
def test_infinite_loss_is_refuted_with_a_tenth_of_the_samples(name):
    mechanism, pairs, fixed = ENDLESS[name]
    finding = audit.bet(mechanism, pairs, 1.0, samples=fixed // 10, batch=True, time_limit=600)
    assert finding.refuted, str(finding)
    assert finding.method == "sequential"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "pairs"),
    [(noisy, ([0], [1])), (PublishedSVT(1, Fraction(1), 1), STREAMS)],
    ids=["laplace", "SVT 1"],
)
def test_honest_mechanisms_are_never_refuted(mechanism, pairs):
    """100 runs at full size, each looking after every pair; false alarm 1e-6 each."""
    for _ in range(size(4, 100)):
        assert not audit.bet(mechanism, pairs, 1.0, samples=1500, batch=True).refuted


def test_the_wealth_of_bets_against_a_true_claim_does_not_grow():
    """Ville's inequality at 1/20: P(W ever >= 20) <= 0.05, so 27 or more of 120 has probability 1.3e-10."""
    rng = np.random.default_rng(5)

    def coin(p, n):
        return (rng.random(n) < p).astype(float).reshape(-1, 1)

    heads = 1 / (1 + exp(-0.5))
    pair = (heads, 1 - heads)  # randomised response of epsilon exactly 1/2: the claim is true and tight
    won = sum(
        audit.bet(coin, pair, 0.5, samples=400, confidence=0.95, batch=True).refuted for _ in range(120)
    )
    assert won < 27


def test_bets_are_made_before_their_outputs_are_seen(monkeypatch):
    """Outputs that say which data set they come from only in the round that is bet on win nothing."""
    seen = []
    real = betting._Table._chosen

    def chosen(self, data, atoms, past, columns):
        seen.append((past, len(data[0])))
        cut = tuple(np.where(np.arange(len(d))[:, None] < past, d, np.nan) for d in data)
        return real(self, cut, atoms, past, columns)

    monkeypatch.setattr(betting._Table, "_chosen", chosen)
    assert audit.bet(float_laplace, (0, 1), 1.0, samples=6000, batch=True).refuted
    assert all(past < rows for past, rows in seen)


def test_no_factor_is_negative_and_none_wins_more_than_it_may():
    table = betting._Table(exp(1.0), 0.1, log(1e6))
    largest = betting._STAKES[-1] / (table.ratio + table.delta)
    for hit, miss in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert 1 + largest * (hit - table.ratio * miss - table.delta) > 0


def test_a_delta_in_the_claim_is_respected():
    """Everything is given away with probability 1/20: (0, 0.05)-DP, not (0, 0.005)-DP."""

    def leaks(x, n):
        gone = discrete_laplace(Fraction(7), n, os_entropy) % 20 == 0
        return np.where(gone, x, -1).reshape(-1, 1)

    assert not audit.bet(leaks, (0, 1), 0.1, 0.08, samples=3000, batch=True).refuted
    assert audit.bet(leaks, (0, 1), 0.1, 0.005, samples=20_000, batch=True).refuted


def test_what_is_returned_is_looked_at():
    """One charged act passes the door in both; only their results give them away."""
    for act in (exact_table_returned, query_of_the_largest_count):
        pairs = [*neighbouring_tables("add_remove")[:2], neighbouring_tables("replace")[0]]
        finding = audit.bet(audit.runs_of(act, ONE), pairs, 1.0, samples=1500, batch=True, time_limit=600)
        assert finding.refuted, str(finding)


def test_the_two_that_only_their_results_give_away_are_among_the_controls():
    named = {c.name: c for c in controls()}
    for name in ("exact table returned", "query chosen by a free argmax"):
        assert named[name].run(120_000, 600.0, None).refuted


def test_every_mechanism_that_is_rehearsed_has_its_result_audited():
    rehearsed = {n for n, cases in AUDITS.items() if any(c.name == n and not c.sequential for c in cases)}
    results = {n for n, cases in AUDITS.items() if any(c.sequential for c in cases)}
    asked = {"OnlineMW", "SparseMW", "above_threshold", "sparse", "numeric_sparse", "gaussian_sparse"}
    asked |= {"paired_sparse"}
    assert rehearsed - asked <= results  # what is asked question by question is all result


def test_sparse_vectors_can_be_run_again_and_again_through_the_door():
    def asked(curator):
        return curator.sparse_vector(2, 1).ask_all(("a", "b")).above

    rows = audit.runs_of(asked, ONE)(neighbouring_tables("add_remove")[0][0], 30)
    assert len({tuple(r) for r in rows}) > 1


def test_an_audit_with_too_few_samples_says_so():
    for look, few in ((audit.audit, 60), (audit.bet, 40)):
        finding = look(noisy, ([0], [1]), 1.0, samples=few, batch=True)
        assert finding.blind
        assert not finding.to_json()["could_refute"]
        assert "could not have refuted" in str(finding)
        assert "too few outputs" in audit.table([finding])
        enough = look(noisy, ([0], [1]), 1.0, samples=400, batch=True)
        assert not enough.blind
        assert "could not have" not in str(enough)


@pytest.mark.parametrize("look", [audit.audit, audit.bet])
def test_an_audit_that_could_refute_does_refute_what_gives_everything_away(look):
    """So few outputs that they just suffice: what is said to be possible is."""
    for samples in range(40, 200, 4):
        finding = look(lambda x, n: np.full((n, 1), float(x)), (0, 1), 1.0, samples=samples, batch=True)
        assert finding.refuted or finding.reach < 1.6
        if finding.blind:
            assert not finding.refuted
