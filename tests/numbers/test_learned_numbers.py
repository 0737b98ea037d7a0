"""Learned sums, averages and quantiles: error bars that cover what bins leave open.

The tests of coverage are of many numbers at once, with noise of a fixed seed: they do not fail by chance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.mechanisms.moments import share_of_moments
from hedgerow.queries.moments import BinMoments, WithinBins
from hedgerow.queries.number_sums import scales
from hedgerow.queries.quantile import QuantileOf
from sizes import size

ROWS = size(8_000, 60_000)
STEPPED = hr.Domain(
    {"sex": ["F", "M"], "age": hr.bins(0, 100, 25, step=1), "pay": hr.Bins([0, 10, 50, 400], step=0.01)}
)
PLAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 25), "pay": hr.Bins([0, 10, 50, 400])})


def frame(seed: int = 3) -> dict[str, np.ndarray]:
    """Rows that lie at the lower ends of their bins: middles are wrong."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], ROWS)
    age = 25 * rng.integers(0, 4, ROWS) + rng.geometric(0.3, ROWS) - 1
    pay = np.round(np.clip(rng.exponential(np.where(sex == "F", 12, 25)), 0, 399), 2)
    return {"sex": sex, "age": np.clip(age, 0, 99).astype(float), "pay": pay}


def truths(data: dict[str, np.ndarray]) -> dict[str, object]:
    sex, age, pay = data["sex"], data["age"], data["pay"]
    return {
        "SELECT SUM(age) FROM t": age.sum(),
        "SELECT AVG(age) FROM t": age.mean(),
        "SELECT AVG(pay) FROM t WHERE sex = 'F'": pay[sex == "F"].mean(),
        "SELECT sex, AVG(pay) FROM t GROUP BY sex": [pay[sex == s].mean() for s in "FM"],
        "SELECT AVG(age) FROM t WHERE age >= 25 AND age < 75": age[(age >= 25) & (age < 75)].mean(),
        "SELECT AVG(pay - age) FROM t": (pay - age).mean(),
        "SELECT SUM(pay) / SUM(age) FROM t": pay.sum() / age.sum(),
        "SELECT AVG(pay) FROM t WHERE age < 50 AND sex = 'M'": pay[(age < 50) & (sex == "M")].mean(),
    }


def curator(
    domain: hr.Domain, data: dict[str, np.ndarray], seed: int = 5, epsilon: float = 4.0
) -> hr.Curator:
    entropy = hr.testing.seeded(seed)
    return hr.Curator(
        hr.Table.open(data, domain), hr.Budget(epsilon=epsilon, delta=1e-6), ":memory:", entropy=entropy
    )


@pytest.mark.parametrize("domain", [STEPPED, PLAIN], ids=["step", "no step"])
def test_every_door_covers_the_truth_of_the_rows_and_not_of_the_middles_of_bins(domain):
    data = frame()
    doors = {
        "adaptive": hr.AdaptiveRelease(epsilon=1)
        .release(curator(domain, data), hr.marginals(domain, 2))
        .answer,
        "session": hr.Session(epsilon=1).open(curator(domain, data)).ask,
        "gaussian": hr.GaussianBaseline(epsilon=1)
        .release(curator(domain, data), hr.marginals(domain, 3))
        .answer,
        "histogram": hr.HistogramRelease(epsilon=1).release(curator(domain, data)).answer,
        "measured": lambda text: curator(domain, data).measure(text, 1.0).reply(0.95),
    }
    for name, ask in doors.items():
        for text, want in truths(data).items():
            got = ask(text)
            off = np.abs(np.ravel(got.value) - np.ravel(want))
            assert (off <= np.ravel(got.error)).all(), (name, text, got.value, got.error, want)


def test_middles_of_bins_alone_would_not_be_covered():
    """The rows of this test are those on which a confident error of midpoints is wrong."""
    data = frame()
    question = hr.sql(PLAIN, "SELECT AVG(age) FROM t")
    counts = np.bincount(PLAIN["age"].encode(data["age"]), minlength=4)
    middles = question.evaluate(lambda s: counts if s else counts.sum()).value
    assert abs(middles - data["age"].mean()) > 5


