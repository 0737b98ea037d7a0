"""`hedgerow demo`: a made-up population, released and asked, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hedgerow as hr
from hedgerow.serve.cli.options import Json
from hedgerow.serve.cli.progress import progress
from hedgerow.serve.cli.terminal import emit, screen

if TYPE_CHECKING:
    from hedgerow.release.population import Population
    from hedgerow.release.report.report import AnsweredQuestion

DATA, SCHEMA, MARK = "people.csv", "schema.yaml", "demo.txt"
ABOUT = "A made-up population, one row for each dwelling that a person is registered at: no real people."

QUESTIONS = (
    ("How many rows are there?", "SELECT COUNT(*) AS rows FROM people"),
    ("How many are of people aged 70 or older?", "SELECT COUNT(*) AS old FROM people WHERE age >= 70"),
    (
        "How many employed women?",
        "SELECT COUNT(*) AS women FROM people WHERE sex = 'female' AND work = 'employed'",
    ),
    ("How many did not state an income?", "SELECT COUNT(*) AS silent FROM people WHERE income IS NULL"),
    ("What is the average income?", "SELECT AVG(income) AS income FROM people"),
    ("How does it differ by sex?", "SELECT sex, AVG(income) AS income FROM people GROUP BY sex"),
    (
        "How does it grow with education?",
        "SELECT education, AVG(income) AS income FROM people GROUP BY education",
    ),
    (
        "Who walks or cycles, in the city and in the country?",
        "SELECT area, COUNT(*) AS rows FROM people WHERE commute IN ('bicycle', 'on foot') GROUP BY area",
    ),
    (
        "How do people aged 30 to 50 live?",
        'SELECT "marital status", COUNT(*) AS rows FROM people WHERE age >= 30 AND age < 50 '
        'GROUP BY "marital status"',
    ),
    (
        "What share of people in their thirties is married?",
        "SELECT AVG(CASE WHEN \"marital status\" = 'married' THEN 1 ELSE 0 END) AS share FROM people "
        "WHERE age >= 30 AND age < 40",
    ),
    (
        "Who moved in in 2023 or 2024?",
        "SELECT housing, COUNT(*) AS rows FROM people "
        "WHERE moved_in BETWEEN '2023-01-01' AND '2024-12-31' GROUP BY housing",
    ),
    (
        "Which three regions earn most in all?",
        "SELECT region, SUM(income) AS income FROM people GROUP BY region ORDER BY income DESC LIMIT 3",
    ),
)


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("hedgerow-demo"),
    rows: Annotated[int, typer.Option(min=100, help="How many rows the population has.")] = 50_000,
    epsilon: Annotated[str, typer.Option(help="The budget, all of which is spent.")] = "1",
    seed: Annotated[int, typer.Option(min=0, help="For another population.")] = 2024,
    json: Json = False,
) -> None:
    """Make up a population, release it, ask it, report.

    Writes a made-up census of people with several rows each, gives it a budget, learns a model of it for all
    two-way tables, asks a dozen questions in SQL, and writes synthetic rows and a report.
    """
    from hedgerow.release.population import MAX_ROWS, UNIT, Population
    from hedgerow.service import budgeting
    from hedgerow.service.dataset import Dataset, make_budget
    from hedgerow.service.publication import Publication

    make_budget(epsilon)  # refuse before anything is written
    _make_room(out)
    people, data = Population(rows, seed), out / DATA
    asked: list[AnsweredQuestion] = []
    with progress(json) as step:
        step("Making up a population", None)
        people.write(data)
        people.domain().save(out / SCHEMA)
        dataset = Dataset(data, unit=UNIT, max_rows=MAX_ROWS, schema=out / SCHEMA)
        budgeting.begin(dataset, epsilon).close()

        def ask(synopsis: hr.Synopsis) -> list[AnsweredQuestion]:
            asked.extend(ask_all(synopsis, people))
            return asked

        done = Publication(
            dataset, out, epsilon=epsilon, about=ABOUT, ask=ask, force=True, step=step
        ).publish()
    if json:
        emit(_as_json(done, asked))
        return
    _show(done, asked, rows)


def ask_all(synopsis: hr.Synopsis, people: Population) -> list[AnsweredQuestion]:
    """Every question, its released answer, and the true one, which only a made-up population has."""
    from hedgerow.release.report.report import AnsweredQuestion

    domain = people.every_number()
    truth = exact_tables(people, domain)
    out = []
    for words, text in QUESTIONS:
        true = hr.sql(domain, text).answer(truth)
        out.append(AnsweredQuestion(words, text, synopsis.answer(hr.sql(synopsis.domain, text)), true))
    return out


def exact_tables(people: Population, domain: hr.Domain) -> Any:
    """Weighted counts of the made-up rows themselves, in the form in which a synopsis gives them."""
    import numpy as np

    codes = domain.encode(people.columns)

    def linear(attributes: tuple[str, ...], weights: Any, confidence: float, numbers: int = 1) -> Any:
        if not attributes:
            return float(people.rows * np.sum(weights)), 0.0
        return float(np.asarray(weights)[tuple(codes[a] for a in attributes)].sum()), 0.0

    return linear


def _make_room(out: Path) -> None:
    """The folder must be new or empty, or hold an earlier demo, which is then replaced."""
    from hedgerow.errors import HedgerowError
    from hedgerow.release.writing import writable
    from hedgerow.service.dataset import Dataset
    from hedgerow.service.publication import FILES
    from hedgerow.service.witness import note_path

    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise HedgerowError(
            f"the folder {str(out)!r} is not empty and holds no earlier demo: choose another --out"
        )
    writable(out)
    ledger = Path(str(Dataset(out / DATA).path))
    beside = (Path(f"{ledger}{end}") for end in ("", "-wal", "-shm"))
    for path in (*(out / name for name in (*FILES, DATA, SCHEMA)), *beside, note_path(ledger)):
        path.unlink(missing_ok=True)
    (out / MARK).write_text("Written by `hedgerow demo`; a made-up population, no real people.\n", "utf-8")


def _as_json(done: Any, asked: list[AnsweredQuestion]) -> dict[str, Any]:
    from hedgerow.service import wire

    return {
        "folder": str(done.folder),
        "files": [DATA, SCHEMA, *done.files],
        "cost": wire.price(done.synopsis.cost),
        "questions": [
            {
                "words": a.words,
                "sql": a.sql,
                **wire.rows(a.answer),
                "true_rows_of_the_made_up_population": a.truth.rows,
            }
            for a in asked
        ],
        "report": str(done.folder / "report.html"),
    }


def _show(done: Any, asked: list[AnsweredQuestion], rows: int) -> None:
    from rich.table import Table

    from hedgerow.release.numerals import amount, bound, signed
    from hedgerow.release.population import MAX_ROWS, UNIT

    to = screen()
    tables, budget = len(done.synopsis.measurements), done.synopsis.receipt.settings.budget
    to.print(
        f"{rows:,} made-up rows; a model learned from {tables} noisy tables for "
        f"{amount(done.synopsis.cost, budget)},"
    )
    to.print(f"protecting each {UNIT} with at most {MAX_ROWS} rows. A dozen questions, answered for free:")
    to.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("question")
    table.add_column("")
    for name, style in (("answer", "bold"), ("± 95%", "dim"), ("true *", "magenta")):
        table.add_column(name, justify="right", style=style)
    for a in asked:
        result, known = a.answer.table, dict(zip(a.truth.groups, a.truth.values.tolist(), strict=True))
        words = a.words
        for labels, (value, *_), (error, *_) in zip(
            result.groups, result.values.tolist(), result.errors.tolist(), strict=True
        ):
            exact = signed(known[labels][0], error) if labels in known else ""
            table.add_row(words, ", ".join(labels), signed(value, error), bound(error), exact)
            words = ""
    to.print(table)
    to.print()
    to.print(
        f"* known only as these people are made up: all rows, also beyond {MAX_ROWS} of a person, within the "
        "declared range."
    )
    for name in (DATA, SCHEMA, *(n for n in done.files if n != "report.html")):
        to.print(f"  {done.folder / name}", soft_wrap=True)
    to.print(f"Report: {(done.folder / 'report.html').resolve()}", soft_wrap=True)
