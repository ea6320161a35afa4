"""What a command hands to the code that does its work, and what it prints of the answer."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalmetrics import commands, compare, listing, run_transport, worse_run
from pytest_evalmetrics.baselines import accepting, all_ages
from pytest_evalmetrics.commands import in_pytest, main, run_plugins
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.reports.html import site
from pytest_evalmetrics.rollouts import parquet_writing, survey

BASE = Path("/somewhere")
NOTHING_CHOSEN = {
    "rows": None,
    "task": None,
    "reward": None,
    "max_drop": None,
    "add_to_testpaths": False,
}


class Recorder:
    """Stands in for a function: keeps its arguments, and returns what it is given."""

    def __init__(self, answer):
        self.answer = answer
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return self.answer

    @property
    def only_args(self):
        """The positional arguments of the only call."""
        ((args, _),) = self.calls
        return args


@pytest.fixture
def replaced(monkeypatch):
    """Replace a function by one that returns the answer and keeps what it is given."""

    def replace(module, name, answer):
        recorder = Recorder(answer)
        monkeypatch.setattr(module, name, recorder)
        return recorder

    return replace


@pytest.fixture
def config():
    """What the commands read of the configuration of a run."""
    return SimpleNamespace(invocation_params=SimpleNamespace(dir=BASE))


@pytest.fixture
def answered(monkeypatch, config):
    """Answer commands here, in place of a run of pytest; keep their names."""
    names = []

    def answer(name, answer_with):
        names.append(name)
        return answer_with(config)

    monkeypatch.setattr(in_pytest, "answer", answer)
    return names


# -- commands that answer --------------------------------------------------------------------


def test_inspect_prints_the_report_and_the_benchmark(answered, replaced, capsys):
    text = survey.SurveyText(report="3 rollouts\n", benchmark="benchmark:\n")
    surveyed = replaced(survey, "survey", text)
    assert main(["inspect", "runs.jsonl"]) == 0
    assert surveyed.only_args[:2] == ("runs.jsonl", BASE)
    assert capsys.readouterr().out == "3 rollouts\n\nbenchmark:\n"
    assert answered == ["inspect"]


@pytest.mark.usefixtures("answered")
def test_inspect_writes_a_parquet_file_with_its_labels(replaced, capsys):
    written = replaced(parquet_writing, "to_parquet", "written\n")
    asked = ["runs.jsonl", "--to-parquet", "runs.parquet", "--label", "a", "--label=b"]
    assert main(["inspect", *asked]) == 0
    assert written.only_args == ("runs.jsonl", "runs.parquet", BASE, ["a", "b"])
    assert capsys.readouterr().out == "written\n"


@pytest.mark.usefixtures("answered")
def test_compare_prints_the_comparison_and_fails_with_it(replaced, capsys):
    compared = replaced(compare, "compare_runs", ("mean_reward fell\n", True))
    assert main(["compare", "a.jsonl", "b.jsonl"]) == 1
    (given,) = compared.only_args
    assert given.runs == ["a.jsonl", "b.jsonl"]
    assert capsys.readouterr().out == "mean_reward fell\n"


@pytest.mark.usefixtures("answered")
def test_compare_writes_text_where_no_format_is_given(replaced):
    compared = replaced(compare, "compare_runs", ("", False))
    assert main(["compare", "a.jsonl", "b.jsonl"]) == 0
    assert compared.only_args[0].format == "text"


@pytest.mark.usefixtures("answered")
def test_culprit_prints_its_lines_and_fails_where_a_run_is_worse(replaced, capsys):
    found = replaced(worse_run, "find_culprit", (["first", "second"], True))
    assert main(["culprit", "a.jsonl", "b.jsonl"]) == 1
    assert found.only_args[0].runs == ["a.jsonl", "b.jsonl"]
    assert capsys.readouterr().out == "first\nsecond\n"


@pytest.mark.usefixtures("answered")
def test_list_prints_the_names(replaced, capsys):
    replaced(listing, "listed", "metrics: pass@{k}")
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "metrics: pass@{k}\n"


@pytest.mark.usefixtures("answered")
def test_explain_prints_what_the_name_means(replaced, capsys):
    explained = replaced(listing, "explained", "pass@k is a metric")
    assert main(["explain", "pass@k"]) == 0
    assert explained.only_args == ("pass@k",)
    assert capsys.readouterr().out == "pass@k is a metric\n"


@pytest.mark.parametrize(
    ("arguments", "handed_on"),
    [
        (["show"], ("show", None, None)),
        (["export", "a.jsonl"], ("export", Path("a.jsonl"), None)),
        (["clear", "--journal", "b"], ("clear", None, Path("b"))),
    ],
)
@pytest.mark.usefixtures("answered")
def test_journal_prints_what_was_done(replaced, config, capsys, arguments, handed_on):
    journal = replaced(run_transport, "journal_answer", "3 answers\n")
    assert main(["journal", *arguments]) == 0
    assert journal.only_args == (config, *handed_on)
    assert capsys.readouterr().out == "3 answers\n"


def test_the_ages_of_baselines_are_printed(answered, replaced, config, capsys):
    ages = replaced(all_ages, "age_lines", ["3 days  a.json", "0 days  b.json"])
    assert main(["baselines", "age"]) == 0
    assert ages.only_args == (config,)
    assert capsys.readouterr().out == "3 days  a.json\n0 days  b.json\n"
    assert answered == ["baselines"]


# -- commands without a run ------------------------------------------------------------------


def test_a_site_is_written_to_its_folder(replaced, capsys):
    built = replaced(site, "build_site", (Path("public/index.html"), ["one is old"]))
    assert main(["site", "artifacts", "--output", "public"]) == 0
    assert built.only_args == (Path("artifacts"), Path("public"))
    printed = capsys.readouterr()
    assert printed.out == "public/index.html\n"
    assert printed.err == "evalmetrics site: one is old\n"


def test_a_site_is_written_to_the_folder_site_by_default(replaced):
    built = replaced(site, "build_site", (Path("site/index.html"), []))
    main(["site", "artifacts"])
    assert built.only_args == (Path("artifacts"), Path("site"))


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ([], "Benchmark file of pytest-evalmetrics"),
        (["report"], "pytest-evalmetrics report"),
    ],
)
def test_a_schema_is_printed_without_a_run(arguments, title, capsys):
    assert main(["schema", *arguments]) == 0
    assert f'"title": "{title}"' in capsys.readouterr().out


def test_cases_have_commands_of_their_own(replaced):
    ran = replaced(
        commands.import_module("pytest_evalmetrics.commands.case"), "main", 3
    )
    assert main(["case", "add", "x"]) == 3
    assert ran.only_args == (["add", "x"],)


# -- commands that let pytest run ------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "handed_on"),
    [
        (["check", "a", "b"], (["--evalmetrics-check"], "a", "b")),
        (["power", "a"], (["--evalmetrics-plan"], "a")),
        (["calibrate", "a"], (["--evalmetrics-calibrate"], "a")),
        (
            ["calibrate", "a", "--runs", "5"],
            (["--evalmetrics-calibrate", "--evalmetrics-runs=5"], "a"),
        ),
    ],
)
def test_pytest_is_asked_with_an_option(replaced, arguments, handed_on):
    run = replaced(in_pytest, "run", 1)
    assert main(arguments) == 1
    assert run.only_args == handed_on


@pytest.mark.parametrize(
    ("arguments", "choices"),
    [
        ([], NOTHING_CHOSEN),
        (["--rows=r"], NOTHING_CHOSEN | {"rows": "r"}),
        (["--task=t"], NOTHING_CHOSEN | {"task": "t"}),
        (["--reward=w"], NOTHING_CHOSEN | {"reward": "w"}),
        (["--max-drop=0.5"], NOTHING_CHOSEN | {"max_drop": 0.5}),
        (["--add-to-testpaths"], NOTHING_CHOSEN | {"add_to_testpaths": True}),
    ],
)
def test_the_choices_of_init_are_handed_on_as_json(replaced, arguments, choices):
    run = replaced(in_pytest, "run", 0)
    assert main(["init", "a.csv", *arguments]) == 0
    ((rollouts, chosen),) = run.only_args
    assert rollouts == "--evalmetrics-init=a.csv"
    assert json.loads(chosen.removeprefix("--evalmetrics-choices=")) == choices


def test_a_report_that_can_t_be_accepted_is_said_and_asks_nothing(
    monkeypatch, replaced, capsys
):
    def refuse(report, ids):
        raise DataError(f"{report} has no {ids}")

    monkeypatch.setattr(accepting, "to_accept", refuse)
    run = replaced(in_pytest, "run", 0)
    assert main(["accept", "a::b", "--reason", "r", "--report", "r.json"]) == 2
    assert run.calls == []
    assert capsys.readouterr().err == "evalmetrics accept: r.json has no ['a::b']\n"


# -- the run of pytest -----------------------------------------------------------------------


@pytest.fixture
def status_of_run(replaced, monkeypatch):
    """Take the place of pytest, where neither pytest-xdist nor pytest-cov is installed."""
    monkeypatch.setattr(in_pytest, "_one_process", list)
    return replaced(run_plugins, "status_of_run", 0)


IMPORTED = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]


def test_a_run_for_a_command_is_quiet(status_of_run):
    assert in_pytest.run(["--evalmetrics-check"], "a") == 0
    arguments, plugin = status_of_run.only_args
    assert arguments == ["-qq", "--no-header", *IMPORTED, "--evalmetrics-check", "a"]
    assert isinstance(plugin, run_plugins.AsCommand)


@pytest.mark.parametrize(
    ("of_pytest", "of_command"), [(0, 0), (5, 0), (1, 1), (2, 2), (3, 2), (4, 2)]
)
def test_the_status_of_a_command_is_0_1_or_2(status_of_run, of_pytest, of_command):
    status_of_run.answer = of_pytest
    assert in_pytest.run([]) == of_command


def test_a_command_is_answered_by_a_plugin_in_place_of_a_run(
    status_of_run, monkeypatch, config
):
    answered = []

    def answer_in(config, name, answer_with):
        answered.append((config, name, answer_with))
        return 7

    monkeypatch.setattr(in_pytest, "answer_in", answer_in)
    status_of_run.answer = 3
    assert in_pytest.answer("list", print) == 3
    arguments, plugin = status_of_run.only_args
    assert arguments == IMPORTED
    assert plugin.pytest_cmdline_main(config) == 7
    assert answered == [(config, "list", print)]


@pytest.mark.parametrize(
    ("package", "options"),
    [("xdist", ["-n", "0"]), ("pytest_cov", ["--no-cov"]), ("another", [])],
)
def test_plugins_that_split_a_run_are_switched_off(monkeypatch, package, options):
    monkeypatch.setattr(
        in_pytest.importlib.util,
        "find_spec",
        lambda name: name if name == package else None,
    )
    assert in_pytest._one_process() == options


def test_the_plugin_of_a_run_marks_that_a_command_asks():
    config = SimpleNamespace(stash={})
    run_plugins.AsCommand().pytest_cmdline_main(config)
    assert config.stash == {run_plugins.COMMAND: True}


def test_pytest_runs_with_the_plugin_and_gives_its_status(replaced):
    ran = replaced(pytest, "main", pytest.ExitCode.TESTS_FAILED)
    plugin = run_plugins.AsCommand()
    assert run_plugins.status_of_run(("-q", "a"), plugin) == 1
    assert ran.calls == [((["-q", "a"],), {"plugins": [plugin]})]
