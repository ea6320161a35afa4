"""What is left out where there is too much."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.page import LIMIT, Fitting, Size

SIZES = st.builds(
    Size,
    row=st.integers(1, 2000),
    brief=st.integers(0, 50_000),
    tasks=st.integers(50_000, 1_500_000),
    fails=st.booleans(),
)
ROOM = 900_000  # bytes for what is said of benchmarks that pass
SHORT = 1500


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.tuples(SIZES, st.integers(1, 400_000)), max_size=60))
def test_it_stays_below_the_limit_and_counts_what_is_left_out(sizes):
    named = [(str(i), size) for i, (size, _) in enumerate(sizes)]
    cut = set()

    def about(name, *, short=False):
        if short:
            cut.add(name)
            return bytes(SHORT)
        return bytes(sizes[int(name)][1])

    found = Fitting.of(named, about)
    of = dict(named)
    assert {name for name, size in named if size.fails} <= found.about.keys()
    taken = sum(of[name].row for name in found.rows)
    taken += sum(len(text) for name, text in found.about.items() if name not in cut)
    taken += sum(getattr(of[name], kind) for name, kind in found.tasks.items())
    assert taken <= LIMIT + ROOM
    assert found.tasks.keys() <= found.about.keys() - cut
    assert found.about.keys() <= found.rows
    assert found.left_out["rows"] == len(sizes) - len(found.rows)
    assert found.left_out["about"] == len(found.rows) - len(found.about)
    assert found.left_out["short"] == len(cut)
    listed = [name for name in found.about if of[name].brief and name not in cut]
    assert found.left_out["tasks"] == len(listed) - len(found.tasks)


def test_no_more_is_made_than_may_fit():
    made = []

    def about(name):
        made.append(name)
        return bytes(2_000_000 if name == "3" else 3000)

    sizes = [(str(i), Size(10, 100, 100)) for i in range(1000)]
    found = Fitting.of(sizes, about)
    assert "3" not in found.about  # a giant keeps nobody out
    assert 0.98 * ROOM < sum(map(len, found.about.values())) <= ROOM
    assert len(made) == len(found.about) + 1
    assert found.left_out["about"] == 1000 - len(found.about)
