"""The loops of the factored hypothesis: elimination, belief propagation, carried tables, rows.

Cliques are stored one after another in flat arrays, parents before children; an index map says for every
cell of a clique which cell of a smaller table it belongs to.
"""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import njit

MIN_WEIGHT, MIN_FILL = 0, 1
_TINY = 1e-140  # smaller weights are none: subnormal numbers are a hundred times slower
_SAFE = 1e-90  # where the largest weight is above this, what was taken as none is less than 1e-40 of it
_FLOOR = -300.0  # potentials this far below their largest are taken as exp(-300): never exactly zero


@njit(cache=True, nogil=True)
def _weight(row, node, words, sizes, owner):
    """Cells of the clique of a node and its neighbours: per attribute only the finest node counts."""
    weight, last = 1.0, -1
    for w in range(words):
        bits = row[w]
        if node >> 6 == w:
            bits |= np.uint64(1) << np.uint64(node & 63)
        while bits:
            low = bits & (~bits + np.uint64(1))
            place = w * 64
            probe = low
            while probe > np.uint64(1):
                if probe >= np.uint64(1) << np.uint64(16):
                    probe >>= np.uint64(16)
                    place += 16
                elif probe >= np.uint64(1) << np.uint64(4):
                    probe >>= np.uint64(4)
                    place += 4
                else:
                    probe >>= np.uint64(1)
                    place += 1
            if owner[place] != last:
                last = owner[place]
                weight *= sizes[place]
            bits ^= low
    return weight


@njit(cache=True, nogil=True)
def _missing(adjacent, node, words, n):
    """How many pairs of a node's neighbours are not joined yet."""
    missing = 0
    for u in range(n):
        if (adjacent[node, u >> 6] >> np.uint64(u & 63)) & np.uint64(1):
            for w in range(words):
                bits = adjacent[node, w] & ~adjacent[u, w]
                while bits:
                    bits &= bits - np.uint64(1)
                    missing += 1
            missing -= 1  # u is not its own neighbour
    return missing


