"""Every mechanism that the package exports has an audit, and none of them is refuted.

Each audit refutes an honest mechanism with probability at most 1e-6; nothing is retried.
"""

from __future__ import annotations

import pytest

import hedgerow as hr
from hedgerow import audit
from hedgerow.audit.registry import AUDITS, audits, exported
from sizes import FULL, size

SAMPLES = size(4000, 40_000)
SECONDS = size(5.0, 120.0)  # test_replay has looked at every act already
EPSILONS = (0.5, 1.0, 4.0)


def test_every_exported_mechanism_has_an_audit():
    missing = set(exported()) - set(AUDITS)
    assert not missing, f"register an audit in hedgerow.audit.registry for {sorted(missing)}"


def test_every_audit_is_of_something_exported():
    assert set(AUDITS) <= set(exported())


def test_a_mechanism_without_an_audit_is_noticed(monkeypatch):
    monkeypatch.delitem(AUDITS, "laplace")
    assert set(exported()) - set(AUDITS) == {"laplace"}


SLOW = {name for name, cases in AUDITS.items() if any(case.slow and not case.sequential for case in cases)}


def chosen() -> list[tuple[str, float]]:
    """All of them at every epsilon; at small size those that are slow to run only at one."""
    return [(n, e) for n in sorted(AUDITS) for e in ((1.0,) if n in SLOW and not FULL else EPSILONS)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), chosen())
def test_no_exported_mechanism_is_refuted(monkeypatch, name, epsilon):
    """At small size the results of slow ones are left to test_replay, which compares them to the last bit."""
    if not FULL and (name in SLOW or epsilon != 1.0):
        monkeypatch.setitem(AUDITS, name, [case for case in AUDITS[name] if not case.sequential])
    budget = SECONDS * len(AUDITS[name])
    samples = SAMPLES // 4 if name in SLOW and not FULL else SAMPLES
    for finding in audits([epsilon], samples, budget, only=[name]):
        assert not finding.refuted, str(finding)


def test_audits_in_several_processes_are_the_same_audits():
    chosen = {"only": ["laplace", "exponential"], "seconds": 60.0, "samples": 400}
    apart = [(f.name, f.claimed, f.samples) for f in audits([0.5, 1.0], processes=2, **chosen)]
    assert apart == [(f.name, f.claimed, f.samples) for f in audits([0.5, 1.0], **chosen)]


def test_the_controls_cannot_be_reached_from_the_front_door():
    names = {"PublishedSVT", "NoiseHalved", "ChargeSkipped", "controls", "broken_svt", "float_laplace"}
    assert not names & (set(hr.__all__) | set(audit.__all__) | set(hr.primitives.__all__))
    for name in names:
        with pytest.raises(AttributeError):
            getattr(hr, name)
