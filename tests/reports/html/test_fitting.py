"""What is left out where there is too much."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.page import LIMIT, PagePart, fit

SIZES = st.tuples(
    *(st.integers(1, 2000), st.integers(0, 50_000), st.integers(50_000, 1_500_000)),
    *(st.booleans(), st.integers(1, 400_000)),
)
ROOM = 900_000  # bytes for what is said of benchmarks that pass


@settings(max_examples=50)
@given(st.lists(SIZES, max_size=60))
def test_it_stays_below_the_limit_and_counts_what_is_left_out(sizes):
    cut = set()

    def about(name, *, short=False):
        if short:
            cut.add(name)
            return bytes(1500)
        return bytes(sizes[int(name)][-1])

    parts = [
        PagePart(str(i), bytes(row), brief, tasks, fails=fails)
        for i, (row, brief, tasks, fails, _) in enumerate(sizes)
    ]
    left_out = fit(parts, about)
    rows = [part for part in parts if part.in_overview]
    described = [part for part in parts if part.about]
    assert all(part.about for part in parts if part.fails)
    taken = sum(len(part.row) for part in rows)
    taken += sum(len(part.about) for part in described if part.name not in cut)
    taken += sum(getattr(part, part.listed) for part in parts if part.listed)
    assert taken <= LIMIT + ROOM
    assert all(part.about and part.name not in cut for part in parts if part.listed)
    assert all(part.in_overview for part in described)
    assert left_out.rows == len(sizes) - len(rows)
    assert left_out.about == len(rows) - len(described)
    assert left_out.short == len(cut)
    listed = [part for part in described if part.brief and part.name not in cut]
    assert left_out.tasks == len(listed) - sum(bool(part.listed) for part in parts)


def test_no_more_is_rendered_than_may_fit():
    names = []

    def about(name):
        names.append(name)
        return bytes(2_000_000 if name == "3" else 3000)

    parts = [PagePart(str(i), bytes(10), 100, 100) for i in range(1000)]
    left_out = fit(parts, about)
    assert not parts[3].about  # a giant keeps nobody out
    described = [part for part in parts if part.about]
    assert 0.98 * ROOM < sum(len(part.about) for part in described) <= ROOM
    assert len(names) == len(described) + 1
    assert left_out.about == 1000 - len(described)
