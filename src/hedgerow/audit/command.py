"""What `hedgerow audit` runs: everything that is exported, or the controls; text or JSON; 1 when refuted."""

from __future__ import annotations

import argparse
import json as json_text
import os
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from hedgerow.audit import exact, one_sided
from hedgerow.audit.controls import controls
from hedgerow.audit.coupled.cases import cases, replays
from hedgerow.audit.coupled.planted import planted
from hedgerow.audit.coupled.replay import LIMITS
from hedgerow.audit.finding import Finding, plot, table
from hedgerow.audit.ledger_replay import replay
from hedgerow.audit.neighbours import neighbouring_answers, neighbouring_tables
from hedgerow.audit.reconstruction import blind, reconstruct, recovered_table
from hedgerow.audit.registry import audits
from hedgerow.audit.statistical import Progress
from hedgerow.curator.runs.sparse_vector_plan import Method, plan
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.nearby import ledger_path

EPSILONS = (0.5, 1.0, 4.0)
SLOW_EPSILONS = (1.0,)  # of mechanisms whose whole runs are audited; all three at full size in tests/audit


def run_all(
    *,
    epsilons: Sequence[float] = EPSILONS,
    samples: int = 20_000,
    time_limit: float = 480.0,
    progress: Progress | None = None,
    processes: int = 1,
) -> list[Finding]:
    """Audit every exported mechanism: exactly where that is possible, by sampling, and by ledger replay.

    Args:
        epsilons: the claims that are audited.
        samples: outputs per data set; mechanisms that are slow to run draw fewer.
        time_limit: seconds for everything; fewer samples are used when they run out.
        progress: called with a few words now and then.
        processes: how many to use; more than 1 only where `multiprocessing` may start processes.
    """
    begun = time.monotonic()
    found = [*exact_findings(epsilons), ledger_finding()]
    left = time_limit - (time.monotonic() - begun)
    found += audits(epsilons, samples, left, progress, slow=SLOW_EPSILONS, processes=processes)
    return found


def run_controls(
    *, samples: int = 300_000, time_limit: float = 240.0, progress: Progress | None = None
) -> list[Finding]:
    """Audit the mechanisms that are wrong on purpose, and the two published sparse vectors that are not."""
    chosen, deadline = controls(), time.monotonic() + time_limit
    return [
        control.run(samples, max(1.0, (deadline - time.monotonic()) / (len(chosen) - i)), progress)
        for i, control in enumerate(chosen)
    ]


def run_replay(
    *, neighbours: int = 200, time_limit: float = 480.0, progress: Progress | None = None
) -> list[Finding]:
    """Replay every exported mechanism on neighbours, `neighbours` for each way to run it."""
    each, found = time_limit / len(cases()), []
    for replayed in replays(neighbours, each):
        found.append(replayed.finding())
        if progress:
            progress(str(replayed))
    return found


def run_planted(*, progress: Progress | None = None) -> list[Finding]:
    """Replay the mistakes that are planted for the replay."""
    found = []
    for mistake in planted():
        found.append(mistake.replayed().finding())
        if progress:
            progress(str(found[-1]))
    return found


def run_ledger(path: str) -> Finding:
    """Replay one ledger: a ledger file, or that of a data file."""
    beside = ledger_path(path)
    found = beside if beside.exists() else Path(path)
    with Ledger.open(found, readonly=True) as ledger:
        replayed = replay(ledger)
    return replayed.finding(f"ledger {found.name}, {replayed.currency}")


def exact_findings(epsilons: Sequence[float] = EPSILONS) -> list[Finding]:
    """True epsilons of the small integer mechanisms on their worst neighbours."""
    rows = []
    for epsilon in epsilons:
        eps = Fraction(epsilon)
        shift = [3, 0, -1], [4, 0, -1]
        found = {
            "laplace": exact.laplace_epsilon(*shift, 1 / eps),
            "exponential": _both(exact.exponential, [0, 99, 99], [1, 98, 98], eps),
            "permute_and_flip": _both(exact.permute_and_flip, [0, 9, 9], [1, 8, 8], eps),
            "report_noisy_max": _both(exact.report_noisy_max, [0, 9, 9], [1, 8, 8], eps),
            "randomized_response": exact.epsilon_between(
                exact.randomized_response(0, 5, eps), exact.randomized_response(3, 5, eps)
            ),
            "above_threshold": _worst_stream("above_threshold", 1, eps),
            "sparse": _worst_stream("sparse", 2, eps),
            "sparse, one threshold": _worst_stream("sparse_once", 2, eps),
        }
        rows += [
            Finding(f"{n} at {epsilon:g}", epsilon, f, f > epsilon + exact.SLACK, 0.0, "exact")
            for n, f in found.items()
        ]
    return [*rows, *(one_sided.honest(k, side) for k in (1, 3) for side in ("over", "under"))]


def _worst_stream(method: Method, count: int, eps: Fraction) -> float:
    """The true epsilon of a run on a few questions, over the patterns that break sparse vectors."""
    made = plan(method, Cost("epsilon", eps), Fraction(1), 0, 1, count=count)
    pairs = neighbouring_answers(4 + count, levels=(6,))
    return max(exact.epsilon_between(exact.sparse(p, made), exact.sparse(q, made)) for p, q in pairs)


