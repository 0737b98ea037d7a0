"""Choice: the ways of choosing a candidate by its score, each with its event and its sampler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from hedgerow.curator.noise import noisy_max, selection
from hedgerow.privacy import events

Choice = Literal["exponential", "permute_and_flip", "report_noisy_max", "report_noisy_max_laplace"]

CHOICES: dict[str, tuple[type[Any], Callable[..., int]]] = {
    "exponential": (events.Exponential, selection.exponential),
    "permute_and_flip": (events.PermuteAndFlip, selection.permute_and_flip),
    "report_noisy_max": (events.ReportNoisyMax, noisy_max.report_noisy_max),
    "report_noisy_max_laplace": (events.ReportNoisyMax, partial(noisy_max.report_noisy_max, law="laplace")),
}
