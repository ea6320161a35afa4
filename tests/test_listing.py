"""--evalmetrics-list and --evalmetrics-explain: all that can be named, whoever provides it."""

import re
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.listing import explained, listed
from pytest_evalmetrics.registry import Scope

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


def test_an_installed_thing_is_explained(own):
    result = own.run("--evalmetrics-explain", "spread")
    assert result.ret == 0
    provider = "  from: entry point of shipped, shipped.spread (*)"
    result.stdout.fnmatch_lines(["spread: metric", "*How far*", provider])


def test_an_unknown_name_is_a_usage_error(project):
    result = project.run("--evalmetrics-explain", "")
    assert result.ret == 2
    result.stderr.fnmatch_lines(["evalmetrics explain: there is nothing named ''"])


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


def test_the_list_ends_with_the_way_to_name_what_it_does_not_hold():
    assert listed().split("\n\n")[-1] == (
        "package.module:attribute names one of your own; evalmetrics explain NAME explains one "
        "of them"
    )


def lines_of(heading):
    """Return the lines below a heading of the list."""
    sections = [section.split("\n") for section in listed().split("\n\n")]
    (section,) = [lines for lines in sections if lines[0].startswith(f"{heading} (")]
    return section[1:]


def test_the_rules_are_listed_with_what_they_fail():
    assert lines_of("gate rules") == [
        "  exact        Any drop: for a benchmark without noise  [built-in]",
        "  absolute     A drop of more than max_drop, whatever its noise  [built-in]",
        "  relative     A drop of more than the share max_drop of the baseline: for costs  [built-in]",
        "  statistical  A drop of any size with p < alpha  [built-in]",
        "  practical    A drop of at least max_drop with p < alpha; the default  [built-in]",
        "  noninferior  Where the run does not show that it lost at most max_drop  [built-in]",
    ]


def test_the_statistics_of_scores_end_the_metrics():
    *_, last = lines_of("metrics")
    name, _, text = last.partition("  NeMo")
    assert name.strip() == "mean/{score}"
    assert text == (
        " Gym's statistics of a score: also max/, min/, median/ and std/  [built-in]"
    )


@pytest.mark.parametrize("heading", ["types of metrics", "scorers", "loaders"])
def test_a_heading_has_the_number_of_its_names(heading):
    assert f"{heading} ({len(lines_of(heading))})\n" in listed()


def test_the_statistics_of_scores_are_no_name_that_counts():
    assert f"metrics ({len(lines_of('metrics')) - 1})\n" in listed()


@pytest.mark.parametrize(
    "line",
    [
        "  share              The share of rollouts with a label: of, label  [built-in]",
        "  win_rate           The share of comparisons won, a tie counting half  [built-in]",
    ],
)
def test_a_type_of_metric_is_listed_with_the_keys_that_it_needs(line):
    assert line in lines_of("types of metrics")


def test_each_type_of_scorer_is_listed_in_its_first_spelling():
    names = [line.split()[0] for line in lines_of("scorers")]
    assert {"exact-match", "llm-judge", "remote"} < set(names)
    assert not {"exact_match", "llm_judge"} & set(names)


def test_everything_built_in_is_described():
    built_in = [line for line in listed().split("\n") if line.endswith("[built-in]")]
    assert len(built_in) > 50
    assert not [line for line in built_in if "(no description)" in line]


# -- things of a project's own ---------------------------------------------------------------


