"""--evalmetrics-list and --evalmetrics-explain: all that can be named, whoever provides it."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this file too

CONFTEST = """
from pytest_evalmetrics import register_metric, register_reporter, register_scorer

@register_metric("best_task")
class BestTask:
    name = "best_task"

    def compute(self, task_rewards):
        "The task that does best."
        return max(map(max, task_rewards))

@register_scorer("length")
class Length:
    "How long an answer is."

    def __init__(self, field, least: int = 3):
        self.scores = ("length",)

@register_reporter("chat")
def chat(report, prefix):
    "Tells the team."

def pytest_evalmetrics_register(registry):
    registry.metrics.register("late")(lambda tasks: 1.0)
"""


@pytest.fixture
def own(project, monkeypatch):
    """A project with things of its own, and an installed package with more."""
    project.write("conftest.py", CONFTEST)
    project.write(
        "lib/shipped.py", "def spread(tasks):\n    'How far tasks lie apart.'\n    return 0.0\n"
    )
    project.write("lib/shipped-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: shipped\n")
    project.write(
        "lib/shipped-1.0.dist-info/entry_points.txt",
        "[pytest_evalmetrics.metrics]\nspread = shipped:spread\ngone = shipped:nothing\n",
    )
    monkeypatch.setenv("PYTHONPATH", str(project.path / "lib"))
    return project


def test_the_list_says_what_there_is_and_who_provides_it(own):
    result = own.run("--evalmetrics-list")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "metrics (*)",
            "  best_task * The task that does best  [[]conftest.py:*]",
            "  gone * can't be loaded: the metric 'gone' of shipped can't be loaded from *",
            "  late *[[]conftest.py:*]",
            "  pass@{k} * The chance that at least one of k rollouts*  [[]built-in]",
            "  spread * How far tasks lie apart  [[]entry point of shipped]",
            "  mean/{score} *",
            "scorers (*)",
            "  length * How long an answer is  [[]conftest.py:*]",
            "  remote *  [[]built-in]",
            "loaders (*)",
            "  jsonl *  [[]built-in]",
            "reporters (*)",
            "  chat * Tells the team  [[]conftest.py:*]",
            "  summary.md *  [[]built-in]",
            "package.module:attribute *",
        ]
    )
    assert not (own.path / "evalmetrics").exists()


OURS = [
    (
        "pass@3",
        [
            "pass@3: metric (one of pass@{k}, k = 3)",
            "  The chance that at least one of k rollouts of a task passes*",
            "  1 - C(n - c, k) / C(n, k) of a task *",
            "    k: a whole number from 1, in the name, here 3",
            "    pass_threshold, pass_estimator: of the benchmark*",
            "  a rate in [[]0, 1]",
            "  from: built-in, pytest_evalmetrics.metrics.builtin_metrics.PassAtK (*:*)",
        ],
    ),
    (
        "pass@k",
        ["pass@k: metric (the family pass@{k})", "    k: a whole number from 1, in the name"],
    ),
    ("pass^k", ["pass^k: metric (the family pass^{k})"]),
    ("max@k/accuracy", ["max@k/accuracy: metric (the family max@{k})"]),
    ("pass^{k}", ["pass^{k}: metric", "*C(c, k) / C(n, k)*"]),
    ("mean/reward", ["mean/reward: metric (one of mean/...)", "  The mean over all rollouts*"]),
    ("pass@1/accuracy[level=hard]", ["*metric (one of pass@{k}, k = 1)"]),
    (
        "remote",
        [
            "remote: scorer",
            "    url (text, required): where to POST",
            "    scores (list of mapping, required): *",
            "      name (text, required): *",
            "        json_path (text, required): *",
            "    max_retries (whole number, default none): *",
        ],
    ),
    ("jsonl", ["jsonl: loader"]),
    ("report.json", ["report.json: reporter", "  Every check with its evidence*"]),
]
OWN = [
    (
        "length",
        ["length: scorer", "    field (required)", "    least: int = 3", "*from: conftest*"],
    ),
    (
        "spread",
        ["spread: metric", "*How far*", "  from: entry point of shipped, shipped.spread (*)"],
    ),
    ("shipped:spread", ["shipped:spread: metric", "*from: named outright, shipped.spread*"]),
]
NOT_THERE = [
    ("pas_rate", "ERROR: there is nothing named 'pas_rate': did you mean 'pass_rate'?"),
    ("", "ERROR: there is nothing named ''"),
    ("no_such.module:thing", "ERROR: the metric 'no_such.module:thing' can't be imported: *"),
]


@pytest.mark.parametrize(("name", "told"), OURS)
def test_one_of_ours_is_explained(pytester, name, told):
    result = Quick(pytester).run("--evalmetrics-explain", name)
    assert result.ret == 0
    result.stdout.fnmatch_lines(told)


@pytest.mark.parametrize(("name", "told"), OWN)
def test_one_of_another_s_is_explained(own, name, told):
    result = own.run("--evalmetrics-explain", name)
    assert result.ret == 0
    result.stdout.fnmatch_lines(told)


def test_a_reference_is_explained_as_the_one_kind_that_it_is(own):
    own.write(
        "mine.py",
        "class Strict:\n    scores = ('ok',)\n    def score(self, row): ...\n"
        "class Median:\n    def compute(self, task_rewards): ...\n"
        "def note(report, prefix): ...\n",
    )
    for name, kind in (("Strict", "scorer"), ("Median", "metric"), ("note", "reporter")):
        text = own.run("--evalmetrics-explain", f"mine:{name}").stdout.str()
        assert text.count(f"mine:{name}: ") == 1
        assert f"mine:{name}: {kind}" in text


def test_a_name_of_one_s_own_is_no_family(own):
    more = '\n\n@register_metric("pass@k")\ndef plain(tasks):\n    "All of them."\n    return 1.0\n'
    own.write("conftest.py", CONFTEST + more)
    result = own.run("--evalmetrics-explain", "pass@k")
    result.stdout.fnmatch_lines(["pass@k: metric", "  All of them."])


@pytest.mark.parametrize(("name", "told"), NOT_THERE)
def test_what_is_not_there_is_a_usage_error(pytester, name, told):
    result = Quick(pytester).run("--evalmetrics-explain", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_what_can_t_be_loaded_is_a_usage_error_that_says_why(own):
    result = own.run("--evalmetrics-explain", "gone")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the metric 'gone' of shipped can't be loaded from *"])


def test_every_thing_of_ours_says_what_it_is(pytester):
    # a process of its own: other tests register things here
    result = pytester.runpytest_subprocess("--evalmetrics-list")
    result.stdout.fnmatch_lines(["*mean_reward*"])
    result.stdout.no_fnmatch_line("*(no description)*")


@pytest.mark.parametrize("name", ["remote", "jsonl"])
def test_how_ours_are_made_is_not_told(pytester, name):
    result = Quick(pytester).run("--evalmetrics-explain", name)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("  Parameters*")
    result.stdout.fnmatch_lines(["  from: built-in*"])


def test_what_can_not_be_called_is_told_at_its_key(project, monkeypatch):
    monkeypatch.setenv("NO", "a-key-that-is-there")
    model = "model:\n      name: m\n      url: http://127.0.0.1:9/v1\n"
    dataset = "    dataset: [{q: a}]\n    prompt_template: '{{ item.q }}'\n"
    rest = dataset + "    scorers: [{type: exact-match, reference: '{{ item.q }}'}]\n"
    project.write(
        "x.bench.yaml",
        f"benchmarks:\n  - name: refused\n    {model}{rest}"
        "  - name: secret\n"
        "    scorers: [{type: nemo-agent-toolkit-remote, url: http://127.0.0.1:8/v1, "
        "evaluator_name: e, api_key_secret: NO}]\n"
        f"    {model}      api_key_secret: NO_SUCH_KEY\n{dataset}",
    )
    run = project.run()
    run.assert_outcomes(failed=2)
    run.stdout.fnmatch_lines(
        ["INCONCLUSIVE  x.bench.yaml:5: *refused the connection", "*x.bench.yaml:14: the secret*"]
    )
