"""Benchmarks as pytest collects them, and what is printed of them in place of a run."""

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError, GateFailed
from pytest_evalmetrics.items.check import check_lines
from pytest_evalmetrics.items.collecting import benchmarks_sharing
from pytest_evalmetrics.items.inputs import as_asked
from pytest_evalmetrics.items.plan import plan_lines
from pytest_evalmetrics.items.runs import failure_of
from pytest_evalmetrics.items.turns import takes_turns
from pytest_evalmetrics.model.reasons import HookFailed
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict

FILE = "math.bench.yaml"
TWO = """\
defaults:
  rollouts: runs.jsonl
benchmarks:
  - name: one
    tags: [nightly, safety]
    thresholds: {mean_reward: '>= 0.5'}
  - name: two
    thresholds: {mean_reward: '>= 0.5'}
"""
KEYS = "benchmark: {name: a, rollouts: runs.jsonl, thresholds: {mean_reward: '>= 0.5'}"


def marks_of(item, name):
    return [mark for mark in item.iter_markers() if mark.name == name]


# -- items -----------------------------------------------------------------------------------


def test_each_benchmark_of_a_file_is_an_item(collected):
    assert [item.nodeid for item in collected(TWO)] == [f"{FILE}::one", f"{FILE}::two"]


def test_a_tag_is_a_mark_of_its_benchmark_alone(collected):
    one, two = collected(TWO)
    assert marks_of(one, "nightly")
    assert marks_of(one, "safety")
    assert not marks_of(two, "nightly")


def test_a_tag_is_declared_so_that_strict_marks_take_it(collected):
    one, _ = collected(TWO, "--strict-markers")
    assert "nightly: tag of a benchmark" in one.config.getini("markers")


def test_an_item_stands_at_the_line_of_its_benchmark(collected, pytester):
    _, two = collected(TWO)
    # counted from 0
    assert two.reportinfo() == (pytester.path / FILE, 6, "two")


@pytest.mark.parametrize(
    ("skip", "reasons"),
    [("false", []), ("true", ["skip: true"]), ("no GPU", ["no GPU"])],
)
def test_a_skipped_benchmark_has_the_reason_of_its_file(collected, skip, reasons):
    (item,) = collected(f"{KEYS}, skip: {skip}}}")
    assert [mark.kwargs["reason"] for mark in marks_of(item, "skip")] == reasons


def test_an_expected_failure_is_that_of_a_gate_alone(collected):
    (item,) = collected(f"{KEYS}, xfail: weak}}")
    (mark,) = marks_of(item, "xfail")
    assert mark.kwargs == {"reason": "weak", "raises": GateFailed}


def test_an_expected_failure_may_be_strict(collected):
    (item,) = collected(f"{KEYS}, xfail: {{reason: weak, strict: true}}}}")
    (mark,) = marks_of(item, "xfail")
    assert mark.kwargs["strict"] is True


def test_an_expected_failure_has_the_strictness_of_pytest_by_default(collected):
    (item,) = collected(f"{KEYS}, xfail: weak}}")
    (mark,) = marks_of(item, "xfail")
    assert "strict" not in mark.kwargs


def problems_in(collected, text):
    """Collect a file with problems; give what pytest prints of them."""
    collected(text)
    return collected.printed()


def test_a_file_that_can_t_be_read_is_one_error_with_all_its_problems(collected):
    text = TWO.replace("name: two", "nam: two").replace("tags: [", "tag: [")
    printed = problems_in(collected, text)
    assert f"{FILE}: 3 problems in this benchmark file" in printed
    assert f"{FILE}:5: benchmarks[0]: unknown key 'tag'" in printed
    assert f"{FILE}:7: benchmarks[1]: 'name' is missing" in printed


def test_unknown_metrics_are_problems_in_the_order_of_their_lines(collected):
    text = TWO.replace("name: two", "name: two\n    metrics: [mean_rewards]").replace(
        "name: one", "name: one\n    metrics: [pass_rates]"
    )
    printed = problems_in(collected, text)
    first = printed.index(f"{FILE}:5: ")
    second = printed.index(f"{FILE}:9: ")
    assert first < second
    assert f"{FILE}: 2 problems in this benchmark file" in printed


