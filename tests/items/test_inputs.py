"""What an evaluation is given of pytest's run: hooks, settings, baselines, engines, budgets."""

import pytest

from pytest_evalmetrics.items.inputs import (
    AskedOf,
    as_asked,
    hooks_compute,
    input_of,
    pooled_noise,
    store_of,
)
from pytest_evalmetrics.pipeline.pooled_noise import BaselineScatter
from pytest_evalmetrics.spec.sources import Rounds

GATED = """\
benchmark:
  name: a
  rollouts: runs.jsonl
  metrics: [mean_reward]
  tags: [safety]
"""
COMPARED = GATED + "  baseline: true\n"
HISTORY = GATED + "  baseline: {history: 10}\n"
SCORED = GATED + "  scorers: [{type: exact_match, reference: '{{ item.answer }}'}]\n"


def given(item, store=None, **asked):
    return input_of(item, item.benchmark, store, AskedOf(**asked))


@pytest.fixture
def given_of(collected):
    """Collect the benchmark of a file; give what its evaluation is given."""

    def given_of_text(text, *arguments, **asked):
        (item,) = collected(text, *arguments)
        return given(item, **asked)

    return given_of_text


# -- what the asker says ---------------------------------------------------------------------


def test_a_benchmark_is_named_after_its_item(given_of):
    assert given_of(GATED).item_id == "math.bench.yaml::a"


def test_a_test_s_check_has_the_name_that_it_gives(given_of):
    assert given_of(GATED, label="test_a.py::test_a").item_id == "test_a.py::test_a"


def test_what_the_asker_says_is_passed_on(given_of):
    table = object()
    one = given_of(GATED, file="other.yaml", detailed=False, benchmarks=3, table=table)
    assert (one.file, one.detailed, one.benchmarks) == ("other.yaml", False, 3)
    assert one.table is table


# -- settings and options --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "required"),
    [("", False), ("required=safety", True), ("required=other", False)],
)
def test_the_policy_requires_benchmarks_by_their_tags(given_of, policy, required):
    one = given_of(GATED, "-o", f"evalmetrics_policy={policy}")
    assert one.is_required is required


def test_the_history_is_that_of_the_option(given_of, pytester):
    one = given_of(GATED, "--evalmetrics-history=kept.jsonl")
    assert one.history == pytester.path / "kept.jsonl"


def test_without_a_history_there_is_none(given_of):
    assert given_of(GATED).history is None


def test_a_run_that_is_added_to_a_baseline_is_told_so(given_of):
    one = given_of(COMPARED, "--evalmetrics-update", "--evalmetrics-add-run")
    assert one.gains_runs
    assert not given_of(COMPARED).gains_runs


# -- what a run records ----------------------------------------------------------------------


def stored(item):
    return store_of(item, item.benchmark.spec, in_test=False)


def test_a_benchmark_without_a_baseline_keeps_none(collected):
    (item,) = collected(GATED)
    assert stored(item) is None


def test_a_benchmark_that_compares_with_the_history_keeps_none_of_its_own(collected):
    (item,) = collected(HISTORY)
    assert stored(item) is None


def test_a_kept_baseline_is_called_as_its_benchmark(collected):
    (item,) = collected(COMPARED)
    assert stored(item).path == (
        collected.path / "__baselines__" / "math.bench" / "a.json"
    )


def test_a_baseline_keeps_as_many_runs_as_its_file_says(collected):
    (item,) = collected(GATED + "  baseline: {runs: 3}\n")
    assert stored(item).keeps_runs == 3


def test_a_benchmark_that_scores_its_baseline_again_names_the_rows(collected):
    (item,) = collected(SCORED + "  baseline: {rescore: kept/rows.jsonl}\n")
    assert stored(item).rows_path == collected.path / "kept" / "rows.jsonl"


@pytest.mark.parametrize(
    ("arguments", "updates"), [((), False), (("--evalmetrics-update",), True)]
)
def test_a_kept_baseline_is_recorded_by_an_update(collected, arguments, updates):
    (item,) = collected(COMPARED, *arguments)
    assert given(item, stored(item)).updates is updates


@pytest.mark.parametrize(
    ("text", "arguments", "updates"),
    [
        (HISTORY, ["--evalmetrics-update", "--evalmetrics-history=h.jsonl"], True),
        (HISTORY, ["--evalmetrics-history=h.jsonl"], False),
        # there is no history to start anew
        (HISTORY, ["--evalmetrics-update"], False),
        (GATED, ["--evalmetrics-update", "--evalmetrics-history=h.jsonl"], False),
    ],
)
def test_an_update_accepts_a_change_against_the_history(
    given_of, text, arguments, updates
):
    assert given_of(text, *arguments).updates is updates


# -- changes that the project accepts --------------------------------------------------------

ACCEPTED = """\
- {benchmark: "math.bench.yaml::a", metric: mean_reward, level: 0.5, reason: cheaper}
- {benchmark: "math.bench.yaml::b", metric: mean_reward, level: 0.4, reason: another}
"""
REPORTED = GATED + "  baseline: {report: main/report.json}\n"


def accepted(collected, text):
    (collected.path / "evalmetrics-accepted.yaml").write_text(ACCEPTED)
    (item,) = collected(text)
    return [level.reason for level in given(item).accepted]


