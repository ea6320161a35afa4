"""What is left out where there is too much."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.fitting import LIMIT, Fitting, Size

SIZES = st.builds(
    Size,
    row=st.integers(1, 2000),
    about=st.integers(1, 400_000),
    brief=st.integers(0, 50_000),
    tasks=st.integers(50_000, 1_500_000),
)


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(SIZES, max_size=60))
def test_it_stays_below_the_limit_and_counts_what_is_left_out(sizes):
    named = [(str(i), size) for i, size in enumerate(sizes)]
    found = Fitting.of(named)
    of = dict(named)
    taken = sum(of[name].row for name in found.rows) + sum(of[name].about for name in found.about)
    taken += sum(getattr(of[name], kind) for name, kind in found.tasks.items())
    assert taken <= LIMIT
    assert found.tasks.keys() <= found.about <= found.rows
    assert found.left_out["rows"] == len(sizes) - len(found.rows)
    assert found.left_out["about"] == len(found.rows) - len(found.about)
    listed = [name for name in found.about if of[name].brief]
    assert found.left_out["tasks"] == len(listed) - len(found.tasks)


def test_the_most_telling_comes_first():
    sizes = [(name, Size(100, 1000, 5000, 1_400_000)) for name in ("fails", "warns", "passes")]
    found = Fitting.of(sizes)
    assert found.tasks == {"fails": "tasks", "warns": "brief", "passes": "brief"}
    assert found.left_out == {"rows": 0, "about": 0, "tasks": 0, "brief": 2}


def test_everything_fits_where_there_is_little():
    found = Fitting.of([("one", Size(100, 1000, 500, 10_000)), ("none", Size(10, 100, 0, 0))])
    assert found.tasks == {"one": "tasks"}
    assert not any(found.left_out.values())
