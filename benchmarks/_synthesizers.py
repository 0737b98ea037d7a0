"""A published synthesizer on one data set, run by an interpreter that has `smartnoise-synth`.

`python benchmarks/_synthesizers.py mst in.npz 1.0 1e-9 out.npz`: level codes in, synthetic level codes out,
and the CPU seconds of fitting on standard output. It uses nothing of Hedgerow.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np


class Drawn:
    """A fitted model whose rows are drawn one by one.

    The default of mbi 1.1 rounds counts instead, and makes attributes dependent that are not so in its own
    model: on a star of four binary attributes the model is off by .005 and such rows are by .84.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def synthetic_data(self, rows: int) -> Any:
        """Rows of the model."""
        return self.model.synthetic_data(rows=rows, method="sample")


def main(method: str, source: str, epsilon: str, delta: str, target: str) -> None:
    """Fit and sample as many rows as there were."""
    import pandas as pd
    from snsynth import Synthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    data = np.load(source)
    names = [n for n in data.files if not n.startswith("size:")]
    frame = pd.DataFrame({n: data[n] for n in names})
    steps = []
    for n in names:  # the declared levels, not those that occur: no budget is spent on finding them
        step = LabelTransformer(nullable=False)
        for level in range(int(data[f"size:{n}"])):
            step._fit(level)
        step._fit_finish()
        steps.append(step)
    made = Synthesizer.create(method, epsilon=float(epsilon), delta=float(delta))
    start = time.process_time()
    made.fit(frame, transformer=TableTransformer(steps), preprocessor_eps=0.0)
    seconds = time.process_time() - start
    made.synthesizer = Drawn(made.synthesizer)
    rows = made.sample(len(frame))
    np.savez(target, **{n: np.asarray(rows[n], dtype=np.int64) for n in names})
    sys.stdout.write(f"{seconds}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
