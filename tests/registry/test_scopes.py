"""What a conftest.py registers holds below its folder, as its fixtures do."""

import pytest

SCORER = """
from pytest_evalmetrics import register_scorer

@register_scorer("sc")
class S:
    scores = ("accuracy",)

    def score(self, row):
        return {{"accuracy": {value}}}
"""
METRIC = """
from pytest_evalmetrics import register_metric

@register_metric({name!r})
class M:
    bounded = True

    def compute(self, task_rewards):
        return {value}
"""
SCORED = """
benchmark:
  name: math
  dataset: data.jsonl
  scorers: [{type: sc}]
  reward: accuracy
  thresholds: {mean_reward: ">= 0.5"}
"""


def scored(project, folder):
    project.write(f"{folder}/math.bench.yaml", SCORED)
    project.rows(f"{folder}/data.jsonl", [{"id": "a"}, {"id": "b"}])


def verdicts(project):
    return {
        b["id"].partition("/")[0]: b["verdict"] for b in project.report()["benchmarks"]
    }


@pytest.mark.parametrize("args", [("-n", "1"), ("--import-mode=importlib",)])
def test_each_project_of_a_repository_has_its_own(project, args):
    for folder, value in (("a", 0.0), ("b", 1.0)):
        project.write(f"{folder}/conftest.py", SCORER.format(value=value))
        scored(project, folder)
    project.run(*args).assert_outcomes(passed=1, failed=1)
    assert verdicts(project) == {"a": "FAIL", "b": "PASS"}


def test_a_name_is_unknown_beside_its_folder_and_the_deeper_one_wins_which_is_noted(
    project,
):
    project.write("a/conftest.py", SCORER.format(value=0.0))
    scored(project, "a")
    scored(project, "b")
    result = project.run("a", "b")
    result.stdout.fnmatch_lines(["*b/math.bench.yaml:5*no scorer 'sc'*"])
    project.write("conftest.py", SCORER.format(value=1.0))
    project.run().assert_outcomes(passed=1, failed=1)
    assert verdicts(project) == {"a": "FAIL", "b": "PASS"}
    a, b = project.report()["benchmarks"]
    note = "the scorer 'sc' is the one of a/conftest.py:4, which replaces that of conftest.py:4"
    assert note in a["notes"]
    assert note not in b["notes"]


@pytest.mark.parametrize("name", ["pass_rate", "pass@1"])
def test_a_users_name_wins_over_a_built_in_one(project, name):
    project.rollouts([[1.0], [1.0]])
    project.write("conftest.py", METRIC.format(name=name, value=0.25))
    project.bench(f"metrics: [{name}]\nthresholds: {{{name}: '<= 0.3'}}")
    project.run().assert_outcomes(passed=1)
    (entry,) = project.report()["benchmarks"]
    note = f"the metric '{name}' is the one of conftest.py:4, which replaces the built-in one"
    assert note in entry["notes"]


def test_tests_and_the_files_that_they_run_have_theirs(project):
    for folder, value in (("a", 0.25), ("b", 0.75)):
        project.write(f"{folder}/conftest.py", METRIC.format(name="own", value=value))
        project.write(
            f"{folder}/test_{folder}.py",
            "def test_one(evalmetrics):\n"
            "    evalmetrics.check([1.0], metrics='own', "
            f"thresholds={{'own': {{'min': {value}, 'max': {value}}}}})\n",
        )
    project.rollouts([[1.0]], name="b/runs.jsonl")
    project.bench(
        "metrics: [own]\nthresholds: {own: {min: 0.75, max: 0.75}}",
        name="b/math.bench.yaml",
    )
    project.write(
        "b/sub/test_file.py",
        "def test_it(evalmetrics): evalmetrics.run('../math.bench.yaml')\n",
    )
    project.run().assert_outcomes(passed=4)


def test_the_hook_is_called_for_a_conftest_that_is_loaded_late(project):
    hook = METRIC.replace("@register_metric({name!r})\n", "")
    hook += "def pytest_evalmetrics_register(registry): registry.register_metric('own')(M)\n"
    for folder, value in (("a", 0.25), ("b", 0.75)):
        project.write(f"x/{folder}/conftest.py", hook.format(value=value))
        project.rollouts([[1.0]], name=f"x/{folder}/runs.jsonl")
        gate = f"thresholds: {{own: {{min: {value}, max: {value}}}}}"
        project.bench(f"metrics: [own]\n{gate}", name=f"x/{folder}/one.bench.yaml")
    project.run().assert_outcomes(passed=2)


def test_reporters_are_the_runs(project):
    reporter = (
        "from pathlib import Path\nfrom pytest_evalmetrics import register_reporter\n"
        "@register_reporter('mine')\n"
        "def mine(report, prefix):\n"
        "    path = Path(prefix + 'mine.txt')\n    path.write_text('{which}')\n    return path\n"
    )
    project.write("conftest.py", reporter.format(which="root"))
    project.write("a/conftest.py", reporter.format(which="a"))
    project.rollouts([[1.0]], name="a/runs.jsonl")
    project.bench(name="a/math.bench.yaml")
    result = project.run("a")
    assert (project.path / "evalmetrics/mine.txt").read_text() == "a"
    result.stdout.fnmatch_lines(["*reporter 'mine' is the one of a/conftest.py:3*"])
    project.write("b/conftest.py", reporter.format(which="b"))
    result = project.run("a", "b")
    result.stdout.fnmatch_lines(["*reporter 'mine' is registered twice in this run*"])
    assert result.ret == 1


FAULTS = {
    'registry.register_metrics("x", int)': "*no 'register_metrics'; did you mean *metric'*",
    "registry.register_metric(int)": "*@register_metric needs a name*",
    'registry.register_metric("a/b")(int)': "*'a/b' can't be the name of a metric*",
    'registry.register_metric("x", int)': "*TypeError: *register*",
}


@pytest.mark.parametrize(
    ("call", "folder"), [*((c, "") for c in FAULTS), (next(iter(FAULTS)), "late/")]
)
def test_a_wrong_call_in_the_hook_is_a_message_at_its_line(project, call, folder):
    hook = f"def pytest_evalmetrics_register(registry):\n    {call}\n"
    project.write(f"{folder}conftest.py", hook)
    project.bench(name="a.bench.yaml")
    project.bench(name="late/b.bench.yaml")
    result = project.run()
    result.stdout.fnmatch_lines(
        [f"{folder}conftest.py:2: pytest_evalmetrics_register failed: *"]
    )
    result.stdout.fnmatch_lines(
        [FAULTS[call], '*registry.register_metric("a_name")(MyMetric)*']
    )
    result.stdout.no_fnmatch_line("*_hookexec*")
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_a_wrong_call_in_the_hook_fails_a_test_at_its_line(project):
    hook = "def pytest_evalmetrics_register(registry):\n    registry.register_metrics('x', int)\n"
    project.write("conftest.py", hook)
    project.write("test_a.py", "def test_a(evalmetrics): evalmetrics.check([1])\n")
    result = project.run()
    guess = "the registry has no 'register_metrics'; did you mean 'register_metric'?"
    result.stdout.fnmatch_lines(
        [f"conftest.py:2: pytest_evalmetrics_register failed: {guess}*"]
    )
    result.stdout.no_fnmatch_line("*call_historic*")
    result = project.run("--evalmetrics-list")
    result.stderr.fnmatch_lines(
        ["*conftest.py:2: pytest_evalmetrics_register failed: *"]
    )
    assert result.ret == 2