def test_with_a_step_releases_know_what_is_within_bins_and_without_they_say_so():
    data = frame()
    errors = {}
    for name, domain in (("step", STEPPED), ("no step", PLAIN)):
        synopsis = hr.AdaptiveRelease(epsilon=1).release(curator(domain, data), hr.marginals(domain, 2))
        errors[name] = synopsis.answer("SELECT AVG(age) FROM t").error
        assert (synopsis.within is None) == (name == "no step")
    assert errors["step"] < 2 < 10 < errors["no step"]


def test_a_synopsis_keeps_what_is_within_bins_in_its_file_and_a_session_in_its_snapshot(tmp_path):
    data = frame()
    synopsis = hr.AdaptiveRelease(epsilon=1).release(curator(STEPPED, data), hr.marginals(STEPPED, 2))
    synopsis.save(tmp_path / "a.hedgerow")
    again = hr.Synopsis.load(tmp_path / "a.hedgerow")
    for text in truths(data):
        one, two = synopsis.answer(text), again.answer(text)
        np.testing.assert_array_equal(one.value, two.value)
        np.testing.assert_array_equal(one.error, two.error)


def test_a_schema_without_a_step_is_released_as_before():
    assert share_of_moments(PLAIN) == 0
    assert 0 < share_of_moments(STEPPED) <= Fraction(3, 20)
    assert share_of_moments(hr.Domain({"hour": hr.bins(0, 24, 1, step=1)})) == 0  # bins of one value
    assert share_of_moments(hr.Domain({"n": hr.bins(0, 100, 10, step=1)})) == pytest.approx(0.148, abs=0.001)


def test_moments_without_noise_give_sums_by_one_attribute_exactly():
    data = frame()
    rows = Rows(hr.Table.open(data, STEPPED), bytes(32))
    moments = BinMoments(STEPPED, RemainderSums(STEPPED).exact(rows), hr.Noise("none", 0))

    def table(names):
        return rows.tables([names])[names].astype(float)

    def linear(names, weights, confidence, numbers):
        return float((table(names) * weights).sum()), 0.0

    for text in list(truths(data))[:6]:
        got = hr.sql(STEPPED, text).answer(linear, within=WithinBins(moments, table))
        np.testing.assert_allclose(np.ravel(got.value), np.ravel(truths(data)[text]), rtol=1e-9)
        assert np.max(got.error) < 1e-6


def test_noise_larger_than_bins_does_not_make_a_coarse_group_wider_than_its_parts():
    """Remainders that noise drowned say less than the schema: then bars are those of half bins."""
    domain = hr.Domain({"sex": 2, "k": 3, "x": hr.Bins([0, 100, 200], step=1)})
    counts = np.full((2, 3, 3), 50.0)
    counts[..., 2] = 0.0  # nobody's is missing
    far = 10**7  # half-steps, where all rows together reach 6 x 10^4
    sums = np.concatenate([[0.9 * far, -0.9 * far], [300.0] * 6]).astype(np.int64)
    moments = BinMoments(domain, sums, hr.Noise("gaussian", far))

    def table(names: tuple[str, ...]) -> np.ndarray:
        return counts.sum(axis=tuple(i for i, a in enumerate(domain) if a not in names))

    def linear(names, weights, confidence, numbers):
        return float((table(names) * weights).sum()), 0.0

    wide = {}
    for by in ("sex", "sex, k"):
        text = f"SELECT {by}, AVG(x) FROM t GROUP BY {by}"
        wide[by] = np.ravel(hr.sql(domain, text).answer(linear, within=WithinBins(moments, table)).error)
    np.testing.assert_allclose(wide["sex"], 49.5)
    assert wide["sex"].max() <= wide["sex, k"].min() * (1 + 1e-9)