def run_file(path, text):
    """Run a module's text, as an import of the file does."""
    path.write_text(text, encoding="utf-8")
    module = ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102 - as pytest does


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Register things in a conftest.py, for the folder of one test."""
    for names in (registry.metrics, registry.scorers, registry.reporters):
        monkeypatch.setattr(names, "_entries", list(names._entries))

    def register(text):
        run_file(tmp_path / "conftest.py", text)

    with Scope(tmp_path, tmp_path):
        yield register


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Write a module `mine` that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")

    yield write
    sys.modules.pop("mine", None)


def explanation(name):
    """Explain a name, without the line where its code stands."""
    return re.sub(r" \([^()]*:\d+\)$", "", explained(name), flags=re.MULTILINE)


def test_a_metric_of_ones_own_is_explained(registered):
    registered(CONFTEST)
    assert explanation("best_task") == (
        "best_task: metric\n\n  The task that does best.\n\n"
        "  from: conftest.py:4, conftest.BestTask"
    )


def test_a_scorer_of_ones_own_is_explained_with_its_parameters(registered):
    registered(CONFTEST)
    assert explanation("length") == (
        "length: scorer\n\n  How long an answer is.\n\n"
        "  keys\n    field (required)\n    least: int = 3\n\n"
        "  from: conftest.py:12, conftest.Length"
    )


def test_a_name_of_ones_own_is_no_member_of_a_built_in_family(registered):
    registered(CONFTEST)
    assert explanation("max@k") == (
        "max@k: metric\n\n  All of them.\n\n  from: conftest.py:19, conftest.plain"
    )


def test_a_long_name_moves_no_other_description_far_to_the_right(registered):
    long = "a_name_that_is_longer_than_all_other_names"
    registered(CONFTEST.replace('"chat"', repr(long)))
    rows = lines_of("reporters")
    assert f"  {long}  Tells the team  [conftest.py:24]" in rows
    (other,) = [row for row in rows if row.startswith("  summary.md ")]
    assert other.index("Write a Markdown") == 38


def test_a_thing_of_ones_own_is_listed_with_its_place(registered):
    registered(CONFTEST)
    (line,) = [line for line in lines_of("reporters") if line.startswith("  chat ")]
    assert line.split(maxsplit=1)[1] == "Tells the team  [conftest.py:24]"


ENTRY_POINTS = {
    "spread": [EntryPoint("spread", "mine:spread", "pytest_evalmetrics.metrics")],
    "gone": [EntryPoint("gone", "mine:nothing", "pytest_evalmetrics.metrics")],
}
GONE = (
    "the metric 'gone' of an installed package can't be loaded from mine:nothing: "
    "AttributeError: module 'mine' has no attribute 'nothing'"
)


@pytest.fixture
def installed(registered, mine, monkeypatch):  # noqa: ARG001 - what is loaded stays there
    """Install two metrics, of which one is gone."""
    mine("def spread(tasks):\n    'How far tasks lie apart.'\n    return 0.0\n")
    monkeypatch.setitem(vars(registry.metrics), "_entry_points", ENTRY_POINTS)


@pytest.mark.usefixtures("installed")
def test_a_metric_of_a_package_is_explained_with_its_provider():
    assert explanation("spread") == (
        "spread: metric\n\n  How far tasks lie apart.\n\n"
        "  from: entry point of an installed package, mine.spread"
    )


@pytest.mark.usefixtures("installed")
def test_a_thing_that_can_not_be_loaded_is_listed_with_the_reason():
    (line,) = [line for line in lines_of("metrics") if line.startswith("  gone ")]
    assert line.split("  ", 2)[2].strip() == f"can't be loaded: {GONE}"


@pytest.mark.usefixtures("installed")
def test_a_thing_that_can_not_be_loaded_is_not_explained():
    with pytest.raises(RegistryError) as broken:
        explained("gone")
    assert broken.value.message == GONE


def test_a_reference_that_can_not_be_imported_is_not_explained():
    with pytest.raises(RegistryError) as broken:
        explained("no_such.module:thing")
    assert broken.value.message == (
        "the metric 'no_such.module:thing' can't be imported: there is no module 'no_such'"
    )


FAMILY = """from pytest_evalmetrics import register_metric

@register_metric("top@{k}of{n}")
class Top:
    '''The best k of n.

    Parameters
    ----------
    k
        How many
        count.
    '''

    no_interval = "the best have none"

    def __init__(self, k, n, options, limit=3): ...

    def compute(self, task_rewards): ...
