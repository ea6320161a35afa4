"""What an item's report says beyond its outcome."""

import pytest
from msgspec import structs

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.reports.failure import failure_of_words
from pytest_evalmetrics.session.item_reports import (
    PAYLOADS,
    VERDICT_NAMES,
    attach,
    failure_text,
    is_benchmark,
    is_ours,
    passes_wrongly,
    show_again,
    take_results,
    why_skipped,
)


def report(longrepr, **fields):
    made = pytest.TestReport(
        nodeid="a.bench.yaml::a",
        location=("a.bench.yaml", 1, "a"),
        keywords={},
        outcome="skipped",
        longrepr=longrepr,
        when="call",
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (report(("a.py", 3, "Skipped: no GPU")), "no GPU"),
        (report(("a.py", 3, "no GPU")), "no GPU"),
        (report("Skipped: too slow"), "too slow"),
        (report(None, wasxfail="known"), "xfail: known"),
        (report(None, wasxfail=""), "xfail"),
    ],
)
def test_the_reason_of_a_skip_is_that_of_who_skipped(given, reason):
    assert why_skipped(given) == reason


@pytest.mark.parametrize(
    ("reporters", "has_page"), [("report.html", True), ("report.json", False)]
)
def test_a_failure_names_the_page_that_the_run_writes(pytester, reporters, has_page):
    failure = structs.replace(failure_of_words("lost"), benchmark="a.bench.yaml::a")
    config = pytester.parseconfig("--evalmetrics-reporters", reporters)
    assert (failure_text(failure, config).page is not None) is has_page


@pytest.mark.parametrize(("arguments", "everything"), [([], False), (["-v"], True)])
def test_a_failure_is_shown_whole_with_v(pytester, arguments, everything):
    config = pytester.parseconfig(*arguments)
    assert failure_text(failure_of_words("lost"), config).everything is everything


# -- results on a report ---------------------------------------------------------------------


class Benchmark:
    """A benchmark of a file, as far as its reports need it."""

    is_evalmetrics_benchmark = True

    def __init__(self, config, *payloads):
        self.config = config
        self.stash = pytest.Stash()
        self.stash[PAYLOADS] = list(payloads)
        self.user_properties = []
        self.fixturenames = []
        self.path = config.rootpath / "test_a.py"
        self.name = "test_a"

    def listchain(self):
        return [self]


class CheckingTest(Benchmark):
    """A test with checks."""

    is_evalmetrics_benchmark = False


def payload(*, xfail=False):
    return {"entry": {"id": "a.bench.yaml::a", "xfail": xfail}}


def of(outcome, when="call", **fields):
    made = report(None, **fields)
    made.outcome = outcome
    made.when = when
    return made


def call(error=None):
    """Make a call that passed, or one that raised an error."""

    def act():
        if error is not None:
            raise error

    return pytest.CallInfo.from_call(act, "call")


@pytest.fixture
def config(pytester):
    return pytester.parseconfig()


def test_results_travel_on_the_report_and_are_taken_off_once(config):
    item = Benchmark(config, payload())
    made = of("passed")
    attach(item, call(), made)
    assert item.stash[PAYLOADS] == []
    (taken,) = take_results(made)
    assert taken["entry"]["id"] == "a.bench.yaml::a"
    assert take_results(made) is None
    assert not passes_wrongly(made)


def test_a_test_without_a_check_yet_has_results_and_a_benchmark_has_none(config):
    made = of("passed", "setup")
    attach(CheckingTest(config), call(), made)
    assert take_results(made) == []
    made = of("passed", "setup")
    attach(Benchmark(config), call(), made)
    assert take_results(made) is None


def test_an_item_of_others_has_no_results(config):
    item = CheckingTest(config)
    item.stash = pytest.Stash()
    made = of("passed")
    attach(item, call(), made)
    assert take_results(made) is None


@pytest.mark.parametrize(
    ("outcome", "fields", "own", "is_expected"),
    [
        ("passed", {}, False, False),
        # by the benchmark file
        ("passed", {}, True, True),
        ("skipped", {}, True, True),
        ("failed", {}, True, False),
        # by a mark
        ("skipped", {"wasxfail": "known"}, False, True),
        ("skipped", {}, False, False),
        ("passed", {"wasxfail": "known"}, False, False),
    ],
)
def test_a_failure_is_expected_by_a_mark_or_by_the_file(
    config, outcome, fields, own, is_expected
):
    made = of(outcome, **fields)
    attach(Benchmark(config, payload(xfail=own)), call(), made)
    (taken,) = take_results(made)
    assert taken["entry"]["xfail"] is is_expected


def test_a_strict_expected_failure_that_passes_is_known_once(config):
    item = CheckingTest(config, payload())
    made = of("failed")
    attach(item, call(), made)
    assert passes_wrongly(made) is True
    assert passes_wrongly(made) is False


