"""Belief propagation in logarithms: slower, for potentials whose products no float can hold."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import njit


@njit(cache=True, nogil=True)
def _gather(logs, start, size, maps, shift, most, out):
    """out[s] = log of the sum of exp(logs) over the cells that belong to s; `most` is room."""
    most[:] = -np.inf
    out[:] = 0.0
    for i in range(size):
        s = maps[shift + i]
        most[s] = max(most[s], logs[start + i])
    for i in range(size):
        s = maps[shift + i]
        if most[s] > -np.inf:
            out[s] += np.exp(logs[start + i] - most[s])
    for s in range(len(out)):
        out[s] = np.log(out[s]) + most[s] if most[s] > -np.inf else -np.inf


@njit(cache=True, nogil=True)
def calibrate_logs(
    theta,
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
    """What `kernels.calibrate` does, from the potentials themselves; the log normaliser or nan."""
    cliques = len(parent)
    log_sum = 0.0
    for k in range(cliques):
        start = cells[k]
        for i in range(start, cells[k + 1]):
            beliefs[i] = 0.0 if len(base) == 0 or base[i] > 0.0 else -np.inf
        for f in range(clique_tables[k], clique_tables[k + 1]):
            at, shift = table_at[f], table_maps[f]
            for i in range(cells[k + 1] - start):
                beliefs[start + i] += theta[at + maps[shift + i]]
    for k in range(cliques - 1, -1, -1):
        start, size = cells[k], cells[k + 1] - cells[k]
        if parent[k] < 0:
            most = beliefs[start : start + size].max()
            if not np.isfinite(most):
                return np.nan
            total = 0.0
            for i in range(start, start + size):
                total += np.exp(beliefs[i] - most)
            log_total = most + np.log(total)
            log_sum += log_total
            for i in range(start, start + size):
                beliefs[i] -= log_total
            continue
        message = sep_beliefs[seps[k] : seps[k + 1]]
        _gather(beliefs, start, size, maps, up_map[k], np.empty(len(message)), message)
        up, shift = cells[parent[k]], down_map[k]
        for i in range(cells[parent[k] + 1] - up):
            beliefs[up + i] += message[maps[shift + i]]
    for k in range(cliques):
        if parent[k] < 0:
            continue
        message = sep_beliefs[seps[k] : seps[k + 1]]
        mass = np.empty(len(message))
        up = cells[parent[k]]
        _gather(beliefs, up, cells[parent[k] + 1] - up, maps, down_map[k], np.empty(len(message)), mass)
        start, shift = cells[k], up_map[k]
        for i in range(cells[k + 1] - start):
            s = maps[shift + i]
            if message[s] > -np.inf:
                beliefs[start + i] += mass[s] - message[s]
        for s in range(len(message)):
            message[s] = np.exp(mass[s])
    for i in range(len(beliefs)):
        beliefs[i] = np.exp(beliefs[i])
    return log_sum