# -- options that change a benchmark ---------------------------------------------------------


def test_a_benchmark_is_taken_as_it_is_without_such_options(collected):
    (item,) = collected(f"{KEYS}, sample: {{tasks: 2}}}}")
    assert as_asked(item.config, item.benchmark) is item.benchmark


def test_all_tasks_are_taken_if_an_option_asks_for_them(collected):
    (item,) = collected(f"{KEYS}, sample: {{tasks: 2}}}}", "--evalmetrics-all-tasks")
    assert item.benchmark.spec.sample is not None
    assert as_asked(item.config, item.benchmark).spec.sample is None


# -- what is raised --------------------------------------------------------------------------


def result_with(*checks):
    return BenchmarkResult(
        name="a",
        id=f"{FILE}::a",
        description="",
        file=FILE,
        line=1,
        agents=(),
        checks=checks,
    )


def failing(gate, verdict):
    reason = HookFailed(hook="mine", place="conftest.py:1", error="OSError: no")
    return Check(gate=gate, name="hook", verdict=verdict, reasons=(reason,))


def test_a_benchmark_that_holds_raises_nothing():
    assert failure_of(result_with(), f"{FILE}::a") is None


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (failing(Gate.DATA, Verdict.INCONCLUSIVE), DataError),
        (failing(Gate.THRESHOLD, Verdict.FAIL), GateFailed),
    ],
)
def test_what_can_t_be_judged_raises_another_error_than_a_gate(check, error):
    failure = failure_of(result_with(check), f"{FILE}::a")
    assert type(failure) is error
    assert failure.failure is not None


class Excinfo:
    """What pytest hands to an item whose run raised."""

    def __init__(self, error):
        self.value = error


def test_an_error_of_ours_is_shown_without_a_traceback(collected):
    (item,) = collected(f"{KEYS}}}")
    shown = item.repr_failure(Excinfo(DataError("no rows", file="runs.jsonl", line=3)))
    assert str(shown) == "runs.jsonl:3: no rows"


def test_control_characters_of_an_error_are_shown_as_escapes(collected):
    (item,) = collected(f"{KEYS}}}")
    shown = item.repr_failure(Excinfo(DataError("task '\x1b[31m'")))
    assert str(shown) == "task '\\x1b[31m'"


# -- in place of a run -----------------------------------------------------------------------


def test_a_check_without_problems_counts_what_it_looked_at(collected):
    one, _ = collected(TWO, "--evalmetrics-check")
    assert check_lines(one.session) == (
        ["no problems: 1 benchmark file, 2 benchmarks"],
        True,
    )


def test_a_check_names_each_problem_with_its_line_and_column(collected):
    text = TWO.replace("name: two", "name: two\n    metrics: [mean_rewards]")
    one, _ = collected(text, "--evalmetrics-check")
    lines, is_good = check_lines(one.session)
    assert not is_good
    assert lines[0].startswith(f"{FILE}:8:")
    assert "mean_rewards" in lines[0]
    assert lines[-1] == "1 problem in 1 of 1 benchmark file"


JUDGED = f"""\
{KEYS}, scorers: [{{type: llm_judge, model: {{url: 'http://127.0.0.1:9/v1', name: m,
    api_key_secret: NO_SUCH_KEY}}, prompt_template: '{{{{ row }}}}', scores: [{{name: tone}}]}}]}}
"""


def test_a_check_asks_for_the_keys_of_endpoints(collected):
    (item,) = collected(JUDGED, "--evalmetrics-check")
    lines, is_good = check_lines(item.session)
    assert not is_good
    assert any("NO_SUCH_KEY" in line for line in lines)


def test_a_check_of_a_replay_needs_no_keys(collected):
    (item,) = collected(JUDGED, "--evalmetrics-check", "--evalmetrics-replay")
    lines, _ = check_lines(item.session)
    assert not any("NO_SUCH_KEY" in line for line in lines)


