"""What is left out where there is too much."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.page import LIMIT, PagePart, fit

SIZES = st.tuples(
    *(st.integers(1, 2000), st.integers(0, 50_000), st.integers(50_000, 1_500_000)),
    *(st.booleans(), st.integers(1, 400_000)),
)
ROOM = 900_000  # bytes for what is said of benchmarks that pass


class Page:
    """A page whose parts have been fitted to the limit."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.shortened = set()
        self.parts = []
        for i, (row, brief, tasks, fails, _) in enumerate(sizes):
            self.parts.append(PagePart(str(i), bytes(row), brief, tasks, fails=fails))
        self.left_out = fit(self.parts, self.about)
        self.rows = [part for part in self.parts if part.in_overview]
        self.described = [part for part in self.parts if part.about]
        self.whole = [p for p in self.described if p.name not in self.shortened]
        self.listed = [part for part in self.parts if part.listed]

    def about(self, name, *, short=False):
        if short:
            self.shortened.add(name)
            return bytes(1500)
        return bytes(self.sizes[int(name)][-1])


PAGES = st.lists(SIZES, max_size=60).map(Page)


@settings(max_examples=20)
@given(PAGES)
def test_it_stays_below_the_limit(page):
    taken = sum(len(part.row) for part in page.rows)
    taken += sum(len(part.about) for part in page.whole)
    taken += sum(getattr(part, part.listed) for part in page.listed)
    assert taken <= LIMIT + ROOM


@settings(max_examples=20)
@given(PAGES)
def test_every_benchmark_that_fails_is_described(page):
    assert all(part.about for part in page.parts if part.fails)


@settings(max_examples=20)
@given(PAGES)
def test_what_is_described_is_in_the_overview(page):
    assert all(part.in_overview for part in page.described)


@settings(max_examples=20)
@given(PAGES)
def test_tasks_are_listed_of_what_is_described_in_full(page):
    names = {part.name for part in page.whole}
    assert all(part.name in names for part in page.listed)


@settings(max_examples=20)
@given(PAGES)
def test_what_is_left_out_is_counted(page):
    assert page.left_out.rows == len(page.sizes) - len(page.rows)
    assert page.left_out.about == len(page.rows) - len(page.described)
    assert page.left_out.short == len(page.shortened)
    with_tasks = [part for part in page.whole if part.brief]
    assert page.left_out.tasks == len(with_tasks) - len(page.listed)


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