def _both(mechanism: object, first: list[int], second: list[int], eps: Fraction) -> float:
    one = Fraction(1)
    return exact.epsilon_between(mechanism(first, one, eps), mechanism(second, one, eps))  # type: ignore[operator]


def ledger_finding() -> Finding:
    """One of each act through real curators, then both ledgers replayed with independent arithmetic."""
    from hedgerow import primitives as p

    problems, spent, recorded = [], 0.0, 0.0
    for budget in (Budget(epsilon=100), Budget(epsilon=20, delta=1e-3)):
        curator = neighbouring_tables("replace", 3)[0][0].curator(budget)
        kept = [p.laplace(curator, ("a",), 1), *curator.measure_all([("a",), ("b",)], 1)]
        p.exponential(curator, p.LevelCounts("a"), 1)
        p.permute_and_flip(curator, p.LevelCounts("a"), 1)
        p.report_noisy_max(curator, p.LevelCounts("a"), 1)
        p.randomized_response(curator, 1)
        if curator.ledger.currency == "rho":
            kept.append(p.gaussian(curator, ("b",), 1))
            p.gaussian_sparse(curator, 1, 2, 50, 1, 1e-5).ask_all(("a", "b"))
        p.sparse(curator, 1, 2, 1).ask_all(("a", "b"))
        p.numeric_sparse(curator, 0, 2, 1).ask_all(("a", "b"))
        curator.allot(2, "friend").measure(("a",), 1)
        again = replay(curator.ledger, kept)
        problems += again.problems
        spent, recorded = spent + again.spent, recorded + again.recorded
    words = " ".join(problems) or "Every line costs what its act costs."
    return Finding("ledger replay", recorded, spent, bool(problems), 0.0, "ledger", words)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: `python -m hedgerow.audit --all`, or another of its checks."""
    parser = argparse.ArgumentParser(prog="hedgerow audit", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--all", action="store_true", help="audit every exported mechanism")
    what.add_argument("--controls", action="store_true", help="audit mechanisms that are wrong on purpose")
    what.add_argument("--replay", action="store_true", help="replay mechanisms' histories on neighbours")
    what.add_argument("--ledger", metavar="FILE", help="replay a ledger with independent arithmetic")
    what.add_argument("--reconstruct", action="store_true", help="recover hidden rows from answers")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument(
        "--samples", type=int, help="outputs to draw from each data set; neighbours to replay"
    )
    parser.add_argument("--time-limit", type=float, default=480.0, metavar="S", help="seconds for everything")
    parser.add_argument("--plot", metavar="FILE", help="write claimed and found epsilon as an SVG picture")
    asked = parser.parse_args(arguments)
    if asked.reconstruct:
        return run_reconstruction(json=asked.json)
    return run(
        next(w for w in ("ledger", "controls", "replay", "all") if getattr(asked, w)),
        json=asked.json,
        samples=asked.samples,
        time_limit=asked.time_limit,
        picture=asked.plot,
        ledger=asked.ledger,
    )


def _print(told: dict[str, Any]) -> None:
    sys.stdout.write(json_text.dumps(told, indent=1) + "\n")


def run(
    what: str,
    *,
    json: bool = False,
    samples: int | None = None,
    time_limit: float = 480.0,
    picture: str | None = None,
    ledger: str | None = None,
    emit: Callable[[dict[str, Any]], None] = _print,
) -> int:
    """Run, report, and return the exit code: 1 if anything was refuted, as the controls must be.

    Args:
        what: "all", "controls", "replay" or "ledger".
        json: print rows instead of a table.
        samples: outputs per data set, or neighbours of each way to run a mechanism; each audit's own if None.
        time_limit: seconds for everything.
        picture: where to write the plot.
        ledger: the ledger file.
        emit: prints the rows.
    """
    begun = time.monotonic()
    if what == "ledger":
        findings = [run_ledger(ledger or "")]
    elif what == "controls":
        findings = run_controls(samples=samples or 300_000, time_limit=time_limit, progress=_say)
        findings += run_planted(progress=_say)
    elif what == "replay":
        findings = run_replay(neighbours=samples or 200, time_limit=time_limit, progress=_say)
        _say("Not checked by replay: " + " ".join(LIMITS))
    else:
        cores = os.cpu_count() or 1
        findings = run_all(samples=samples or 20_000, time_limit=time_limit, progress=_say, processes=cores)
    if picture:
        plot(findings, picture)
    if json:
        emit({"findings": [f.to_json() for f in findings]})
    else:
        sys.stdout.write(table(findings) + "\n")
    _say(f"{len(findings)} audit{'s' * (len(findings) != 1)} in {time.monotonic() - begun:.0f} s")
    return 1 if any(f.refuted for f in findings) else 0


def run_reconstruction(*, json: bool = False, emit: Callable[[dict[str, Any]], None] = _print) -> int:
    """Recover hidden rows from answers; 1 if a release gave away more than its epsilon allows.

    Args:
        json: print rows instead of a table.
        emit: prints the rows.
    """
    found = reconstruct(progress=_say)
    if json:
        emit({"recovered": [f.to_json() for f in found]})
    else:
        sys.stdout.write(recovered_table(found) + "\n")
    if blind(found):
        _say("The attack did not recover the rows from exact answers: this run shows nothing.")
    return 1 if blind(found) or any(f.refuted for f in found) else 0


def _say(words: str) -> None:
    sys.stderr.write(words + "\n")