@pytest.mark.parametrize("text", [HISTORY, REPORTED])
def test_where_no_baseline_is_kept_the_accepted_changes_of_a_benchmark_are_read(
    collected, text
):
    assert accepted(collected, text) == ["cheaper"]


@pytest.mark.parametrize("text", [GATED, COMPARED])
def test_elsewhere_no_change_is_accepted_by_that_file(collected, text):
    assert accepted(collected, text) == []


# -- hooks -----------------------------------------------------------------------------------


def test_without_hooks_none_takes_part(collected):
    (item,) = collected(GATED)
    hooks = given(item).hooks
    assert (hooks.compute_metrics, hooks.key_metrics) == (None, None)
    assert hooks.source == ""
    assert not hooks_compute(item)


def test_a_hook_that_computes_is_bound_to_its_benchmark(collected):
    collected.pytester.makeconftest(
        "def pytest_evalmetrics_compute_metrics(benchmark):\n"
        "    return {benchmark.name: 1.0}\n"
    )
    (item,) = collected(GATED)
    hooks = given(item).hooks
    assert hooks_compute(item)
    assert hooks.compute_metrics.keywords == {"benchmark": item.benchmark.spec}
    assert hooks.key_metrics is None


def test_a_hook_that_chooses_is_bound_to_its_benchmark(collected):
    collected.pytester.makeconftest(
        "def pytest_evalmetrics_key_metrics(benchmark):\n    return [benchmark.name]\n"
    )
    (item,) = collected(GATED)
    hooks = given(item).hooks
    assert hooks.key_metrics.keywords == {"benchmark": item.benchmark.spec}
    assert hooks.compute_metrics is None


def source_of(collected, body):
    collected.pytester.makeconftest(
        f"def pytest_evalmetrics_compute_metrics(benchmark):\n    return {body}\n"
    )
    (item,) = collected(GATED)
    return given(item).hooks.source


def test_the_code_of_a_hook_that_computes_is_known(collected):
    assert source_of(collected, "{'x': 1.0}") != ""


# -- engines and budgets ---------------------------------------------------------------------


def test_rows_are_scored_in_this_process_by_default(given_of):
    assert given_of(GATED).engine is None


ENGINE = """\
class Mine:
    is_closed = False
    def close(self):
        self.is_closed = True
"""
TWO = """\
benchmarks:
  - {name: a, rollouts: runs.jsonl}
  - {name: b, rollouts: runs.jsonl}
"""


def test_an_engine_of_the_user_s_is_made_once_for_all_benchmarks(collected):
    collected.pytester.makepyfile(engines_of_mine=ENGINE)
    collected.pytester.syspathinsert()
    first, second = collected(TWO, "--evalmetrics-engine=engines_of_mine:Mine")
    engine = given(first).engine
    assert type(engine).__name__ == "Mine"
    assert given(second).engine is engine


def test_a_benchmark_that_asks_nobody_has_no_budget(given_of):
    assert given_of(GATED).budget is None


BUDGETED = SCORED + "  budget: {requests: 10}\n"


def test_a_budget_is_the_same_in_the_turns_of_a_benchmark_and_at_its_end(collected):
    (item,) = collected(BUDGETED)
    assert given(item).budget is given(item).budget
    assert given(item).budget is not None


def test_each_check_of_a_test_has_a_budget_of_its_own(collected):
    (item,) = collected(BUDGETED)
    first = given(item, label="first").budget
    assert first is not given(item, label="second").budget


# -- options that change a benchmark ---------------------------------------------------------

DRAWN = """\
benchmark:
  name: a
  dataset: data.jsonl
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ question }}"
  num_samples: 4
  scorers: [{type: exact_match, reference: "{{ item.answer }}"}]
"""


def test_rollouts_are_drawn_in_rounds_where_an_option_lets_them_stop_early(collected):
    (item,) = collected(DRAWN, "--evalmetrics-stop-early")
    assert isinstance(as_asked(item.config, item.benchmark).spec.num_samples, Rounds)


def test_rollouts_are_drawn_at_once_without_that_option(collected):
    (item,) = collected(DRAWN)
    assert as_asked(item.config, item.benchmark).spec.num_samples == 4


def test_recorded_rollouts_are_not_drawn_in_rounds(collected):
    (item,) = collected(GATED, "--evalmetrics-stop-early")
    assert as_asked(item.config, item.benchmark) is item.benchmark


# -- the noise of the benchmarks beside one --------------------------------------------------


def test_a_benchmark_without_a_kept_baseline_knows_no_noise_of_others(collected):
    (item,) = collected(GATED)
    assert pooled_noise(item.config, None) == ()


def test_the_noise_is_that_of_the_baselines_beside_one_without_its_own(
    collected, monkeypatch
):
    (item,) = collected(COMPARED)
    store = stored(item)
    asked = []

    def scatters(folder):
        asked.append(folder)
        return (
            BaselineScatter(store.path, "own"),
            BaselineScatter(store.path.with_name("b.json"), "neighbour"),
        )

    monkeypatch.setattr(
        "pytest_evalmetrics.pipeline.pooled_noise.scatters_in", scatters
    )
    assert pooled_noise(item.config, store) == ("neighbour",)
    assert given(item, store).pooled == ("neighbour",)
    # once for all benchmarks of a folder
    assert asked == [collected.path / "__baselines__"]
