"""Ask a Hedgerow server, as a marimo notebook: `marimo edit examples/ask_a_server_marimo.py`.

Set HEDGEROW_URL (http://HOST:PORT/people) and HEDGEROW_TOKEN before. Nothing here costs budget.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import hedgerow as hr

    db = hr.connect()
    mo.md("# Ask a Hedgerow server")
    return db, mo


@app.cell
def _(db):
    groups = db.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    groups  # noqa: B018 - a cell shows what it ends with
    return (groups,)


@app.cell
def _(db, mo):
    left = db.budget()["remaining"]["epsilon"]
    mo.md(f"Left to spend: epsilon {left:.3g}")
    return (left,)


if __name__ == "__main__":
    app.run()
