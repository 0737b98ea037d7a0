"""Junction trees over (attribute, resolution) nodes give the probabilities that brute force gives."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hedgerow.errors import DomainMismatch, HedgerowError, RangeTooLarge
from hedgerow.learning.factored.belief import Beliefs
from hedgerow.learning.factored.junction_tree import Graph
from hedgerow.learning.factored.pairs import PairWalk
from hedgerow.learning.factored.resolution import Resolutions


def random_resolutions(rng, shape):
    found = Resolutions.full(shape)
    for a, size in enumerate(shape):
        groups = np.arange(size)
        while size > 2 and rng.random() < 0.6:
            new = int(rng.integers(2, size))
            step = np.concatenate([np.arange(new), rng.integers(0, new, size - new)])
            rng.shuffle(step)
            groups, size = step[groups], new
            found = found.with_groups(a, groups)
    return found


def random_nodes(rng, resolutions, size):
    places = rng.choice(len(resolutions.sizes), size, replace=False)
    return tuple((int(a), int(rng.integers(0, len(resolutions.sizes[a])))) for a in sorted(places))


class Model:
    """A random model, and its distribution cell by cell."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 7))
        self.resolutions = random_resolutions(rng, tuple(int(n) for n in rng.integers(2, 6, d)))
        self.everything = tuple((a, 0) for a in range(d))
        tables = [((a, 0),) for a in range(d)]
        tables += [
            random_nodes(rng, self.resolutions, int(rng.integers(1, min(d, 3) + 1)))
            for _ in range(rng.integers(0, 8))
        ]
        graph = Graph(self.resolutions)
        for nodes in tables:
            graph.add(nodes)
        self.tree = graph.tree()
        self.beliefs = Beliefs(self.tree, tables)
        theta = rng.normal(0.0, 2.0, int(self.beliefs.starts[-1]))
        self.normaliser = self.beliefs.calibrate(theta)
        logs = np.zeros(self.resolutions.cells(self.everything))
        for i, nodes in enumerate(tables):
            part = theta[self.beliefs.starts[i] : self.beliefs.starts[i + 1]]
            logs += part[self.resolutions.index_map(self.everything, nodes)]
        self.tables = tables
        self.exact_normaliser = np.log(np.exp(logs).sum())
        self.cells = np.exp(logs - self.exact_normaliser)

    def exact(self, nodes):
        at = self.resolutions.index_map(self.everything, nodes)
        return np.bincount(at, weights=self.cells, minlength=self.resolutions.cells(nodes)).reshape(
            self.resolutions.shape(nodes)
        )


@pytest.fixture(scope="module", params=range(50))
def model(request):
    return Model(request.param)


def test_potentials_tables_and_normaliser_equal_brute_force(model):
    assert model.normaliser == pytest.approx(model.exact_normaliser, abs=1e-9)
    flat = model.beliefs.project()
    for i, nodes in enumerate(model.tables):
        part = flat[model.beliefs.starts[i] : model.beliefs.starts[i + 1]]
        np.testing.assert_allclose(part, model.exact(nodes).ravel(), atol=1e-9)


def test_tables_of_any_nodes_inside_and_across_cliques_equal_brute_force(model):
    d = len(model.resolutions.sizes)
    for size in range(1, d + 1):
        for places in combinations(range(d), size):
            shuffled = list(places)
            model.rng.shuffle(shuffled)
            nodes = tuple((a, int(model.rng.integers(0, len(model.resolutions.sizes[a])))) for a in shuffled)
            np.testing.assert_allclose(model.beliefs.table(nodes), model.exact(nodes), atol=1e-9)


def test_one_walk_finds_all_pairs(model):
    nodes = [(a, int(model.rng.integers(0, len(s)))) for a, s in enumerate(model.resolutions.sizes)]
    found = PairWalk(model.beliefs, nodes).run()
    assert set(found) == set(combinations(nodes, 2))
    for pair, table in found.items():
        np.testing.assert_allclose(table, model.exact(pair), atol=1e-9)


def test_the_tree_has_the_running_intersection_property(model):
    tree = model.tree
    assert tree.parent[0] == -1
    assert all(p < k for k, p in enumerate(tree.parent))
    for node in {n for m in tree.members for n in m}:
        holders = [k for k, m in enumerate(tree.members) if node in m]
        tops = [k for k in holders if tree.parent[k] not in holders]
        assert len(tops) == 1  # the cliques that hold a node are connected


