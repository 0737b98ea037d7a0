"""A number and its error as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.client import picture
from hedgerow.figures import bound, signed
from hedgerow.synopsis.answer import Answer

errors = st.floats(1e-6, 1e12)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


@given(errors)
def test_a_bound_is_rounded_up_by_less_than_a_twentieth(error):
    shown = _number(bound(error))
    assert error * (1 - 1e-9) <= shown <= error * 1.05 + 1e-12


@given(st.floats(-1e12, 1e12), errors)
def test_a_number_has_as_many_decimals_as_its_bound_and_is_off_by_half_a_step(value, error):
    number, off = signed(value, error), bound(error)
    assert len(number.partition(".")[2]) == len(off.partition(".")[2])
    assert len(off.replace(",", "").replace(".", "").strip("0")) <= 3
    assert abs(_number(number) - value) <= 0.026 * error + 1e-9 * abs(value)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (2176.6, 54.9, "2,177 ± 55"),
        (2176.6, 15.49, "2,176.6 ± 15.5"),
        (24640, 682, "24,640 ± 690"),
        (-3.2, 900, "0 ± 900"),
        (12345, 0, "12,345 ± 0"),
    ],
)
def test_an_answer_reads_alike_here_and_from_a_server(value, error, said):
    assert repr(Answer(value, error, 0.95, "measured")) == f"Answer({said} at 0.95, measured)"
    assert picture._cell({"value": value, "error": error}) == said
