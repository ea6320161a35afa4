"""What items hand on, with stand-ins for the code that does the work."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalmetrics import confirming
from pytest_evalmetrics.items import calibration, collecting, inputs, plan, runs, turns
from pytest_evalmetrics.items.collecting import BenchmarkItem
from pytest_evalmetrics.items.inputs import AskedOf, names_for
from pytest_evalmetrics.scoring import door

BENCHMARK = SimpleNamespace(
    spec=SimpleNamespace(runs=False, answers=False, name="a"), file=Path("/b/a.yaml")
)
OPTIONS = {"evalmetrics_runs": "3", "evalmetrics_ray_address": "ray://head"}


class Config:
    """What is read of the configuration of a run."""

    rootpath = Path("/root")

    def __init__(self):
        self.stash = {}
        self.cleanups = []

    def getoption(self, name, default=None):
        return OPTIONS.get(name, default)

    def add_cleanup(self, cleanup):
        self.cleanups.append(cleanup)


@pytest.fixture
def item():
    """An item of a benchmark file."""
    return SimpleNamespace(
        config=Config(),
        nodeid="a.bench.yaml::a",
        path=Path("/evals/a.bench.yaml"),
        benchmark=BENCHMARK,
        stash=pytest.Stash(),
    )


class Store:
    """A baseline that is kept."""

    def __init__(self, item):
        self.item = item
        self.settled = []

    def read(self):
        return "{}", "a.json"

    def settle(self, *arguments):
        self.settled.append(arguments)
        return "settled"


# -- calibrating -----------------------------------------------------------------------------


def test_a_calibration_is_given_the_baseline_and_the_history(monkeypatch, item):
    given = {}

    def calibrate(benchmark, **keywords):
        given.update(keywords, benchmark=benchmark)
        return ["flaky: none"], {("a",): "1"}, [{}]

    monkeypatch.setattr(calibration, "calibrate", calibrate)
    monkeypatch.setattr(calibration, "names_for", nullcontext)
    monkeypatch.setattr(calibration, "Store", Store)
    monkeypatch.setattr(
        calibration.settings, "history_path", lambda config: (config, "history")
    )
    calibrated = calibration._calibrated(item)
    assert given["benchmark"] is BENCHMARK
    assert given["count"] == 3
    assert given["label"] == "a.bench.yaml::a"
    assert given["snapshot"]() == ("{}", "a.json")
    assert given["history"] == (item.config, "history")
    assert calibrated.lines == ["flaky: none"]
    assert calibrated.advice == {("a",): "1"}
    assert calibrated.charts == [{}]
    assert calibrated.is_good


def test_a_run_of_a_calibration_adds_to_the_runs_before_and_asks_nothing_of_a_baseline(
    monkeypatch, item
):
    monkeypatch.setattr(calibration, "evaluate", lambda given: given)
    monkeypatch.setattr(
        calibration, "ItemRuntime", lambda item, label: ("runtime", item, label)
    )
    given = calibration._evaluated_again(item, BENCHMARK)
    assert given.benchmark is BENCHMARK
    assert given.item_id == "a.bench.yaml::a"
    assert given.runtime == ("runtime", item, "a.bench.yaml::a")
    assert given.updates
    assert given.gains_runs


def test_lines_of_a_calibration_fit_the_terminal(monkeypatch, item):
    widths = []

    def shown_paragraph(lines, width):
        widths.append(width)
        return lines

    made = calibration._Calibration(
        item=item, lines=["flaky"], advice={}, charts=[], is_good=True
    )
    monkeypatch.setattr(calibration, "benchmarks_of", lambda _: [item])
    monkeypatch.setattr(calibration, "_calibrated", lambda _: made)
    monkeypatch.setattr(calibration, "_patches", lambda _: ["--- a/a.bench.yaml"])
    monkeypatch.setattr(calibration, "_noise_page", lambda *_: Path("c.html"))
    monkeypatch.setattr(calibration, "shown_paragraph", shown_paragraph)
    of_run = SimpleNamespace(width=lambda: 63)
    monkeypatch.setattr(calibration, "session_of", lambda _: of_run)
    calibration.calibration_lines(SimpleNamespace(config=item.config))
    # the benchmark, the page and the way to take the patch
    assert widths == [63, 63, 63]


# -- planning --------------------------------------------------------------------------------


def test_lines_of_a_plan_fit_the_terminal(monkeypatch, item):
    monkeypatch.setattr(plan, "benchmarks_of", lambda _: [item])
    monkeypatch.setattr(plan, "benchmarks_sharing", lambda _: 2)
    monkeypatch.setattr(plan, "names_for", nullcontext)
    monkeypatch.setattr(plan, "_planned", lambda _, sharing: ([sharing], ["calls"]))
    monkeypatch.setattr(plan, "power_lines", lambda planned, width: [planned, width])
    monkeypatch.setattr(plan, "shown_paragraph", lambda lines, width: [*lines, width])
    of_run = SimpleNamespace(width=lambda: 63)
    monkeypatch.setattr(plan, "session_of", lambda _: of_run)
    lines, is_good = plan.plan_lines(SimpleNamespace(config=item.config))
    assert lines == [[("a.bench.yaml::a", [2])], 63, "calls", 63]
    assert is_good


def test_a_plan_says_when_a_benchmark_would_stop(monkeypatch, item):
    monkeypatch.setattr(plan, "as_asked", lambda _config, benchmark: benchmark)
    monkeypatch.setattr(plan, "Store", Store)
    monkeypatch.setattr(plan, "NoiseElsewhere", lambda **_: "elsewhere")
    monkeypatch.setattr(plan, "pooled_noise", lambda *_: ())
    monkeypatch.setattr(plan, "past_runs", lambda *_: ())
    monkeypatch.setattr(plan.settings, "history_path", lambda _: None)
    monkeypatch.setattr(plan, "power_of", lambda *_, **keywords: [keywords])
    monkeypatch.setattr(plan, "stop_forecast", lambda _, powers: len(powers))
    monkeypatch.setattr(plan, "stop_forecast_text", lambda forecast: f"at {forecast}")
    powers, calls = plan._planned(item, 4)
    assert powers == [{"benchmarks": 4, "elsewhere": "elsewhere"}]
    assert calls == ["a.bench.yaml::a: at 1"]


def test_calls_are_planned_by_the_means_of_the_first_agent_of_a_baseline(monkeypatch):
    class Kept:
        agents = ("one", "two")

        def values(self, agent):
            return {"mean_reward": 0.5, "agent": agent}

    parsed = []

    def parse(text, *, file):
        parsed.append((text, file))
        return Kept()

    monkeypatch.setattr(plan.baselines, "parse", parse)
    means = plan._recorded_means(("{}", "a.json"))
    assert means == {"mean_reward": 0.5, "agent": "one"}
    assert parsed == [("{}", "a.json")]


def test_calls_without_a_baseline_are_planned_by_no_means():
    assert plan._recorded_means(None) == {}


# -- running ---------------------------------------------------------------------------------


def test_a_baseline_is_settled_with_the_rows_that_it_keeps(item):
    store = Store(item)
    settled = runs._settled(
        item.config,
        "result",
        store=store,
        given=SimpleNamespace(updates=True),
        evaluated=SimpleNamespace(kept_rows="rows"),
        document="document",
    )
    assert settled == "settled"
    assert store.settled == [("result", "document", "rows")]


class StoppedError(Exception):
    """Ends a run at the place that a test looks at."""


@pytest.mark.parametrize(("label", "in_test"), [(None, False), ("check", True)])
def test_a_benchmark_runs_with_the_names_of_its_file_and_the_baseline_of_its_kind(
    monkeypatch, item, label, in_test
):
    scopes = []

    def store_of(*arguments, **keywords):
        raise StoppedError(arguments, keywords)

    def names_of(*arguments):
        scopes.append(arguments)
        return nullcontext()

    monkeypatch.setattr(runs, "names_for", names_of)
    monkeypatch.setattr(runs, "store_of", store_of)
    with pytest.raises(StoppedError) as stopped:
        runs._evaluated(item, BENCHMARK, AskedOf(label=label))
    assert scopes == [(item, Path("/b/a.yaml"))]
    assert stopped.value.args == ((item, BENCHMARK.spec), {"in_test": in_test})


def test_names_of_a_test_are_those_of_its_folder_and_of_the_file_that_it_runs(item):
    scope = names_for(item, Path("/evals/deep/b.bench.yaml"))
    assert scope.root == Path("/root")
    assert {"/evals", "/evals/deep"} <= scope._folders
    assert "/evals/deep" not in names_for(item)._folders


def test_a_gate_that_confirms_is_evaluated_with_a_confirmation(monkeypatch):
    monkeypatch.setattr(confirming, "with_confirmation", lambda given: ("again", given))
    spec = SimpleNamespace(num_samples=4, baseline=SimpleNamespace(confirm=True))
    given = SimpleNamespace(benchmark=SimpleNamespace(spec=spec), updates=False)
    assert runs._in_its_rounds(given) == ("again", given)


def test_a_baseline_is_recorded_without_a_confirmation(monkeypatch):
    monkeypatch.setattr(runs, "evaluate", lambda given: ("once", given))
    spec = SimpleNamespace(num_samples=4, baseline=SimpleNamespace(confirm=True))
    given = SimpleNamespace(benchmark=SimpleNamespace(spec=spec), updates=True)
    assert runs._in_its_rounds(given) == ("once", given)


# -- engines and budgets ---------------------------------------------------------------------


def test_ray_is_asked_at_the_address_of_the_option_once_in_a_run(monkeypatch, item):
    made = []

    def ray_engine(address, root):
        made.append((address, root))
        return SimpleNamespace(close="close")

    monkeypatch.setattr(door, "ray_engine", ray_engine)
    monkeypatch.setattr(inputs.settings, "engine_name", lambda _: "ray")
    first = inputs._engine(item.config)
    assert inputs._engine(item.config) is first
    assert made == [("ray://head", Path("/root"))]
    assert item.config.cleanups == ["close"]


@pytest.mark.parametrize(
    ("place", "names"), [((0, 2), ["a", "c", "e"]), ((1, 2), ["b", "d"])]
)
def test_each_worker_has_its_share_of_the_benchmarks(monkeypatch, place, names):
    monkeypatch.setattr(
        turns, "place_of", lambda config: place if config == "config" else None
    )
    assert turns._of_this_worker("config", list("abcde")) == names


# -- errors ----------------------------------------------------------------------------------


def test_an_error_of_others_is_shown_in_the_style_that_pytest_asks_for(monkeypatch):
    shown = []
    monkeypatch.setattr(
        pytest.Item,
        "repr_failure",
        lambda _item, excinfo, style: shown.append((excinfo, style)) or "text",
    )
    with pytest.raises(ValueError, match="broken") as excinfo:
        raise ValueError("broken")
    item = BenchmarkItem.__new__(BenchmarkItem)
    assert item.repr_failure(excinfo, "short") == "text"
    assert shown == [(excinfo, "short")]


def test_an_error_of_a_file_is_shown_without_control_characters():
    file = collecting.BenchmarkFile.__new__(collecting.BenchmarkFile)
    error = file._collect_error(collecting.errors.DataError("red \x1b[31m"))
    assert isinstance(error, collecting.BenchmarkFile.CollectError)
    assert str(error) == "red \\x1b[31m"