"""


def test_a_member_of_a_family_is_explained_with_its_numbers(registered):
    registered(FAMILY)
    assert explanation("top@2of5") == (
        "top@2of5: metric (one of top@{k}of{n}, k = 2, n = 5)\n\n"
        "  The best k of n.\n\n"
        "  Parameters\n  ----------\n  k\n      How many\n      count.\n\n"
        "  keys\n"
        "    k: a whole number from 1, in the name, here 2\n"
        "    n: a whole number from 1, in the name, here 5\n"
        "    pass_threshold, pass_estimator: of the benchmark, where it asks for them\n\n"
        "  no interval: the best have none\n"
        "  from: conftest.py:3, conftest.Top"
    )


COMPUTED = """from pytest_evalmetrics import register_metric

@register_metric("own")
class Own:
    "Computes what it is."

    @property
    def bounded(self):
        return True

    @property
    def no_interval(self):
        return "none"
"""


def test_what_a_metric_computes_of_itself_is_not_explained(registered):
    registered(COMPUTED)
    assert explanation("own") == (
        "own: metric\n\n  Computes what it is.\n\n  from: conftest.py:3, conftest.Own"
    )


WRITTEN = """class Spelled:
    "A scorer."

    def __init__(self, one, two: "list[int]", three: dict[str, int] = None, *more, four="x", **rest): ...

    def score(self, row): ...
