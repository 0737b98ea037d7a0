"""What names a release in its ledger: all that matters to it, and nothing that older versions lacked."""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass, replace

import pytest

import hedgerow as hr
from hedgerow.mechanisms.fingerprint import fingerprint, later
from hedgerow.mechanisms.mechanism import Resumable

NAMED = [
    hr.LaplaceBaseline,
    hr.GaussianBaseline,
    hr.HistogramRelease,
    hr.Factorization,
    hr.Projection,
    hr.SmallDB,
    hr.OfflineMW,
    hr.AdaptiveRelease,
]
DOMAIN = hr.Domain({"a": 3, "b": 2})


def curator() -> hr.Curator:
    rows = {"a": [0, 1, 2, 0] * 25, "b": [0, 1, 1, 0] * 25}
    return hr.Curator(hr.Table.open(rows, DOMAIN), hr.Budget(epsilon=4, delta=1e-9), ":memory:")


def below(kind: type) -> set[type]:
    return {kind} | {c for direct in kind.__subclasses__() for c in below(direct)}


def test_every_mechanism_whose_releases_have_names_is_in_this_list():
    house = {c for c in below(Resumable) if c.__module__.startswith("hedgerow") and hasattr(c, "release")}
    assert house == set(NAMED)


@pytest.mark.parametrize("kind", NAMED)
def test_what_names_todays_releases_is_what_named_them_in_the_first_version(kind):
    """That was how Python writes a dataclass; old ledgers know releases by it."""
    for mechanism in (kind(), kind(epsilon=0.5, run="it's"), kind(budget=hr.Budget(rho="1/3"))):
        assert fingerprint(mechanism) == repr(mechanism)
        assert fingerprint(mechanism, "x", None, [1.5]) == repr((mechanism, "x", None, [1.5]))


@pytest.mark.parametrize("kind", NAMED)
def test_no_parameter_changes_without_a_change_of_the_name(kind):
    """All of them count today: each enters a price, a noise law, or what is asked next."""
    for f in fields(kind):
        for value in (0.25, 7, "other", None):
            changed = replace(kind(), **{f.name: value})
            if getattr(changed, f.name) != getattr(kind(), f.name):
                assert fingerprint(changed) != fingerprint(kind()), f.name


@pytest.mark.parametrize("kind", NAMED)
def test_a_parameter_that_comes_later_orphans_no_release_that_does_not_use_it(kind):
    newer = make_dataclass(kind.__name__, [("polish", int, later(0))], bases=(kind,), frozen=True)
    newer.__qualname__ = kind.__qualname__
    assert fingerprint(newer(epsilon=1, run="x")) == fingerprint(kind(epsilon=1, run="x"))
    assert fingerprint(newer(polish=1)) != fingerprint(kind())
    plain = make_dataclass(kind.__name__, [("share", float, 0.5)], bases=(kind,), frozen=True)
    assert fingerprint(plain()) != fingerprint(kind())  # an ordinary field always counts


def test_a_default_that_changes_changes_neither_old_names_nor_what_they_mean():
    """`polish` came with default 0, and then became 3: who asks for 0 means the old releases."""

    @dataclass(frozen=True)
    class Old:
        epsilon: float = 1.0
        polish: int = later(0)

    @dataclass(frozen=True)
    class New:
        epsilon: float = 1.0
        polish: int = later(3, first=0)

    New.__qualname__ = Old.__qualname__
    assert New().polish == 3
    assert fingerprint(New(polish=0)) == fingerprint(Old())
    assert fingerprint(New()) == fingerprint(Old(polish=3)) != fingerprint(Old())


def test_a_named_release_is_found_again_by_a_version_with_one_more_parameter():
    held, asked = curator(), hr.marginals(DOMAIN, 1)
    first = hr.AdaptiveRelease(epsilon=1, run="spring").release(held, asked)
    spent = held.ledger.spent()
    newer = make_dataclass(
        "AdaptiveRelease", [("polish", int, later(0))], bases=(hr.AdaptiveRelease,), frozen=True
    )
    again = newer(epsilon=1, run="spring").release(held, asked)
    assert held.ledger.spent() == spent
    assert again.answer(asked).value.tolist() == first.answer(asked).value.tolist()
    with pytest.raises(hr.LedgerError, match="already used for another question"):
        newer(epsilon=1, run="spring", polish=2).release(held, asked)
    with pytest.raises(hr.LedgerError, match="already used for another question"):
        newer(epsilon=0.9, run="spring").release(held, asked)
    assert held.ledger.spent() == spent
