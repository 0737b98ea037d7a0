"""A dashboard of a release, as a marimo notebook: `marimo edit examples/dashboard_marimo.py`.

Made-up people are released once; everything is asked of the release and costs nothing. With marimo the column
can be chosen by a drop-down: replace `column = "region"` by `mo.ui.dropdown(list(domain), value="region")`.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    mo.md("# A dashboard of a release")
    return (mo,)


@app.cell
def _():
    import hedgerow as hr
    from hedgerow.release.population import Population

    people = Population(20_000)
    domain = people.domain()
    table = hr.Table.open({name: people.columns[name] for name in domain}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=2.0, delta=1e-6), ":memory:")
    release = hr.GaussianBaseline().release(curator, hr.marginals(domain, 2))
    return (release,)


@app.cell
def _():
    column = "region"
    return (column,)


@app.cell
def _(mo, column):
    mo.md(f"People by {column}, and their average age: each number with where it may be.")
    return ()


@app.cell
def _(release, column):
    groups = release.answer(f"SELECT {column}, COUNT(*) AS n FROM t GROUP BY {column}")
    groups  # noqa: B018 - a cell shows what it ends with
    return (groups,)


@app.cell
def _(release, column):
    average = release.answer(f"SELECT {column}, AVG(age) AS age FROM t GROUP BY {column}")
    average  # noqa: B018
    return (average,)


if __name__ == "__main__":
    app.run()
