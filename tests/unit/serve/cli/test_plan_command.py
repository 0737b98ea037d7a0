"""`hedgerow plan`: what to do comes first, all that was compared when it is asked for."""

from __future__ import annotations

PLAN = ("plan", "--schema", "schema.yaml", "--rows", "5000", "--no-simulate")


def test_the_recommendation_stands_before_all_else_and_the_table_behind_an_option(people_cli):
    short, whole = (people_cli(*PLAN, *more).stdout for more in ((), ("--all",)))
    lines = short.splitlines()
    assert lines[1].startswith("Recommended: ")
    assert len(lines) < 10
    assert "--all shows them" in short
    assert "rows needed" not in short
    assert "rows needed" in whole
    assert whole.index("Recommended: ") < whole.index("rows needed")
    for mechanism in ("GaussianBaseline", "OnlineMW", "RandomizedResponse"):
        assert mechanism in whole
