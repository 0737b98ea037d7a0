"""Two tools at once on one session, one of them killed: nothing is lost, nothing is charged twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from services.patience import eventually

pytestmark = pytest.mark.xdist_group("wire")
PROGRAM = Path(__file__).parent / "programs" / "spend.py"
MANY = 6


def spending(place, token, first, last):
    """A tool that asks, in a process of its own."""
    here = {"PGHOST": place[0], "PGPORT": str(place[1]), "PGUSER": "two", "PGPASSWORD": token}
    command = [sys.executable, str(PROGRAM), str(first), str(last)]
    return subprocess.Popen(command, env=os.environ | here, stdout=subprocess.PIPE, text=True)


def printed(text):
    return dict(tuple(map(int, line.split())) for line in text.splitlines() if line.count(" ") == 1)


def charged(server):
    """Lines of the ledger that charge these two tools, and ids of requests that were answered at a cost."""
    lines = server.get("/v1/datasets/people/ledger").json()["lines"]
    told = server.get("/v1/datasets/people/history?limit=1000").json()["items"]
    asked = [item["request"] for item in told if item["who"] == "two" and item["cost"]]
    return [line for line in lines if line["kind"] == "charge" and line["account"] == "two"], asked


def test_one_of_two_tools_is_killed_and_what_it_asked_is_charged_once(server, place):
    token = server.new_token("two", may_spend=True)
    killed = spending(place, token, 0, MANY)
    first = killed.stdout.readline()  # it is in the midst of it
    assert first
    with hr.connect(server.url, token) as other:

        def ask(k):
            sql = f"SELECT COUNT(*) FROM people WHERE k = {k}"
            return other.ask(sql, request=f"other-{k}", within=0.1, spend=True)

        theirs = [ask(k) for k in range(2)]
        killed.kill()
        killed.wait()
        seen = printed(first + killed.stdout.read())
        killed.stdout.close()
        again = spending(place, token, 0, MANY)
        whole = printed(again.communicate()[0])
        assert again.returncode == 0
        assert len(whole) == MANY
        assert {i: whole[i] for i in seen} == seen  # what it had seen is what is there
        for k, answer in enumerate(theirs):
            assert (ask(k).value, ask(k).cost) == (answer.value, None)
    wanted = {*(f"spend-{i}" for i in range(MANY)), "other-0", "other-1"}
    eventually(
        lambda: len(charged(server)[0]) == len(charged(server)[1])
    )  # the log is written a moment later
    lines, asked = charged(server)
    assert len(lines) == len(set(asked))  # each id once
    assert set(asked) <= wanted
    assert {f"other-{k}" for k, answer in enumerate(theirs) if answer.cost} <= set(asked)
    assert server.get("/v1/datasets/people/verify").json()["ok"]
