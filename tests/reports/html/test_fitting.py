"""What is left out where there is too much."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.page import LIMIT, Fitting, Size

SIZES = st.builds(
    Size,
    row=st.integers(1, 2000),
    brief=st.integers(0, 50_000),
    tasks=st.integers(50_000, 1_500_000),
)
ROOM = 900_000  # bytes for what is said of benchmarks


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.tuples(SIZES, st.integers(1, 400_000)), max_size=60))
def test_it_stays_below_the_limit_and_counts_what_is_left_out(sizes):
    named = [(str(i), size) for i, (size, _) in enumerate(sizes)]
    found = Fitting.of(named, lambda name: bytes(sizes[int(name)][1]))
    of = dict(named)
    taken = sum(of[name].row for name in found.rows)
    taken += sum(map(len, found.about.values()))
    taken += sum(getattr(of[name], kind) for name, kind in found.tasks.items())
    assert taken <= LIMIT
    assert found.tasks.keys() <= found.about.keys() <= found.rows
    assert found.left_out["rows"] == len(sizes) - len(found.rows)
    assert found.left_out["about"] == len(found.rows) - len(found.about)
    listed = [name for name in found.about if of[name].brief]
    assert found.left_out["tasks"] == len(listed) - len(found.tasks)


def test_the_most_telling_comes_first():
    sizes = [(name, Size(100, 5000, 1_400_000)) for name in ("fails", "warns", "passes")]
    found = Fitting.of(sizes, lambda _: bytes(1000))
    assert found.tasks == {"fails": "tasks", "warns": "brief", "passes": "brief"}
    assert found.left_out == {"rows": 0, "about": 0, "tasks": 0, "brief": 2}


def test_everything_fits_where_there_is_little():
    sizes = [("one", Size(100, 500, 10_000)), ("none", Size(10, 0, 0))]
    found = Fitting.of(sizes, str.encode)
    assert found.about == {"one": b"one", "none": b"none"}
    assert found.tasks == {"one": "tasks"}
    assert not any(found.left_out.values())


def test_no_more_is_made_than_may_fit():
    made: list[str] = []

    def about(name: str) -> bytes:
        made.append(name)
        return bytes(2_000_000 if name == "3" else 3000)

    sizes = [(str(i), Size(10, 100, 100)) for i in range(1000)]
    found = Fitting.of(sizes, about)
    assert "3" not in found.about  # a giant keeps nobody out
    assert 0.98 * ROOM < sum(map(len, found.about.values())) <= ROOM
    assert len(made) == len(found.about) + 1
    assert found.left_out["about"] == 1000 - len(found.about)
