"""A session that stopped between the first act of priming and the next goes on with the price it had."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.curator import Curator

DOMAIN = hr.Domain({"k": 3, "pay": hr.Bins([0, 10, 20, 50, 100, 200, 500, 1000, 5000], step=1)})


@pytest.mark.parametrize("plan", [hr.Session(name="r"), hr.Session(name="r", epsilon=3)])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("raised", [False, True])
def test_priming_that_stopped_after_its_first_act_goes_on(tmp_path, monkeypatch, plan, delta, raised):
    rng = np.random.default_rng(5)
    pay = np.clip(rng.lognormal(4, 1.1, 2000), 0, 4999).round()
    table = hr.Table.open({"k": rng.integers(0, 3, 2000), "pay": pay}, DOMAIN)
    curator = hr.Curator(table, hr.Budget(epsilon=3, delta=delta), str(tmp_path / "l.db"))
    real = Curator._act

    def stopping(self, *given, **rest):
        real(self, *given, **rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "_act", stopping)
        with pytest.raises(KeyboardInterrupt):
            plan.open(curator)
    assert not plan.begun(curator)
    if raised:
        curator.ledger.raise_budget(hr.Budget(epsilon=5, delta=10 * delta), "more questions")
    answer = plan.open(curator).ask("SELECT AVG(pay) FROM t")
    assert abs(answer.value - pay.mean()) < 40
    charges = [e for e in curator.ledger.replay(None) if e.kind == "charge"]
    assert [e.note.split(": ")[-1] for e in charges] == ["sums of numbers with long tails", "priming tables"]
    assert sum(e.cost.amount for e in charges) <= curator.price(hr.Budget(epsilon=3, delta=delta)).amount
