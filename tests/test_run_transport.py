"""The run's client, journal and budget, and what is said of answers that are moved."""

from contextlib import closing

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.run_transport import (
    ItemRuntime,
    PlanRuntime,
    budget_of,
    close_transport,
    export_asked,
    journal_answer,
    prepare_asked,
)
from pytest_evalmetrics.scoring.door import JournalError, count_answers
from pytest_evalmetrics.scoring.transport.journal_file import (
    JournalFile,
    PaidAnswer,
    create_journal,
)
from pytest_evalmetrics.settings import SHARED_BUDGET

JOURNAL = "answers.log"


@pytest.fixture
def configured(pytester):
    """The configuration of a run whose journal is answers.log."""

    def configure(*arguments, journal=JOURNAL):
        return pytester.parseconfig("--evalmetrics-journal", journal, *arguments)

    return configure


@pytest.fixture
def journal(pytester):
    """A journal with some answers."""

    def write(count, name=JOURNAL):
        path = pytester.path / name
        create_journal(path)
        with closing(JournalFile(path)) as file:
            for number in range(count):
                answer = PaidAnswer(
                    status=200, body="{}", attempts=1, latency_s=0.1, created=1.0
                )
                file.append(bytes([number]) * 20, answer)
        return path

    return write


# -- the command `evalmetrics journal` -------------------------------------------------------


def test_a_journal_that_is_not_there_is_no_error_to_look_at(configured, pytester):
    assert journal_answer(configured(), "show", None, None) == (
        f"{pytester.path / JOURNAL}: there is no journal yet\n"
    )


def test_a_journal_is_shown_with_its_answers_and_its_size(configured, journal):
    path = journal(2)
    assert journal_answer(configured(), "show", None, None) == (
        f"{path}: 2 answers, 0.0 MB\n"
    )


def test_another_journal_may_be_shown(configured, journal, pytester):
    path = journal(1, "other.log")
    other = path.relative_to(pytester.path)
    assert journal_answer(configured(), "show", None, other) == (
        f"{path}: 1 answer, 0.0 MB\n"
    )


def test_a_journal_is_emptied(configured, journal):
    path = journal(3)
    assert journal_answer(configured(), "clear", None, None) == "3 answers dropped\n"
    assert count_answers(path) == 0


def test_answers_are_exported_and_imported(configured, journal, pytester):
    journal(2)
    file = pytester.path / "copy.jsonl"
    assert journal_answer(configured(), "export", file, None) == (
        f"2 answers exported to {file}\n"
    )
    other = configured(journal="other.log")
    assert journal_answer(other, "import", file, None) == (
        f"2 new answers imported from {file}\n"
    )
    assert count_answers(pytester.path / "other.log") == 2


def test_answers_that_are_there_are_not_imported_again(configured, journal, pytester):
    journal(2)
    file = pytester.path / "copy.jsonl"
    journal_answer(configured(), "export", file, None)
    assert journal_answer(configured(), "import", file, None) == (
        f"0 new answers imported from {file}\n"
    )


def test_a_journal_that_is_not_there_can_t_be_exported(configured, pytester):
    with pytest.raises(EvalMetricsError) as refused:
        journal_answer(configured(), "export", pytester.path / "copy.jsonl", None)
    assert str(refused.value) == (
        f"there is no journal yet: {pytester.path / JOURNAL}\n"
        "  it begins with the first answer of a model, a judge or an endpoint"
    )


# -- options of a run ------------------------------------------------------------------------


def test_a_run_without_such_options_moves_no_answer(configured, journal):
    journal(1)
    config = configured()
    assert prepare_asked(config) == []
    assert export_asked(config) == []


def test_a_run_says_how_many_answers_it_dropped(configured, journal):
    path = journal(2)
    lines = prepare_asked(configured("--evalmetrics-journal-clear"))
    assert lines == ["journal: emptied, 2 answers dropped"]
    assert count_answers(path) == 0


def test_a_run_says_how_many_answers_it_exported_and_imported(configured, journal):
    journal(2)
    exports = configured("--evalmetrics-journal-export", "copy.jsonl")
    assert export_asked(exports) == ["journal: 2 answers exported to copy.jsonl"]
    imports = configured(
        "--evalmetrics-journal-import", "copy.jsonl", journal="other.log"
    )
    assert prepare_asked(imports) == [
        "journal: 2 new answers imported from copy.jsonl",
    ]


def test_a_file_that_can_t_be_imported_stops_the_run(configured):
    config = configured("--evalmetrics-journal-import", "gone.jsonl")
    with pytest.raises(pytest.UsageError, match=r"gone\.jsonl"):
        prepare_asked(config)