def test_more_attributes_than_a_machine_word_has_bits():
    resolutions = Resolutions.full((2,) * 200)
    graph = Graph(resolutions)
    chain = [((a, 0), (a + 1, 0)) for a in range(199)]
    for nodes in chain:
        graph.add(nodes)
    tree = graph.tree()
    assert tree.cells == 199 * 4
    beliefs = Beliefs(tree, chain)
    beliefs.calibrate(np.tile([0.5, -0.5, -0.5, 0.5], 199))
    correlation = np.tanh(0.5)  # of an Ising chain's neighbours
    ends = beliefs.table(((0, 0), (30, 0)))
    assert ends[0, 0] - ends[0, 1] == pytest.approx(correlation**30 / 2, abs=1e-12)


def test_what_was_in_memory_before_is_in_no_model():
    graph = Graph(Resolutions.full((5, 7)))
    nodes = ((0, 0), (1, 0))
    graph.add(nodes)
    tree = graph.tree()
    for _ in range(20):
        left = [np.full(35, 7.0) for _ in range(50)]
        del left
        beliefs = Beliefs(tree, [nodes])
        assert not beliefs.projected.any()
        assert not beliefs.beliefs.any()


def test_a_coarse_table_does_not_force_fine_ones():
    resolutions = Resolutions.full((100, 100, 100))
    for a in range(3):
        resolutions = resolutions.with_groups(a, np.arange(100) // 50)
    graph = Graph(resolutions)
    for pair in combinations(range(3), 2):
        graph.add(tuple((a, 1) for a in pair))
    assert graph.tree().cells <= 3 * 100 + 8 + 3 * 4
    assert graph.cost(((0, 0), (1, 0)), 1e5) > 1e4
    assert graph.cost(((0, 0), (1, 0)), 5e3) == np.inf


def test_work_beyond_the_limits_is_refused_in_one_sentence():
    graph = Graph(Resolutions.full((300, 2, 300)))
    tables = [((0, 0), (1, 0)), ((1, 0), (2, 0))]
    for nodes in tables:
        graph.add(nodes)
    beliefs = Beliefs(graph.tree(), tables)
    beliefs.calibrate(np.zeros(1200))
    with pytest.raises(RangeTooLarge, match="multiplications"):
        beliefs.table(((0, 0), (2, 0)), work_limit=1000)
    with pytest.raises(RangeTooLarge, match="more than 500 cells"):
        graph.tree(500)
    with pytest.raises(HedgerowError, match="does not fit"):
        Beliefs(graph.tree(), [((0, 0), (2, 0))])


def test_impossible_cells_stay_empty_everywhere():
    graph = Graph(Resolutions.full((3, 3, 2)))
    graph.add(((0, 0), (1, 0)))
    graph.add(((1, 0), (2, 0)))
    possible = np.ones((3, 3), dtype=bool)
    possible[2, 1] = False
    beliefs = Beliefs(graph.tree(), [((1, 0), (2, 0))], [(((0, 0), (1, 0)), possible)])
    assert np.isfinite(beliefs.calibrate(np.linspace(-2, 2, 6)))
    assert beliefs.table(((0, 0), (1, 0)))[2, 1] == 0.0
    assert beliefs.table(((0, 0), (1, 0), (2, 0)))[2, 1].sum() == 0.0
    nothing = Beliefs(graph.tree(), [((1, 0), (2, 0))], [(((0, 0), (1, 0)), np.zeros((3, 3), dtype=bool))])
    assert np.isnan(nothing.calibrate(np.zeros(6)))


def test_potentials_of_any_size_neither_overflow_nor_slow_down():
    graph = Graph(Resolutions.full((4, 4)))
    graph.add(((0, 0), (1, 0)))
    beliefs = Beliefs(graph.tree(), [((0, 0), (1, 0)), ((0, 0),)])
    theta = np.zeros(20)
    theta[:16] = np.linspace(-5000, 5000, 16)
    assert np.isfinite(beliefs.calibrate(theta))
    assert beliefs.table(((0, 0), (1, 0)))[3, 3] == pytest.approx(1.0)


def test_resolutions_must_be_nested():
    with pytest.raises(DomainMismatch, match="groups the groups"):
        Resolutions.full((4,)).with_groups(0, [0, 0, 1, 1]).with_groups(0, [0, 1, 1, 0])