def test_the_files_of_a_check_are_in_the_order_of_their_names(collected):
    for name in ("b", "a"):
        text = f"benchmark: {{name: x, nothing: {name}}}\n"
        (collected.path / f"{name}.bench.yaml").write_text(text)
    (item,) = collected(f"{KEYS}}}", "--evalmetrics-check")
    lines, _ = check_lines(item.session)
    files = [line.partition(":")[0] for line in lines[:-1]]
    assert files == ["a.bench.yaml", "a.bench.yaml", "b.bench.yaml", "b.bench.yaml"]
    assert lines[-1] == "4 problems in 2 of 3 benchmark files"


@pytest.mark.parametrize("lines_of", [check_lines, plan_lines])
def test_where_there_is_no_benchmark_file_their_names_are_shown(pytester, lines_of):
    config = pytester.parseconfig()
    session = pytest.Session.from_config(config)
    session.items = []
    assert lines_of(session) == (
        ["no benchmark file was found: they are named *.bench.yaml *.bench.yml"],
        False,
    )


def test_a_plan_shows_each_benchmark(collected):
    one, _ = collected(TWO, "--evalmetrics-plan")
    lines, is_good = plan_lines(one.session)
    assert is_good
    assert any(f"{FILE}::one" in line for line in lines)
    assert any(f"{FILE}::two" in line for line in lines)


# -- which benchmarks share a budget in turns ------------------------------------------------

ASKED = """\
benchmark:
  name: a
  dataset: data.jsonl
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ question }}"
  num_samples: {min: 1, max: 4, stop: early}
  scorers: [{type: exact_match, reference: "{{ item.answer }}"}]
  thresholds: {mean_reward: ">= 0.5"}
"""
RECORDED = """\
benchmark:
  name: a
  rollouts: runs.jsonl
  num_samples: 4
  thresholds: {mean_reward: ">= 0.5"}
"""
MODEL = """\
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ question }}"
"""
FORGOTTEN = ASKED.replace(MODEL, '  target: "agent:ask"\n')
SKIPPED = ASKED.replace("  name: a\n", "  name: a\n  skip: true\n")
AT_ONCE = ASKED.replace("{min: 1, max: 4, stop: early}", "4")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ASKED, True),
        (RECORDED, False),
        (FORGOTTEN, False),
        (SKIPPED, False),
        (AT_ONCE, False),
    ],
)
def test_benchmarks_whose_answers_are_kept_between_rounds_take_turns(
    tmp_path, text, expected
):
    path = tmp_path / FILE
    path.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown=FILE, scorers_known=True)
    assert takes_turns(benchmark.spec) is expected


# -- which benchmarks share the chance of a false alarm --------------------------------------

COMPARED = """\
defaults: {rollouts: runs.jsonl}
benchmarks:
  - {name: one, baseline: true}
  - {name: two, baseline: {max_drop: 0.1}}
  - {name: three, thresholds: {mean_reward: ">= 0.5"}}
"""


@pytest.mark.parametrize(("family", "sharing"), [("benchmark", 1), ("run", 2)])
def test_the_compared_benchmarks_of_a_run_share_it_where_the_setting_says_so(
    collected, family, sharing
):
    one, *_ = collected(COMPARED, "-o", f"evalmetrics_family={family}")
    assert benchmarks_sharing(one.session) == sharing


def test_a_test_with_the_fixture_may_compare_and_another_one_does_not(
    pytester, collected
):
    pytester.makepyfile("def test_a(evalmetrics): ...\ndef test_b(): ...")
    one, *_ = collected(COMPARED, "-o", "evalmetrics_family=run")
    assert benchmarks_sharing(one.session) == 3


@pytest.mark.parametrize("mode", ["--evalmetrics-no-journal", "--evalmetrics-refresh"])
def test_a_calibration_by_further_runs_needs_the_journal(project, mode):
    project.rows("data.jsonl", [{"question": "1 + 1", "answer": "2"}])
    project.write(FILE, AT_ONCE)
    result = project.run("--evalmetrics-calibrate", "--evalmetrics-runs=2", mode)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["calibrate --runs needs the journal: it answers the runs before"]
    )
