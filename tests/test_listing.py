"""--evalmetrics-list and --evalmetrics-explain: all that can be named, whoever provides it."""

import pytest

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.listing import explained, listed

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

@register_metric("max@k")
def plain(tasks):
    "All of them."
    return 1.0

@register_reporter("chat")
def chat(report, prefix):
    "Tells the team."

def pytest_evalmetrics_register(registry):
    registry.metrics.register("late")(lambda tasks: 1.0)
"""


SHIPPED = {
    "shipped.py": "def spread(tasks):\n    'How far tasks lie apart.'\n    return 0.0\n",
    "shipped-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: shipped\n",
    "shipped-1.0.dist-info/entry_points.txt": "[pytest_evalmetrics.metrics]\n"
    "spread = shipped:spread\ngone = shipped:nothing\n",
}


@pytest.fixture
def own(project, monkeypatch):
    """A project with things of its own; `run` finds an installed package with more."""
    project.write("conftest.py", CONFTEST)
    for name, text in SHIPPED.items():
        project.write(f"lib/{name}", text)
    monkeypatch.setenv("PYTHONPATH", str(project.path / "lib"))
    project.pytester.syspathinsert()
    project.pytester.syspathinsert(project.path / "lib")
    return project


def test_the_list_shows_each_name_and_its_provider(own):
    result = own.run("--evalmetrics-list")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "metrics (*)",
            "  best_task * The task that does best  [[]conftest.py:*]",
            "  gone * can't be loaded: the metric 'gone' of shipped can't be loaded from *",
            "  late *[[]conftest.py:*]",
            "  pass@{k} * The chance that at least one of k rollouts of a task passes, averaged*  [[]built-in]",
            "  spread * How far tasks lie apart  [[]entry point of shipped]",
            "  mean/{score} *",
            "types of metrics (*)",
            "  f1 * Agreement of a predicted label with the true one: gold, predicted  [[]built-in]",
            "scorers (*)",
            "  length * How long an answer is  [[]conftest.py:*]",
            "loaders (*)",
            "reporters (*)",
            "  chat * Tells the team  [[]conftest.py:*]",
            "  summary.md *  [[]built-in]",
            "gate rules (6)",
            "  practical * A drop of at least max_drop with p < alpha; the default  [[]built-in]",
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
        ],
    ),
    (
        "pass@k",
        [
            "pass@k: metric (the family pass@{k})",
            "    k: a whole number from 1, in the *",
        ],
    ),
    ("max@k/accuracy", ["max@k/accuracy: metric (the family max@{k})"]),
    ("pass^{k}", ["pass^{k}: metric", "*C(c, k) / C(n, k)*"]),
    (
        "mean/reward",
        ["mean/reward: metric (one of mean/...)", "  The mean over all rollouts*"],
    ),
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
    (
        "kappa",
        [
            "kappa: type of metric",
            "  Agreement of a predicted label with the true one.",
            "  defined under metrics:, as NAME: {type: kappa, ...}",
            "    gold (text, required): the column of true labels",
        ],
    ),
    (
        "practical",
        [
            "practical: gate rule",
            "  It fails: a drop of at least max_drop with p < alpha; the default.",
            "  written as baseline: {rule: practical}, *",
        ],
    ),
    ("f1", ["f1: scorer", "f1: type of metric"]),
    (
        "report.json",
        ["report.json: reporter", "  Write all checks with their evidence*"],
    ),
]
OWN = [
    (
        "length",
        [
            "length: scorer",
            "    field (required)",
            "    least: int = 3",
            "*from: conftest*",
        ],
    ),
    ("max@k", ["max@k: metric", "  All of them."]),  # and no family
    (
        "shipped:spread",
        ["shipped:spread: metric", "*from: named outright, shipped.spread*"],
    ),
]


def explain(project, name, lines):
    result = project.run("--evalmetrics-explain", name)
    assert result.ret == 0
    result.stdout.fnmatch_lines(lines)
    return result.stdout


@pytest.mark.parametrize(("name", "lines"), OURS)
def test_built_in_things_are_explained(project, name, lines):
    text = explain(project, name, [*lines, "  from: built-in*"])
    text.no_fnmatch_line("  Parameters*")


@pytest.mark.parametrize(("name", "lines"), OWN)
def test_registered_things_are_explained(own, name, lines):
    explain(own, name, lines)


def test_an_installed_thing_is_explained(own):
    result = own.run("--evalmetrics-explain", "spread")
    assert result.ret == 0
    provider = "  from: entry point of shipped, shipped.spread (*)"
    result.stdout.fnmatch_lines(["spread: metric", "*How far*", provider])


def test_a_reference_is_explained_as_the_one_kind_that_it_is(own):
    own.write(
        "mine.py",
        "class Strict:\n    scores = ('ok',)\n    def score(self, row): ...\n"
        "class Median:\n    def compute(self, task_rewards): ...\n"
        "def note(report, prefix): ...\n",
    )
    for name, kind in (
        ("Strict", "scorer"),
        ("Median", "metric"),
        ("note", "reporter"),
    ):
        text = explain(own, f"mine:{name}", [f"mine:{name}: {kind}*"]).str()
        assert text.count(f"mine:{name}: ") == 1


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", "there is nothing named ''"),
        (
            "no_such.module:thing",
            "the metric 'no_such.module:thing' can't be imported*",
        ),
        ("gone", "the metric 'gone' of shipped can't be loaded from *"),
    ],
)
def test_an_unknown_or_broken_thing_is_a_usage_error(own, name, error):
    result = own.run("--evalmetrics-explain", name)
    assert result.ret == 2
    result.stderr.fnmatch_lines([f"evalmetrics explain: {error}"])


def test_everything_built_in_is_described(project):
    result = project.run("--evalmetrics-list")  # other tests register things here
    result.stdout.fnmatch_lines(["*mean_reward*"])
    result.stdout.no_fnmatch_line("*(no description)*")


def test_a_model_that_refuses_connections_is_reported_at_its_key(project):
    project.write(
        "x.bench.yaml",
        "benchmark:\n  name: refused\n"
        "  model: {url: http://127.0.0.1:9/v1, name: m, max_retries: 0}\n"
        "  dataset: [{q: a}]\n  prompt_template: '{{ item.q }}'\n"
        "  scorers: [{type: exact-match, reference: '{{ item.q }}'}]\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE  x.bench.yaml:3: *refused the connection"]
    )


# -- the list and the explanations themselves ------------------------------------------------


def test_each_kind_of_names_stands_apart():
    lines = listed().split("\n")
    headings = [place for place, line in enumerate(lines) if line.endswith(")")]
    headings = [place for place in headings if not lines[place].startswith(" ")]
    assert [lines[place].partition(" (")[0] for place in headings] == [
        "metrics",
        "types of metrics",
        "scorers",
        "loaders",
        "reporters",
        "gate rules",
    ]
    assert [lines[place - 1] for place in headings[1:]] == [""] * 5


def test_names_and_descriptions_stand_in_columns():
    lines = listed().split("\n")
    exact = next(line for line in lines if line.startswith("  exact "))
    practical = next(line for line in lines if line.startswith("  practical "))
    assert exact.index("Any drop") == practical.index("A drop")


def test_another_spelling_of_a_scorer_is_not_listed_again():
    lines = listed().split("\n")
    spelled = [line for line in lines if line.startswith(("  exact-", "  exact_"))]
    assert len(spelled) == 1


@pytest.mark.parametrize(
    ("name", "meant"), [("pass_rat", "pass_rate"), ("praktical", "practical")]
)
def test_an_unknown_name_is_guessed_among_all_kinds(name, meant):
    with pytest.raises(RegistryError) as unknown:
        explained(name)
    assert str(unknown.value) == (
        f"there is nothing named {name!r}: did you mean {meant!r}?\n"
        "  evalmetrics list prints what there is"
    )


def test_a_rule_is_explained_with_how_it_is_written():
    assert explained("exact") == (
        "exact: gate rule\n\n"
        "  It fails: any drop: for a benchmark without noise.\n\n"
        "  written as baseline: {rule: exact}, or for one metric below baseline: metrics:\n\n"
        "  from: built-in"
    )


def test_a_name_of_two_kinds_is_explained_as_both():
    scorer, type_of_metric = explained("f1").split("\n\nf1: ")
    assert scorer.startswith("f1: scorer\n")
    assert type_of_metric.startswith("type of metric\n")
