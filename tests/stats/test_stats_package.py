from __future__ import annotations

import subprocess
import sys

from pytest_evalmetrics import stats


def test_all_is_sorted_and_there() -> None:
    assert stats.__all__ == sorted(stats.__all__)
    assert len(set(stats.__all__)) == len(stats.__all__)
    for name in stats.__all__:
        assert getattr(stats, name).__doc__ or name in {
            "Alternative",
            "Reducer",
            "TaskStatistic",
            "WeightedReducer",
        }


def test_every_public_name_of_its_modules_that_a_gate_needs_is_exported() -> None:
    public = {
        name
        for module in ("bootstrap", "mcnemar", "means", "multiple", "outcome", "paired", "passk")
        for name in getattr(stats, module).__all__
    }
    assert public - {"DRAWS"} <= set(stats.__all__)


def test_scipy_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['statsmodels'] = None\n"
        "from pytest_evalmetrics import stats\n"
        "print(stats.paired_t([0.5, 0.25, 0.0], alternative='greater').p)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(run.stdout) < 1