def test_an_average_of_all_rows_takes_counts_and_the_sum_of_its_range_by_least_squares():
    """Both say about as much here: together they are nearer than counts alone, and the bars say so."""
    domain = hr.Domain({"x": hr.bins(0, 100, 10, step=1)})
    rng = np.random.default_rng(7)
    x = rng.integers(0, 100, 4000)
    rows = Rows(hr.Table.open({"x": x}, domain), bytes(32))
    exact = RemainderSums(domain, total=True, ranged=True).exact(rows)
    sigma = 2 * 8_000 * scales(domain)["x"][1]
    counts = np.bincount(x // 10, minlength=11).astype(float)
    off = {True: [], False: []}
    bars = {True: [], False: []}
    for _ in range(200):
        noisy = counts + np.append(rng.normal(0, 100, 10), 0.0)
        told = exact + np.round(rng.normal(0, sigma, exact.size)).astype(np.int64)
        for ranged in (True, False):
            moments = BinMoments(domain, told, hr.Noise("gaussian", sigma), ranged=True)
            if not ranged:
                moments.__dict__["ranges"] = {}

            def linear(names, weights, confidence, numbers, noisy=noisy):
                z = {1: 1.96, 2: 2.2414}[numbers]
                value, spread = (
                    float((noisy * weights).sum()),
                    100 * float(np.sqrt((weights[:10] ** 2).sum())),
                )
                return (value, z * spread) if names else (float(noisy.sum()), z * 100 * 10**0.5)

            within = WithinBins(moments, lambda names, noisy=noisy: noisy if names else noisy.sum())
            got = hr.sql(domain, "SELECT AVG(x) FROM t").answer(linear, within=within)
            off[ranged].append(abs(float(got.value) - x.mean()))
            bars[ranged].append(float(got.error))
    assert np.mean(np.square(off[True])) < np.mean(np.square(off[False]))
    assert np.mean(bars[True]) < np.mean(bars[False])
    assert np.mean(np.array(off[True]) <= np.array(bars[True])) >= 0.9  # seeded: of 200 at 95% and more


def test_the_error_of_a_session_within_an_accuracy_is_about_the_rows_own_numbers():
    data = frame()
    session = hr.Session(epsilon=1).open(curator(STEPPED, data, epsilon=400.0))
    for text, want in list(truths(data).items())[:4]:
        got = session.ask(text, within=0.0002)  # closer than what was learned
        assert got.source in ("certified", "measured")
        assert (np.abs(np.ravel(got.value) - np.ravel(want)) <= np.ravel(got.error)).all(), text


def test_online_sums_are_of_middles_and_their_errors_allow_for_the_bins():
    data = frame()
    online = hr.OnlineMW(updates=3, epsilon=1).open(curator(STEPPED, data))
    got = online.ask("SELECT SUM(age) FROM t")
    assert abs(got.value - data["age"].sum()) <= got.error
    assert got.error >= 12 * ROWS * 0.9


# -- quantiles ----------------------------------------------------------------------------------------------


def test_quantiles_lie_where_the_band_of_counts_lets_them():
    values = np.sort(np.random.default_rng(5).integers(0, 40, 301))
    counts = np.array([(values < edge).sum() for edge in (10, 20, 30, 40)], dtype=float)
    for q in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        for off in (0.0, 15.0):
            asked = QuantileOf(q, (0, 1, 2, 3), (0, 10, 20, 30), (9, 19, 29, 39))
            for shift in (-off, 0.0, off):
                noisy = counts + shift * np.array([1, -1, 1, -1])
                (value,), (error,) = asked.read(noisy[:, None], np.full((4, 1), off))
                assert abs(value - np.quantile(values, q)) <= error
                assert error <= 20 + (off > 0) * 20


def test_the_least_and_the_largest_lie_between_a_declared_end_and_a_bin_with_rows():
    counts, errors = np.array([[1.0], [40.0], [90.0], [92.0]]), np.full((4, 1), 10.0)
    ends = (0, 10, 20, 30), (9, 19, 29, 39)
    (low,), (off,) = QuantileOf(0.0, (0, 1, 2, 3), *ends).read(counts, errors)
    assert low - off <= 0
    assert low + off >= 19
    (high,), (off,) = QuantileOf(1.0, (0, 1, 2, 3), *ends).read(counts, errors)
    assert high + off >= 39
    assert high - off <= 20


@pytest.mark.parametrize("domain", [STEPPED, PLAIN], ids=["step", "no step"])
def test_medians_are_within_their_bars_and_within_a_bin_and_sessions_agree_with_sql(domain):
    data = frame()
    released = hr.AdaptiveRelease(epsilon=1).release(curator(domain, data), hr.marginals(domain, 2))
    session = hr.Session(epsilon=1).open(curator(domain, data))
    for name, width in (("age", 25), ("pay", 40)):
        for part in (0.5, 0.9):
            text = f"SELECT PERCENTILE_CONT({part}) WITHIN GROUP (ORDER BY {name}) FROM t WHERE sex = 'F'"
            want = np.quantile(data[name][data["sex"] == "F"], part)
            own = session.quantile(name, part, where={"sex": "F"})
            assert own.value == session.ask(text).value
            for got in (released.answer(text), session.ask(text)):
                assert abs(got.value - want) <= got.error
            if part == 0.5:
                assert (
                    abs(released.answer(f"SELECT MEDIAN({name}) FROM t").value - np.median(data[name]))
                    <= width
                )


def test_a_percentile_that_makes_no_sense_is_refused():
    for text in (
        "SELECT MEDIAN(sex) FROM t",
        "SELECT PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY age) FROM t",
        "SELECT MEDIAN(age + 1) FROM t",
    ):
        with pytest.raises(hr.errors.HedgerowError):
            hr.sql(STEPPED, text)
    with pytest.raises(hr.errors.HedgerowError, match="one for each group"):
        curator(STEPPED, frame()).sparse_vector(5, 1).ask_all("SELECT MEDIAN(age) FROM t")


@pytest.mark.parametrize("total", [False, True])
def test_remainders_that_a_ledger_of_before_has_are_taken_as_they_are(tmp_path, monkeypatch, total):
    from hedgerow.mechanisms import moments
    from hedgerow.mechanisms.session import prime

    data, budget = frame(), hr.Budget(epsilon=4, delta=1e-6)

    def said() -> tuple[float, float, object]:
        table = hr.Table.open(data, STEPPED)
        mine = hr.Curator(table, budget, tmp_path / "rows.db")
        session = hr.Session(epsilon=1, name="old").open(mine)
        released = hr.AdaptiveRelease(epsilon=1, run="old too").release(mine, hr.marginals(STEPPED, 1))
        text = next(iter(truths(data)))
        told = session.ask(text).value, released.answer(text).value, mine.spent
        mine.ledger.close()
        return told

    with monkeypatch.context() as before:
        for place in (moments, prime):
            before.setattr(
                place,
                "as_begun",
                lambda measure, domain: (measure(RemainderSums(domain, total=total)), False),
            )
            before.setattr(place, "measured_tails", lambda curator, price, *_: (None, price))
        first = said()
    assert said() == first


PAY = hr.Bins([0, 10, 20, 50, 100, 200, 500, 1000, 5000], step=1)
TAILED = hr.Domain({"sex": ["F", "M"], "town": 12, "month": 12, "pay": PAY})


def tailed(rows: int = 20_000) -> dict[str, object]:
    rng = np.random.default_rng(11)
    levels = {name: rng.integers(0, 12, rows) for name in ("town", "month")}
    pay = np.clip(rng.lognormal(4, 1.1, rows), 0, 4999).round()
    return {"sex": rng.choice(["F", "M"], rows), "pay": pay} | levels


def test_an_average_of_a_long_tail_has_a_sum_of_its_own_at_every_door(monkeypatch):
    from hedgerow.mechanisms import moments
    from hedgerow.mechanisms.session import prime

    data, text = tailed(), "SELECT AVG(pay) FROM t"
    truth, bars = data["pay"].mean(), {}
    for own in (True, False):
        if not own:
            for place in (moments, prime):
                monkeypatch.setattr(place, "measured_tails", lambda curator, price, *_: (None, price))
        with hr.testing.seeded(3):
            released = hr.AdaptiveRelease(epsilon=1).release(curator(TAILED, data), hr.marginals(TAILED, 2))
            session = hr.Session(epsilon=1).open(curator(TAILED, data))
        for door, said in (("query", released.answer(text)), ("ask", session.ask(text))):
            assert abs(said.value - truth) <= 2 * said.error
            bars[door, own] = float(said.error)
    assert bars["query", True] < 0.9 * bars["query", False]
    assert bars["ask", True] < 0.8 * bars["ask", False]


@pytest.mark.parametrize("before_that", range(2))
@pytest.mark.parametrize("kind", ["release", "session"])
def test_a_run_whose_sums_of_long_tails_had_less_goes_on_with_that_and_pays_once(
    tmp_path, monkeypatch, kind, before_that
):
    from hedgerow.mechanisms import moments

    data, text = tailed(2_000), "SELECT AVG(pay) FROM t"
    table, budget = hr.Table.open(data, TAILED), hr.Budget(epsilon=2, delta=1e-6)
    mine = hr.Curator(table, budget, tmp_path / "rows.db")

    def said() -> tuple[float, object]:
        if kind == "session":
            return hr.Session(epsilon=1, name="old").open(mine).ask(text).value, mine.spent
        made = hr.AdaptiveRelease(epsilon=1, run="old").release(mine, hr.marginals(TAILED, 1))
        return made.answer(text).value, mine.spent

    with monkeypatch.context() as before:
        before.setattr(moments, "OWN", moments.BEFORE[before_that])
        first = said()
    assert said() == first
    other = hr.Curator(table, budget, tmp_path / "other.db")
    hr.AdaptiveRelease(epsilon=1, run="new").release(other, hr.marginals(TAILED, 1))
    noise = [next(m for m in c.ledger.replay(None) if m.note.endswith("long tails")) for c in (mine, other)]
    assert noise[1].cost.amount > noise[0].cost.amount


def test_a_session_adds_up_numbers_by_all_tables_of_them_and_its_bars_are_those_of_their_noise():
    """The squares of 40 sums by their deviations add up to chi-squared: 10.2 to 99.9 but for 1e-6."""
    data = tailed(20_000)
    middles = np.array(TAILED["pay"].lattice.middles)
    weights = np.append(middles, np.zeros(TAILED["pay"].size - len(middles)))
    weights = weights / weights.max()
    truth = float(np.bincount(TAILED.encode(data)["pay"], minlength=len(weights)) @ weights)
    squares, narrower = [], []
    for seed in range(40):
        belief = hr.Session(epsilon=1).open(curator(TAILED, data, seed))._core.belief
        value, bar = belief.linear(("pay",), weights, 0.95)
        squares.append(((value - truth) / (bar / 1.959964)) ** 2)
        alone = next(m for m in belief._behind[1] if m.attributes == ("pay",))
        narrower.append(belief.known["pay"].variance / alone.noise.variance)
        arrays: dict = {}
        again = type(belief).unpack(TAILED, belief.pack(arrays), arrays)
        assert again.linear(("pay",), weights, 0.95) == (value, bar)
    assert 10.2 < sum(squares) < 99.9
    assert max(narrower) < 0.8


def test_a_sessions_averages_of_all_rows_and_of_some_bins_have_bars_of_what_they_are_made_of():
    """The squares of 40 averages by their deviations add up to chi-squared: at most 99.9 but for 1e-6."""
    domain = hr.Domain({"month": hr.bins(1, 13, 1, step=1), "town": 8, "sex": 2})
    rng = np.random.default_rng(4)
    data = {"month": rng.integers(1, 13, 20_000), "town": rng.integers(0, 8, 20_000)}
    data["sex"] = rng.integers(0, 2, 20_000)
    some = (data["month"] >= 3) & (data["month"] <= 6)
    truth = {"": data["month"].mean(), " WHERE month BETWEEN 3 AND 6": data["month"][some].mean()}
    squares = dict.fromkeys(truth, 0.0)
    for seed in range(40):
        session = hr.Session(epsilon=1).open(curator(domain, data, seed))
        for where, true in truth.items():
            answer = session.ask(f"SELECT AVG(month) FROM t{where}")
            squares[where] += float((answer.value - true) / (answer.error / 1.959964)) ** 2
    assert max(squares.values()) < 99.9


def test_sums_of_long_tails_are_charged_within_the_price_and_kept_in_files(tmp_path):
    data = tailed(2_000)
    mine = hr.Curator(hr.Table.open(data, TAILED), hr.Budget(epsilon=2, delta=1e-6), tmp_path / "rows.db")
    synopsis = hr.AdaptiveRelease(epsilon=1, run="a").release(mine, hr.marginals(TAILED, 1))
    assert mine.spent.epsilon <= 1
    synopsis.save(tmp_path / "a.hedgerow")
    again, text = hr.Synopsis.load(tmp_path / "a.hedgerow"), "SELECT SUM(pay), AVG(pay) FROM t"
    np.testing.assert_array_equal(synopsis.answer(text).error, again.answer(text).error)
    twice = hr.AdaptiveRelease(epsilon=1, run="a").release(mine, hr.marginals(TAILED, 1))
    np.testing.assert_array_equal(synopsis.answer(text).value, twice.answer(text).value)