@njit(cache=True, nogil=True)
def eliminate(adjacent, active, sizes, owner, rule, cap):
    """Eliminate all active nodes, the cheapest first; returns (order, cliques, cells), cells inf above cap.

    `adjacent` is changed. Row i of `cliques` is the bitset of the i-th eliminated node and its neighbours.
    """
    n, words = adjacent.shape
    order = np.empty(n, np.int64)
    cliques = np.zeros((n, words), np.uint64)
    left = active.copy()
    cost = np.full(n, np.inf)
    for v in range(n):
        if left[v]:
            cost[v] = _weight(adjacent[v], v, words, sizes, owner)
            if rule == MIN_FILL:
                cost[v] = _missing(adjacent, v, words, n) + 1e-9 * min(cost[v], 1e8)
    done, cells = 0, 0.0
    for _ in range(n):
        best, least = -1, np.inf
        for v in range(n):
            if left[v] and cost[v] < least:
                best, least = v, cost[v]
        if best < 0:
            break
        for w in range(words):
            cliques[done, w] = adjacent[best, w]
        cliques[done, best >> 6] |= np.uint64(1) << np.uint64(best & 63)
        inside = False
        for c in range(done):
            if (cliques[c, best >> 6] >> np.uint64(best & 63)) & np.uint64(1):
                held = True
                for w in range(words):
                    if cliques[done, w] & ~cliques[c, w]:
                        held = False
                        break
                if held:
                    inside = True
                    break
        if not inside:
            cells += _weight(adjacent[best], best, words, sizes, owner)
            if cells > cap:
                return order[:done], cliques[:done], np.inf
        order[done] = best
        done += 1
        left[best] = False
        for u in range(n):  # join the neighbours and forget the node
            if (adjacent[best, u >> 6] >> np.uint64(u & 63)) & np.uint64(1):
                for w in range(words):
                    adjacent[u, w] |= adjacent[best, w]
                adjacent[u, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
                adjacent[u, best >> 6] &= ~(np.uint64(1) << np.uint64(best & 63))
        for u in range(n):
            if (adjacent[best, u >> 6] >> np.uint64(u & 63)) & np.uint64(1):
                cost[u] = _weight(adjacent[u], u, words, sizes, owner)
                if rule == MIN_FILL:
                    cost[u] = _missing(adjacent, u, words, n) + 1e-9 * min(cost[u], 1e8)
    return order[:done], cliques[:done], cells


@njit(cache=True, nogil=True)
def exponentials(theta, tables, out):
    """exp of every potential, each table scaled so that its largest is 1; returns the sum of the logs."""
    scale = 0.0
    for t in range(len(tables) - 1):
        most = -np.inf
        for i in range(tables[t], tables[t + 1]):
            most = max(most, theta[i])
        scale += most
        for i in range(tables[t], tables[t + 1]):
            out[i] = np.exp(max(theta[i] - most, _FLOOR))
    return scale


@njit(cache=True, nogil=True)
def calibrate(
    factors,
    base,
    cells,
    parent,
    clique_tables,
    table_maps,
    table_at,
    maps,
    up_map,
    down_map,
    seps,
    beliefs,
    sep_beliefs,
):
    """Belief propagation, collect and distribute; every clique's and separator's probabilities.

    Args:
        factors: the potentials' exponentials, flat.
        base: a fixed weight for every clique cell (zeros: impossible), or empty.
        cells, seps: where each clique's and each separator's cells begin.
        parent: of each clique, -1 for a root; a parent comes first.
        clique_tables: where each clique's list of tables begins; table_maps, table_at: their maps and cells.
        maps: all index maps; up_map, down_map: where a separator's maps from child and from parent begin.
    Returns the logarithm of the normaliser; nan when no cell has a weight that floats can hold.
    """
    cliques = len(parent)
    log_sum = 0.0
    for k in range(cliques):
        for i in range(cells[k], cells[k + 1]):
            beliefs[i] = 1.0 if len(base) == 0 else base[i]
        for f in range(clique_tables[k], clique_tables[k + 1]):
            at, shift = table_at[f], table_maps[f]
            start = cells[k]
            for i in range(cells[k + 1] - start):
                weight = beliefs[start + i] * factors[at + maps[shift + i]]
                beliefs[start + i] = weight if weight > _TINY else 0.0
    for k in range(cliques - 1, -1, -1):
        start, size = cells[k], cells[k + 1] - cells[k]
        if parent[k] < 0:
            total = 0.0
            for i in range(start, start + size):
                total += beliefs[i]
            if not total > _SAFE or not np.isfinite(total):
                return np.nan
            log_sum += np.log(total)
            for i in range(start, start + size):
                beliefs[i] /= total
            continue
        message = sep_beliefs[seps[k] : seps[k + 1]]
        message[:] = 0.0
        shift = up_map[k]
        for i in range(size):
            message[maps[shift + i]] += beliefs[start + i]
        most = message.max()
        if not most > _SAFE or not np.isfinite(most):
            return np.nan
        log_sum += np.log(most)
        for s in range(len(message)):
            message[s] /= most
        for i in range(start, start + size):
            beliefs[i] /= most
        up, shift = cells[parent[k]], down_map[k]
        for i in range(cells[parent[k] + 1] - up):
            weight = beliefs[up + i] * message[maps[shift + i]]
            beliefs[up + i] = weight if weight > _TINY else 0.0
    for k in range(cliques):
        if parent[k] < 0:
            continue
        message = sep_beliefs[seps[k] : seps[k + 1]]
        ratio = np.zeros(len(message))
        up, shift = cells[parent[k]], down_map[k]
        for i in range(cells[parent[k] + 1] - up):
            ratio[maps[shift + i]] += beliefs[up + i]
        for s in range(len(message)):
            mass = ratio[s]
            ratio[s] = mass / message[s] if message[s] > 0.0 else 0.0
            message[s] = mass
        start, shift = cells[k], up_map[k]
        for i in range(cells[k + 1] - start):
            weight = beliefs[start + i] * ratio[maps[shift + i]]
            beliefs[start + i] = weight if weight > _TINY else 0.0
    return log_sum


@njit(cache=True, nogil=True)
def project(beliefs, cells, clique_tables, table_maps, table_at, maps, out):
    """The probabilities of every attached table."""
    out[:] = 0.0
    for k in range(len(cells) - 1):
        start = cells[k]
        for f in range(clique_tables[k], clique_tables[k + 1]):
            at, shift = table_at[f], table_maps[f]
            for i in range(cells[k + 1] - start):
                out[at + maps[shift + i]] += beliefs[start + i]


@njit(cache=True, nogil=True)
def carry(weights, given, source, target, carried, at, out):
    """out[target, at:] += P(cell) / P(source) * carried[source]: a table carried across a clique."""
    width = carried.shape[1]
    for i in range(len(weights)):
        if weights[i] > 0.0:
            over = given[source[i]]
            if over <= 0.0:  # so little that it is no number: nothing is carried
                continue
            share = weights[i] / over
            row, to = carried[source[i]], out[target[i], at : at + width]
            for j in range(width):
                to[j] += share * row[j]


@njit(cache=True, nogil=True)
def place(weights, source, target, at, out):
    """out[source, at + target] += P(cell)."""
    for i in range(len(weights)):
        out[source[i], at + target[i]] += weights[i]


@njit(cache=True, nogil=True)
def merge(weights, given, sources, offsets, target, first, second, out):
    """out[target, a, b] += P(cell) / prod P(source) * first[., a] * second[., b] for two carried tables."""
    na, nb = first.shape[1], second.shape[1]
    for i in range(len(weights)):
        if weights[i] > 0.0:
            s, t = sources[0, i], sources[1, i]
            over = given[s] * given[offsets + t]
            if over <= 0.0:  # a product of two that are next to nothing is no number
                continue
            share = weights[i] / over
            to, row = out[target[i]], second[t]
            for a in range(na):
                here = share * first[s, a]
                if here > 0.0:
                    for b in range(nb):
                        to[a * nb + b] += here * row[b]


@njit(cache=True, nogil=True)
def draw_cells(beliefs, groups, cell_order, group_start, keys, starts, phase, seed, out):
    """A clique cell for every row, given its separator cell: systematic rounding, shuffled within groups.

    Rows of one group get cells in proportion to the beliefs, each cell's number rounded up or down by one
    uniform phase per group; which row gets which is a random permutation, so that cliques that hang on the
    same separator stay independent given it.
    """
    state = np.uint64(seed)
    rows = np.empty(len(keys), np.int64)
    place = starts.copy()
    for r in range(len(keys)):
        rows[place[keys[r]]] = r
        place[keys[r]] += 1
    for g in range(groups):
        first, size = starts[g], starts[g + 1] - starts[g]
        if size == 0:
            continue
        for i in range(size - 1, 0, -1):  # Fisher-Yates with splitmix64
            state += np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            j = int((z >> np.uint64(32)) * np.uint64(i + 1) >> np.uint64(32))
            rows[first + i], rows[first + j] = rows[first + j], rows[first + i]
        mass = 0.0
        for c in range(group_start[g], group_start[g + 1]):
            mass += beliefs[cell_order[c]]
        reached, drawn, last = 0.0, 0, cell_order[group_start[g]]
        for c in range(group_start[g], group_start[g + 1]):
            cell = cell_order[c]
            if beliefs[cell] > 0.0:
                last = cell
                reached += beliefs[cell]
                while drawn < size and (drawn + phase[g]) * mass < reached * size:
                    out[rows[first + drawn]] = cell
                    drawn += 1
        while drawn < size:  # rounding of the last sum
            out[rows[first + drawn]] = last
            drawn += 1


@njit(cache=True, nogil=True)
def _chain_in(adjacent, active, owner, node):
    """Bring a node into its attribute's chain, between its neighbours there that are in use."""
    if active[node]:
        return
    active[node] = True
    for step in (-1, 1):
        other = node + step
        while 0 <= other < len(owner) and owner[other] == owner[node]:
            if active[other]:
                adjacent[node, other >> 6] |= np.uint64(1) << np.uint64(other & 63)
                adjacent[other, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
                break
            other += step


@njit(cache=True, nogil=True)
def join(adjacent, active, owner, nodes):
    """Bring nodes into use and join them; -1 ends the list."""
    for u in nodes:
        if u >= 0:
            _chain_in(adjacent, active, owner, u)
    for u in nodes:
        for v in nodes:
            if u >= 0 and v >= 0 and u != v:
                adjacent[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@njit(cache=True, nogil=True)
def costs(adjacent, active, sizes, owner, candidates, cap, out):
    """Cells of the tree with each of several tables added alone."""
    for c in range(len(candidates)):
        trial, used = adjacent.copy(), active.copy()
        join(trial, used, owner, candidates[c])
        out[c] = eliminate(trial, used, sizes, owner, MIN_WEIGHT, cap)[2]


@njit(cache=True, nogil=True)
def dot(x, y):
    """The inner product, on one core: threads cost more than they bring at these sizes."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def add_scaled(x, factor, y):
    """x += factor * y."""
    for i in range(len(x)):
        x[i] += factor * y[i]