@pytest.mark.parametrize("name", ["journal.jsonl", "deep/journal.jsonl.gz"])
def test_jobs_share_a_journal_at_a_url(configured, journal, pytester, name):
    pytest.importorskip("fsspec")
    url = f"{pytester.path.as_uri()}/shared/{name}"
    first = configured("-o", f"evalmetrics_journal_path={JOURNAL}", journal=url)
    journal(2)
    assert prepare_asked(first) == [f"journal: 0 new answers from {url}"]
    assert export_asked(first) == [f"journal: 2 answers shared at {url}"]
    second = configured("-o", "evalmetrics_journal_path=other.log", journal=url)
    assert prepare_asked(second) == [f"journal: 2 new answers from {url}"]
    assert count_answers(pytester.path / "other.log") == 2


def test_a_shared_journal_leaves_no_half_of_a_copy(configured, journal, pytester):
    pytest.importorskip("fsspec")
    journal(1)
    url = f"{pytester.path.as_uri()}/shared/journal.jsonl"
    export_asked(configured("-o", f"evalmetrics_journal_path={JOURNAL}", journal=url))
    names = [path.name for path in (pytester.path / "shared").iterdir()]
    assert names == ["journal.jsonl"]


def test_a_url_that_means_nothing_is_refused_with_the_way_out(configured):
    pytest.importorskip("fsspec")
    with pytest.raises(JournalError) as refused:
        export_asked(configured(journal="nowhere://a/journal.jsonl"))
    assert refused.value.message.startswith(
        "the shared journal nowhere://a/journal.jsonl can't be read or written: "
    )
    assert refused.value.hint == (
        "is the URL right, and may this job read and write there?"
    )


# -- the client of a benchmark ---------------------------------------------------------------


class Item:
    """An item, as far as its client looks at it."""

    name = "math"

    def __init__(self, config):
        self.config = config


@pytest.mark.parametrize(
    ("arguments", "replays", "asks_anew"),
    [
        ([], False, False),
        (["--evalmetrics-replay"], True, False),
        (["--evalmetrics-refresh"], False, True),
        (["--evalmetrics-no-journal"], False, True),
    ],
)
def test_the_mode_of_the_journal_decides_what_is_asked(
    configured, arguments, replays, asks_anew
):
    runtime = ItemRuntime(Item(configured(*arguments)), "math")
    assert runtime.replays is replays
    assert runtime.asks_anew is asks_anew


@pytest.mark.parametrize(
    ("arguments", "looks"),
    [
        ([], True),
        (["--evalmetrics-replay"], True),
        # a run would pay for these answers again
        (["--evalmetrics-refresh"], False),
        (["--evalmetrics-no-journal"], False),
    ],
)
def test_a_plan_looks_into_the_journal_where_a_run_would_use_it(
    configured, journal, arguments, looks
):
    path = journal(3)
    transport = PlanRuntime(configured(*arguments)).transport()
    with closing(transport):
        assert (transport._journal.path == path) is looks


def test_benchmarks_share_one_client_until_the_run_ends(configured):
    config = configured()
    first = ItemRuntime(Item(config), "one").transport()
    assert ItemRuntime(Item(config), "two").transport() is first
    close_transport(config)
    later = ItemRuntime(Item(config), "three").transport()
    assert later is not first
    close_transport(config)


def test_a_benchmark_that_made_no_call_has_no_usage_and_no_warning(configured):
    runtime = ItemRuntime(Item(configured()), "math")
    assert runtime.usage() == {}
    assert runtime.warnings() == []


def test_a_client_that_made_no_call_has_no_usage(configured):
    config = configured()
    runtime = ItemRuntime(Item(config), "math")
    runtime.transport()
    assert runtime.usage() == {}
    close_transport(config)


def test_progress_shows_what_a_benchmark_has_used(configured):
    runtime = ItemRuntime(Item(configured()), "math")
    with runtime.progress(5) as progress:
        assert progress.total == 5


# -- the budget of a run ---------------------------------------------------------------------


def test_a_run_without_limits_has_no_budget(configured):
    assert budget_of(configured()) is None


def test_all_benchmarks_of_a_run_share_its_budget(configured):
    config = configured("--evalmetrics-budget", "5calls")
    budget = budget_of(config)
    assert budget_of(config) is budget
    assert budget.limits == {"requests": (5.0, "5 calls")}
    close_transport(config)


def test_workers_count_in_the_file_that_they_share(configured, pytester):
    config = configured("--evalmetrics-budget", "5calls")
    path = pytester.path / "shared" / "budget.sqlite3"
    config.workerinput = {SHARED_BUDGET: (str(path), 7.0)}
    budget_of(config)
    assert path.is_file()
    close_transport(config)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("journal.jsonl.gz", b"\x1f\x8b"), ("journal.jsonl", b"{")],
)
def test_a_shared_journal_is_packed_if_its_name_says_so(
    configured, journal, pytester, name, begins
):
    pytest.importorskip("fsspec")
    journal(1)
    url = f"{pytester.path.as_uri()}/shared/{name}"
    export_asked(configured("-o", f"evalmetrics_journal_path={JOURNAL}", journal=url))
    packed = (pytester.path / "shared" / name).read_bytes()
    assert packed.startswith(begins)