def test_its_verdicts_fail_and_properties_of_others_stay(config):
    item = CheckingTest(config, payload())
    item.stash[VERDICT_NAMES] = {"one", "two", "three"}
    item.user_properties = [
        ("one", "PASS"),
        ("two", "WARN"),
        ("three", "INCONCLUSIVE"),
        ("mine", "PASS"),
    ]
    made = of("failed")
    attach(item, call(), made)
    expected = [
        ("one", "FAIL"),
        ("two", "FAIL"),
        ("three", "INCONCLUSIVE"),
        ("mine", "PASS"),
    ]
    assert made.user_properties == expected
    assert item.user_properties == expected


def test_a_failure_with_an_error_keeps_its_properties(config):
    item = CheckingTest(config, payload())
    item.stash[VERDICT_NAMES] = {"one"}
    item.user_properties = [("one", "PASS")]
    made = of("failed")
    attach(item, call(ValueError("bad")), made)
    assert item.user_properties == [("one", "PASS")]
    assert not passes_wrongly(made)


class OurError(Exception):
    """An error with a failure to show."""

    failure = failure_of_words("lost")


def test_an_error_of_ours_is_shown_by_its_parts(config):
    made = of("failed")
    attach(Benchmark(config), call(OurError()), made)
    assert made.longrepr.failure == OurError.failure


def test_an_error_of_others_is_shown_as_pytest_does(config):
    made = of("failed")
    made.longrepr = "assert 0"
    attach(Benchmark(config), call(ValueError("bad")), made)
    assert made.longrepr == "assert 0"


def test_what_a_worker_showed_is_shown_again_where_it_is_printed(config, pytester):
    worker = pytester.parseconfig()
    worker.workerinput = {"workerid": "gw0"}
    made = of("failed")
    attach(Benchmark(worker), call(OurError()), made)
    # xdist carries plain values alone
    made.longrepr = "text"
    show_again(made, config)
    assert made.longrepr.failure == OurError.failure


def test_a_failure_that_is_shown_already_is_carried_as_it_is(config, pytester):
    worker = pytester.parseconfig()
    worker.workerinput = {"workerid": "gw0"}
    made = of("failed")
    made.longrepr = failure_text(failure_of_words("other"), worker)
    attach(Benchmark(worker), call(ValueError("bad")), made)
    made.longrepr = "text"
    show_again(made, config)
    assert made.longrepr.failure == failure_of_words("other")


def test_what_this_process_showed_is_not_carried(config):
    made = of("failed")
    attach(Benchmark(config), call(OurError()), made)
    made.longrepr = "text"
    show_again(made, config)
    assert made.longrepr == "text"


@pytest.mark.parametrize(
    ("outcome", "when", "kind", "names"),
    [
        ("passed", "call", CheckingTest, {"test_a"}),
        ("passed", "setup", CheckingTest, set()),
        ("failed", "call", CheckingTest, set()),
        ("passed", "call", Benchmark, set()),
    ],
)
def test_the_checks_of_a_test_are_known_when_it_has_passed(
    config, outcome, when, kind, names
):
    item = kind(config)
    attach(item, call(), of(outcome, when))
    assert Declared.of(config).ended_in(item.path) == names


def test_items_of_ours_are_benchmarks_and_tests_with_the_fixture(config):
    assert is_ours(Benchmark(config))
    assert not is_ours(CheckingTest(config))
    test = CheckingTest(config)
    test.fixturenames = ["tmp_path", "evalmetrics"]
    assert is_ours(test)
    assert not is_benchmark(test)
    assert not is_benchmark(object())


# -- the page of a failure -------------------------------------------------------------------


def test_the_page_is_named_as_the_run_writes_it_and_by_its_whole_address(pytester):
    failure = structs.replace(failure_of_words("lost"), benchmark="a.bench.yaml::a")
    page = failure_text(failure, pytester.parseconfig()).page
    assert page.file == "evalmetrics/report.html"
    assert page.place == "#/a.bench.yaml::a"
    file = pytester.path / "evalmetrics" / "report.html"
    assert page.address == f"{file.as_uri()}#/a.bench.yaml::a"


def test_a_failure_of_no_benchmark_has_no_page(pytester):
    assert failure_text(failure_of_words("lost"), pytester.parseconfig()).page is None


def test_a_failure_has_the_style_of_the_run(pytester):
    short = failure_text(failure_of_words("lost"), pytester.parseconfig("--tb=short"))
    assert short.style == "short"
    plain = pytester.parseconfig("-p", "no:terminal")
    assert failure_text(failure_of_words("lost"), plain).style == "auto"
    assert failure_text(failure_of_words("lost"), plain).everything is False
