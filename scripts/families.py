"""Move every file to the folder of its family, and rewrite what names it: a table, and nothing else.

    python scripts/families.py          # once, in a clean checkout

Only `git mv` and names: no line changes but for the module names in it. Files stay in their rooms.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

SOURCE = Path("src/hedgerow")


def _into(folder: str, names: str, prefix: str = "") -> dict[str, str]:
    """Modules that lose a prefix, if they had one, and lie in a folder."""
    return {prefix + name: f"{folder}.{name}" for name in names.split()}


MOVES = {
    "mechanisms": {
        "run_account": "account",
        "adaptive": "adaptive.adaptive",
        "adaptive_max": "adaptive.maximum",
        **_into("adaptive", "plan prior rounds run", "adaptive_"),
        "boost_people": "boost_people.classifier",
        "boost_input": "boost_people.inputs",
        **_into("boost_people", "estimator receipt rounds", "boost_"),
        "boost_queries": "boost_queries.boost_queries",
        "boost_plan": "boost_queries.plan",
        "factorization": "factorization.factorization",
        **_into("factorization", "matrix plan", "factorization_"),
        "offline_mw": "offline_mw.offline_mw",
        **_into("offline_mw", "theorem tuned", "offline_mw_"),
        **_into("online", "idc online_mw sparse_mw"),
        **_into("online", "conversation terms", "idc_"),
        "session": "session.session",
        "session_open": "session.open_session",
        **_into("session", "belief cache certify core explain foresee form guard", "session_"),
        **_into("session", "log people price prime quantile question", "session_"),
    },
    "curator": {
        **_into("rows", "engine duckdb memory files csv_file csv_rows csv_kernels parquet_files"),
        **_into("rows", "table bounding unit_ids kernels inspection source training"),
        **_into("noise", "noise selection local"),
        **_into("runs", "comparison sparse_vector sparse_vector_plan one_sided one_sided_plan exact_answers"),
        **_into("statistics", "statistics people boosting coarse sketch small_range small_range_kernels"),
        **_into("statistics", "smooth strategy weighted"),
    },
    "privacy": {
        "ledger": "ledger.ledger",
        "ledger_copy": "ledger.copies",
        **_into("ledger", "entry failure filter line making nearby", "ledger_"),
        **_into("ledger", "place snapshot sqlite store transaction", "ledger_"),
        **_into("ledger", "receipt"),
        **_into("bounds", "boosting noise online", "bounds_"),
    },
    "queries": {
        "sql": "sql.statement",
        **_into("sql", "aggregate column predicate tokens", "sql_"),
        **_into("domain", "attribute bins days domain encoding encoding_kernels schema_file"),
        **_into("strategies", "strategy coarse column contrast sketch_matrix hash_kernels"),
    },
    "learning": {
        "dense": "dense.dense",
        **_into("dense", "kernels tables", "dense_"),
        **_into("dense", "weights layout fitting"),
        "factored": "factored.factored",
        "factored_kernels": "factored.kernels",
        **_into("factored", "junction_tree belief evidence pairs resolution rows dual consistency"),
        **_into("sparse", "sparse places"),
        "projection": "projection.projection",
        "projection_kernels": "projection.kernels",
        **_into("learners", "base_learner additive grouping"),
        **_into("learners", "histogram_learner logistic_learner stump_learner"),
    },
    "release": {
        "plan": "plan.plan",
        **_into("plan", "curve estimate mechanisms population simulate table task theorem winners", "plan_"),
        **_into("report", "report charts views"),
    },
}
BESIDE = {  # files that keep their names in Python, or have none
    "privacy/bounds.py": "privacy/bounds/__init__.py",
    "release/report.css": "release/report/report.css",
    "release/report.html.jinja": "release/report/report.html.jinja",
    "release/report.js": "release/report/report.js",
}
_DONE = "hedgerow\N{MIDDLE DOT}"  # a name that is new already
TEXT = (".py", ".pyi", ".md", ".toml", ".yml")


def new_name(room: str, module: str) -> str:
    """Where a module lives after the move, below `hedgerow`."""
    return f"{room}.{MOVES.get(room, {}).get(module, module)}"


def rewritten(text: str) -> str:
    """A file's text with the new names of modules in it."""
    return _dotted(_from_rooms(text)).replace(_DONE, "hedgerow.")


def _from_rooms(text: str) -> str:
    """`from hedgerow.ROOM import MODULE` names the module's folder now, and keeps its local name."""

    def one(match: re.Match[str]) -> str:
        indent, room, names = match.groups()
        stay, lines = [], []
        for item in (n.strip() for n in names.split(",")):
            module, _, alias = item.partition(" as ")
            target = MOVES[room].get(module)
            if target is None:
                stay.append(item)
                continue
            package, _, name = f"{room}.{target}".rpartition(".")
            local = alias or module
            lines.append(
                f"{indent}from {_DONE}{package} import {name}" + (f" as {local}" if local != name else "")
            )
        kept = [f"{indent}from {_DONE}{room} import {', '.join(stay)}"] if stay else []
        return "\n".join(kept + lines)

    rooms = "|".join(MOVES)
    return re.sub(rf"^([ \t]*)from hedgerow\.({rooms}) import ([\w, ]+)$", one, text, flags=re.M)


def _dotted(text: str) -> str:
    """`hedgerow.ROOM.MODULE`, `ROOM.MODULE` in quotes or backticks, `ROOM/MODULE.py`."""
    for room, moves in MOVES.items():
        names = "|".join(sorted(moves, key=len, reverse=True))

        def dots(match: re.Match[str], room: str = room) -> str:
            return f"{room}.{MOVES[room][match.group(1)]}"

        def slashes(match: re.Match[str], room: str = room) -> str:
            return f"{room}/{MOVES[room][match.group(1)].replace('.', '/')}.py"

        text = re.sub(rf"(?<=hedgerow\.){room}\.({names})\b", dots, text)
        text = re.sub(rf"(?<=[\"`]){room}\.({names})(?=[\"`.])", dots, text)
        text = re.sub(rf"\b{room}/({names})\.py\b", slashes, text)
    return re.sub(r'(?<=_M \+ ")(\w+)(?=")', lambda m: MOVES["mechanisms"].get(m.group(1), m.group(1)), text)


def main() -> None:
    """Move, then rewrite."""
    for room, moves in MOVES.items():
        for module, target in moves.items():
            _move(f"{room}/{module}.py", f"{room}/{target.replace('.', '/')}.py")
    for old, new in BESIDE.items():
        _move(old, new)
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for path in (Path(p) for p in listed if p.endswith(TEXT) and Path(p).name != "families.py"):
        text = path.read_text()
        if (new := rewritten(text)) != text:
            path.write_text(new)


def _move(old: str, new: str) -> None:
    (SOURCE / new).parent.mkdir(parents=True, exist_ok=True)
    # A module that gives its name to its folder makes room first.
    subprocess.run(["git", "mv", str(SOURCE / old), str(SOURCE / new)], check=True)


if __name__ == "__main__":
    main()