"""


def test_a_parameter_is_written_with_its_type_and_its_default(mine):
    mine(WRITTEN)
    assert explanation("mine:Spelled") == (
        "mine:Spelled: scorer\n\n  A scorer.\n\n"
        "  keys\n"
        "    one (required)\n"
        "    two: list[int] (required)\n"
        "    three: dict[str, int] = None\n"
        "    four = 'x'\n\n"
        "  from: named outright, mine.Spelled"
    )


def test_the_terms_of_a_scorer_are_no_key(mine):
    mine(
        "class Own:\n    'A scorer.'\n"
        "    def __init__(self, terms, field): ...\n    def score(self, row): ...\n"
    )
    assert "  keys\n    field (required)\n\n" in explained("mine:Own")


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("class own:\n    def compute(self, tasks): ...", "metric"),
        ("class own:\n    def score(self, row): ...", "scorer"),
        ("class own:\n    scores = ('ok',)", "scorer"),
        ("class own:\n    def read(self, data): ...", "loader"),
        ("class own:\n    def decide(self, values): ...", "gate rule"),
        ("class own:\n    def __init__(self, report): ...", "metric"),
        ("def own(tasks): ...", "metric"),
        ("def own(row): ...", "scorer"),
        ("def own(item, x): ...", "scorer"),
        ("def own(sample): ...", "scorer"),
        ("def own(rows): ...", "loader"),
        ("def own(texts): ...", "loader"),
        ("def own(source): ...", "loader"),
        ("def own(report): ...", "reporter"),
        ("def own(prefix): ...", "reporter"),
        ("def own(comparison): ...", "gate rule"),
        ("def own(gated): ...", "gate rule"),
        ("def own(rule): ...", "gate rule"),
        ("own = 3.5", "metric"),
        ("class Own:\n    def score(self, row): ...\nown = Own()", "scorer"),
    ],
)
def test_a_reference_is_explained_as_the_one_kind_that_it_is(mine, definition, kind):
    mine(definition)
    lines = explained("mine:own").split("\n")
    headings = [line for line in lines if line.startswith("mine:own: ")]
    assert headings == [f"mine:own: {kind}"]


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ("def own(tasks): ...", "(no description)"),
        ("def own(tasks):\n    ''", "(no description)"),
        ("class own: ...", "(no description)"),
        ("class Base:\n    'A base.'\nclass own(Base): ...", "(no description)"),
        ("class own:\n    'Mine.'\n    def compute(self): 'Its own.'", "Mine."),
        ("class own:\n    def compute(self): 'Its own.'", "Its own."),
        ("class Own:\n    'Mine.'\nown = Own()", "Mine."),
        ("class Own:\n    def compute(self): 'Its own.'\nown = Own()", "Its own."),
    ],
)
def test_a_thing_has_the_description_of_its_class_or_of_what_it_computes(
    mine, definition, text
):
    mine(definition)
    assert explained("mine:own").split("\n")[2] == f"  {text}"


def test_a_thing_whose_parameters_are_unknown_is_explained_without():
    assert "\n  keys\n" not in explained("builtins:dict")


# -- built-in things -------------------------------------------------------------------------


SAMPLED = """  The chance that at least one of k rollouts of a task passes, averaged over tasks.

  1 - C(n - c, k) / C(n, k) of a task with n rollouts, c of which pass: the mean over all sets of k of them (Chen et al. 2021, arXiv 2107.03374). ``pass_estimator: first_k`` looks at the first k alone.

  keys
    k: a whole number from 1, in the name{here}
    pass_threshold, pass_estimator: of the benchmark, where it asks for them

  a rate in [0, 1]
  from: built-in, pytest_evalmetrics.metrics.builtin_metrics.PassAtK"""


@pytest.mark.parametrize(
    ("name", "family", "here"),
    [
        ("pass@3", " (one of pass@{k}, k = 3)", ", here 3"),
        ("pass@1/accuracy[level=hard]", " (one of pass@{k}, k = 1)", ", here 1"),
        ("pass@k", " (the family pass@{k})", ""),
        ("pass@{k}", "", ""),
    ],
)
def test_a_family_and_its_members_are_explained(name, family, here):
    heading = f"{name}: metric{family}"
    assert explanation(name) == f"{heading}\n\n{SAMPLED.format(here=here)}"


def test_a_metric_of_a_score_without_bounds_is_no_rate():
    text = explained("max@k/accuracy")
    assert text.startswith("max@k/accuracy: metric (the family max@{k})\n")
    assert "  a rate in [0, 1]" not in text


def test_a_statistic_of_a_score_is_explained():
    assert explanation("mean/reward") == (
        "mean/reward: metric (one of mean/...)\n\n"
        "  The mean over all rollouts; its interval is by task, for these are independent.\n\n"
        "  from: built-in, pytest_evalmetrics.metrics.base_statistics.PooledMean"
    )


def test_a_loader_is_explained_without_keys():
    assert explanation("jsonl") == (
        "jsonl: loader\n\n"
        "  Reads JSON Lines, also with blank lines, a byte-order mark and CRLF.\n\n"
        "  from: built-in, pytest_evalmetrics.rollouts.json_files.JsonLines"
    )


def test_a_reporter_is_explained():
    assert explanation("report.json") == (
        "report.json: reporter\n\n"
        "  Write all checks with their evidence, all estimates, and the scores of each task.\n\n"
        "  from: built-in, pytest_evalmetrics.reports.reporters._report"
    )


def test_a_scorer_is_explained_with_the_keys_of_a_benchmark_file():
    lines = explained("remote").split("\n")
    assert lines[0] == "remote: scorer"
    keys = lines.index("  keys")
    assert lines[keys + 1] == "    url (text, required): where to POST"
    assert (
        "      name (text, required): lower-case letters, digits and _" in lines[keys:]
    )
    assert explanation("remote").endswith("remote_scorers.RemoteScorerSpec")


def test_a_type_of_metric_is_explained_with_its_keys():
    assert explained("share") == (
        "share: type of metric\n\n"
        "  The share of rollouts with a label.\n\n"
        "  defined under metrics:, as NAME: {type: share, ...}\n\n"
        "  keys\n    of (text, required): the column of labels\n"
        "    label (text or whole number or number or true or false, required): "
        "the label that is counted\n\n"
        "  from: built-in"
    )
