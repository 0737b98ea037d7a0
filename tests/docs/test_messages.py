"""Every sentence that Hedgerow refuses with: about the thing, without blame, and with what to do."""

from __future__ import annotations

import re
import sys

import pytest

from hedgerow import errors
from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from messages import Message, messages

OURS = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
ALL = [m for m in messages() if m.error in OURS and m.text.replace("{...}", "").strip(" .")]
BLAME = re.compile(
    r"\b(invalid|illegal|oops|please|sorry|unexpected|failed to|something went wrong|bad input)\b", re.I
)
ASKED = (
    "NotPermitted",
    "NoToken",
    "RateLimited",
    "NotLearned",
)  # who reads these needs a hint
SAYS = re.compile(r"[:;,] |\bask\b|\bsay\b|\bmay\b|\bonly\b")


def words(message: Message) -> list[str]:
    return re.findall(r"[A-Za-z_`]+|\{\.\.\.\}", message.text)


def test_all_sentences_are_found():
    assert len(ALL) > 1000
    assert len({m.place for m in ALL}) == len(ALL)


def test_a_sentence_is_more_than_a_word_and_ends_once():
    assert not [str(m) for m in ALL if len(words(m)) < 3]
    assert not [str(m) for m in ALL if re.search(r"([^.]\.\.|[,;:]|\s)$", m.text)]


def test_no_sentence_blames_or_says_nothing():
    assert not [str(m) for m in ALL if BLAME.search(f"{m.text} {m.hint}")]


def test_a_hint_is_no_sentence_of_its_own():
    assert not [str(m) for m in ALL if m.hint and (m.hint.endswith(".") or m.hint[0].isupper())]


@pytest.mark.parametrize("error", ASKED)
def test_who_is_turned_away_is_told_what_to_do(error):
    assert not [str(m) for m in ALL if m.error == error and not m.hint and not SAYS.search(m.text)]


def test_what_is_too_large_says_how_large_it_may_be_or_what_to_do():
    large = [m for m in ALL if m.error == "RangeTooLarge"]
    assert large
    told = [m for m in large if "{...}" in m.text or m.hint or re.search(r"\d|[;:] ", m.text)]
    assert [str(m) for m in large if m not in told] == []
