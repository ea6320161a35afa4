"""Options and settings: the command line wins, and what means nothing is refused at the start."""

import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from pytest_evalmetrics import settings


def test_the_journal_lies_in_the_configured_place(project):
    project.write(
        "pytest.ini", "[pytest]\nevalmetrics_journal_path = kept/journal.log\n"
    )
    project.write("empty.jsonl", "")
    result = project.run("--evalmetrics-journal-import", "empty.jsonl")
    result.stderr.fnmatch_lines(
        [
            f"ERROR: *can't be imported into {project.path}/kept/journal.log: it is empty*"
        ]
    )


def test_every_option_and_setting_is_documented():
    declared = {
        word
        for word in re.findall(
            r"--evalmetrics-[a-z-]+[a-z]|evalmetrics_[a-z_]+", declared_names()
        )
        if word not in SPELLINGS_OF_COMMANDS
    }
    page = Path(__file__).parents[1] / "docs" / "options.md"
    documented = re.findall(
        r"--evalmetrics-[a-z-]+|evalmetrics_[a-z_]+", page.read_text("utf-8")
    )
    assert set(documented) == declared


# what `evalmetrics` asks of a run
SPELLINGS_OF_COMMANDS = {
    f"--evalmetrics-{name}"
    for name in (
        "accept-report",
        "calibrate",
        "check",
        "choices",
        "compare",
        "culprit",
        "delete-unused",
        "explain",
        "init",
        "inspect",
        "label",
        "list",
        "plan",
        "runs",
        "schema",
        "to-parquet",
    )
}


def declared_names():
    """Return the names of all options and settings, which the help does not show."""
    names = []

    class Group:
        def addoption(self, name, **_):
            names.append(name)

    class Parser:
        def getgroup(self, *_):
            return Group()

        def addini(self, name, **_):
            names.append(name)

    settings.declare(Parser())
    return " ".join(names)


def test_a_run_that_selects_no_benchmark_has_pytests_own_status(project):
    project.rollouts([[1.0]])
    project.bench()
    assert project.run("-k", "none").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.run("gone.bench.yaml").ret == pytest.ExitCode.USAGE_ERROR


# -- what the options and settings of a run mean ---------------------------------------------


def refusal(config):
    """Return why options are refused; empty where they are not."""
    try:
        settings.validate(config)
    except pytest.UsageError as error:
        return str(error)
    return ""


@pytest.fixture
def configured(pytester):
    """The configuration of a run, with options and settings."""

    def configure(*arguments, **ini):
        lines = "".join(
            f"evalmetrics_{name} = {value}\n" for name, value in ini.items()
        )
        pytester.makeini(f"[pytest]\n{lines}")
        return pytester.parseconfig(*arguments)

    return configure


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--evalmetrics-runs", "2", "--evalmetrics-calibrate"],
        ["--evalmetrics-runs", "50", "--evalmetrics-calibrate"],
        ["--evalmetrics-update", "--evalmetrics-reason", "better"],
        ["--snapshot-update", "--evalmetrics-add-run"],
        ["--evalmetrics-inspect", "a.jsonl", "--evalmetrics-label", "b"],
        ["--evalmetrics-budget", "5usd,30min,1e3calls"],
        ["--evalmetrics-engine", "package.module:attribute"],
    ],
)
def test_options_that_go_together_are_taken(configured, arguments):
    assert refusal(configured(*arguments)) == ""


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ["--evalmetrics-replay", "--evalmetrics-no-journal"],
            (
                "--evalmetrics-replay and --evalmetrics-no-journal contradict each other: give "
                "one of them"
            ),
        ),
        (
            ["--evalmetrics-refresh", "--evalmetrics-replay"],
            (
                "--evalmetrics-replay and --evalmetrics-refresh contradict each other: give "
                "one of them"
            ),
        ),
        (
            ["--evalmetrics-reason", "better"],
            "--evalmetrics-reason needs --evalmetrics-update",
        ),
        (["--evalmetrics-add-run"], "--evalmetrics-add-run needs --evalmetrics-update"),
        (
            ["--evalmetrics-runs", "3"],
            "--evalmetrics-runs needs --evalmetrics-calibrate",
        ),
        (
            ["--evalmetrics-to-parquet", "a"],
            "--evalmetrics-to-parquet needs --evalmetrics-inspect",
        ),
        (
            ["--evalmetrics-label", "a"],
            "--evalmetrics-label needs --evalmetrics-inspect",
        ),
        (
            ["--evalmetrics-calibrate", "--evalmetrics-runs", "1"],
            "--evalmetrics-runs 1: expected a number from 2 to 50",
        ),
        (
            ["--evalmetrics-calibrate", "--evalmetrics-runs", "51"],
            "--evalmetrics-runs 51: expected a number from 2 to 50",
        ),
        (
            ["--evalmetrics-calibrate", "--evalmetrics-runs", "few"],
            "--evalmetrics-runs few: expected a number from 2 to 50",
        ),
        (
            ["--evalmetrics-engine", "rya"],
            "there is no engine 'rya': expected local, ray, or package.module:attribute",
        ),
        (
            ["--evalmetrics-ray-address", "auto"],
            "--evalmetrics-ray-address needs --evalmetrics-engine ray",
        ),
        (
            ["--evalmetrics-check", "--dist=load", "--tx=popen"],
            "--evalmetrics-check works in one process: leave -n out",
        ),
    ],
)
def test_options_that_mean_nothing_together_are_refused(configured, arguments, why):
    assert refusal(configured(*arguments)) == why


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        (
            "family",
            "each",
            "evalmetrics_family = each: expected one of benchmark, run",
        ),
        (
            "baseline_age",
            "soon",
            "evalmetrics_baseline_age: expected a number of days, found 'soon'",
        ),
        (
            "journal",
            "sometimes",
            "evalmetrics_journal = sometimes: expected one of normal, replay, refresh, off",
        ),
        (
            "baseline_age",
            "-1",
            "evalmetrics_baseline_age: expected a number of days, found '-1'",
        ),
    ],
)
def test_settings_that_mean_nothing_are_refused(configured, setting, value, why):
    assert refusal(configured(**{setting: value})) == why


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("5usd", {"cost": (5.0, "5 usd")}),
        ("1call", {"requests": (1.0, "1 call")}),
        ("1000 calls", {"requests": (1000.0, "1000 calls")}),
        ("2e6tokens", {"tokens": (2e6, "2000000 tokens")}),
        ("1.5min", {"seconds": (90.0, "1.5 minutes")}),
        ("1 minute", {"seconds": (60.0, "1 minute")}),
        ("0.5EUR, 2min", {"cost": (0.5, "0.5 eur"), "seconds": (120.0, "2 minutes")}),
    ],
)
def test_a_budget_is_read_in_its_units(configured, text, limits):
    assert settings.budget(configured("--evalmetrics-budget", text)) == limits


def test_a_run_has_no_budget_unless_it_is_given_one(configured):
    assert settings.budget(configured()) == {}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0usd", "0usd"),
        ("5", "5"),
        ("5usd,3eur", "3eur"),
        ("5 sheep", "5 sheep"),
        ("calls", "calls"),
    ],
)
def test_a_limit_that_is_none_or_is_given_twice_is_refused(configured, text, part):
    assert refusal(configured("--evalmetrics-budget", text)) == (
        f"--evalmetrics-budget {text}: {part!r} is not a limit, or a second one of its "
        "kind; expected such as 5usd,2e6tokens,1000calls,30min"
    )


@pytest.mark.parametrize(
    ("arguments", "setting", "mode"),
    [
        ([], "normal", "normal"),
        ([], "replay", "replay"),
        (["--evalmetrics-replay"], "normal", "replay"),
        (["--evalmetrics-refresh"], "replay", "refresh"),
        (["--evalmetrics-no-journal"], "refresh", "off"),
    ],
)
def test_an_option_wins_over_the_mode_of_the_journal_in_settings(
    configured, arguments, setting, mode
):
    assert settings.journal_mode(configured(*arguments, journal=setting)) == mode


@pytest.mark.parametrize(
    ("option", "file"),
    [("answers.log", "answers.log"), ("kept/", "kept/journal.log")],
)
def test_the_journal_lies_where_the_option_says(configured, pytester, option, file):
    config = configured("--evalmetrics-journal", option, journal_path="elsewhere.log")
    assert settings.journal_path(config) == pytester.path / file


def test_a_folder_that_the_option_names_holds_the_journal(configured, pytester):
    pytester.mkdir("kept")
    config = configured("--evalmetrics-journal", "kept")
    assert settings.journal_path(config) == pytester.path / "kept" / "journal.log"


def test_the_journal_lies_in_pytests_cache_folder_without_a_setting(
    configured, pytester
):
    expected = pytester.path / ".pytest_cache" / "d" / "evalmetrics" / "journal.log"
    assert settings.journal_path(configured()) == expected


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        ([], None),
        (["--evalmetrics-journal", "answers.log"], None),
        (["--evalmetrics-journal", "s3://b/answers.log"], "s3://b/answers.log"),
    ],
)
def test_a_journal_that_jobs_share_has_a_url(configured, arguments, url):
    assert settings.journal_url(configured(*arguments)) == url


@pytest.mark.parametrize(
    ("arguments", "moves"),
    [
        ([], False),
        (["--evalmetrics-journal", "answers.log"], False),
        (["--evalmetrics-journal", "s3://b/answers.log"], True),
        (["--evalmetrics-journal-clear"], True),
        (["--evalmetrics-journal-import", "a"], True),
        (["--evalmetrics-journal-export", "a"], True),
    ],
)
def test_options_that_move_answers_are_known(configured, arguments, moves):
    assert settings.moves_journal(configured(*arguments)) is moves


def test_the_history_of_the_option_is_relative_to_where_pytest_is_started(
    configured, pytester
):
    config = configured("--evalmetrics-history", "a.jsonl", history="b.jsonl")
    assert settings.history_path(config) == pytester.path / "a.jsonl"


def test_the_history_of_the_setting_is_relative_to_the_root_folder(
    configured, pytester
):
    config = configured(history="kept/b.jsonl")
    assert settings.history_path(config) == pytester.path / "kept" / "b.jsonl"


def test_no_history_is_kept_unless_one_is_named(configured):
    assert settings.history_path(configured()) is None


@pytest.mark.parametrize(
    ("arguments", "setting", "prefix"),
    [
        ([], "evalmetrics/", "evalmetrics/"),
        ([], "results/run1", "results/run1_"),
        (["--evalmetrics-output", "ci/"], "results/run1", "ci/"),
        (["--evalmetrics-output", "ci"], "evalmetrics/", "ci_"),
    ],
)
def test_artifacts_go_to_a_folder_or_have_a_prefix(
    configured, pytester, arguments, setting, prefix
):
    config = configured(*arguments, output=setting)
    report = Path(f"{settings.output_prefix(config)}report.json")
    assert report == pytester.path / f"{prefix}report.json"


def test_an_output_that_is_a_folder_needs_no_slash(configured, pytester):
    pytester.mkdir("ci")
    config = configured("--evalmetrics-output", "ci")
    report = Path(f"{settings.output_prefix(config)}report.json")
    assert report == pytester.path / "ci" / "report.json"


@pytest.mark.parametrize(
    ("arguments", "setting", "names"),
    [
        ([], "", None),
        ([], "report.json mine", ["report.json", "mine"]),
        (["--evalmetrics-reporters", "a, b,"], "mine", ["a", "b"]),
        (["--evalmetrics-reporters", ""], "mine", []),
    ],
)
def test_reporters_are_chosen_by_the_option_before_the_setting(
    configured, arguments, setting, names
):
    config = configured(*arguments, reporters=setting)
    assert settings.reporter_names(config) == names


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], ""),
        (["--evalmetrics-reason", "a new\n  model "], "a new model"),
    ],
)
def test_the_reason_of_an_update_is_one_line(configured, arguments, reason):
    assert settings.accepted_reason(configured(*arguments)) == reason


@pytest.mark.parametrize(
    ("arguments", "updates"),
    [([], False), (["--snapshot-update"], True), (["--evalmetrics-update"], True)],
)
def test_either_option_updates_baselines(configured, arguments, updates):
    assert settings.updates(configured(*arguments)) is updates


@pytest.mark.parametrize(
    ("arguments", "evaluates", "runs"),
    [
        ([], True, True),
        (["--collect-only"], False, True),
        (["--setup-only"], False, True),
        (["--fixtures"], False, True),
        (["--fixtures-per-test"], False, True),
        (["--evalmetrics-check"], False, False),
        (["--evalmetrics-plan"], False, False),
        (["--evalmetrics-calibrate"], False, False),
        (["--evalmetrics-delete-unused"], False, False),
    ],
)
def test_options_that_evaluate_nothing_are_known(
    configured, arguments, evaluates, runs
):
    config = configured(*arguments)
    assert settings.evaluates_nothing(config) is not evaluates
    assert settings.prints_only(config) is not runs


@pytest.mark.parametrize(
    ("option", "note"),
    [
        (
            ["--evalmetrics-plan"],
            "note: --evalmetrics-plan is a command now: evalmetrics power\n",
        ),
        (
            ["--evalmetrics-init", "a.jsonl"],
            "note: --evalmetrics-init is a command now: evalmetrics init FILE\n",
        ),
        ([], ""),
    ],
)
def test_an_option_that_is_a_command_now_names_it(configured, option, note):
    assert settings.note_on_old_spelling(configured(*option)) == note


def test_a_command_is_not_noted_as_an_option(configured):
    config = configured("--evalmetrics-plan")
    config.stash[settings.COMMAND] = True
    assert settings.note_on_old_spelling(config) == ""


@pytest.mark.parametrize(
    ("arguments", "policy", "needs"),
    [
        ([], "", False),
        ([], "required=safety", True),
        (["--evalmetrics-journal-clear"], "", True),
        (["--dist=load", "--tx=popen"], "", True),
    ],
)
def test_a_session_is_there_from_the_start_where_something_is_prepared(
    configured, arguments, policy, needs
):
    config = configured(*arguments, policy=policy)
    assert settings.needs_session(config) is needs


def test_a_worker_has_a_session_from_the_start(configured):
    config = configured()
    config.workerinput = {}
    assert settings.needs_session(config)


@pytest.mark.parametrize(
    ("patterns", "name", "is_one"),
    [
        ("*.bench.yaml *.bench.yml", "a.bench.yml", True),
        ("*.bench.yaml *.bench.yml", "a.yaml", False),
        ("gate-*.yaml", "gate-a.yaml", True),
    ],
)
def test_benchmark_files_are_known_by_the_configured_patterns(
    configured, patterns, name, is_one
):
    config = configured(files=patterns)
    assert settings.is_benchmark_file(name, config) is is_one


def test_the_days_of_a_baseline_are_read(configured):
    assert settings.baseline_age(configured(baseline_age=" 30 ")) == 30


def test_the_option_names_the_engine_before_the_setting(configured):
    config = configured("--evalmetrics-engine", "a:b", engine="ray")
    assert settings.engine_name(config) == "a:b"


# -- Ray, which may be installed or not ------------------------------------------------------


@pytest.fixture
def with_ray(monkeypatch):
    """Let Ray look as if it was installed."""
    ray = ModuleType("ray")
    ray.__spec__ = ModuleSpec("ray", loader=None)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


WORKERS = ["--dist=load", "--tx=2*popen"]


def test_the_engine_ray_needs_ray(configured, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert refusal(configured("--evalmetrics-engine", "ray")) == (
        "the engine ray needs Ray, which is not installed\n"
        "  pip install 'pytest-evalmetrics[ray]'"
    )


@pytest.mark.usefixtures("with_ray")
def test_the_engine_ray_works_in_one_process(configured):
    assert refusal(configured("--evalmetrics-engine", "ray")) == ""


@pytest.mark.usefixtures("with_ray")
def test_workers_don_t_start_a_cluster_each(configured):
    assert refusal(configured("--evalmetrics-engine", "ray", *WORKERS)) == (
        "with pytest-xdist each worker would start a Ray cluster of its own\n"
        "  name one that runs, with --evalmetrics-ray-address or RAY_ADDRESS; or leave -n "
        "out: each benchmark uses the whole cluster"
    )


@pytest.mark.usefixtures("with_ray")
def test_workers_share_the_cluster_that_the_option_names(configured):
    address = ["--evalmetrics-ray-address", "auto"]
    assert refusal(configured("--evalmetrics-engine", "ray", *address, *WORKERS)) == ""


@pytest.mark.usefixtures("with_ray")
def test_workers_share_the_cluster_that_the_environment_names(configured, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert refusal(configured("--evalmetrics-engine", "ray", *WORKERS)) == ""


# -- paths that pytest takes for tests -------------------------------------------------------


@pytest.mark.parametrize(
    "option",
    [
        "--evalmetrics-output",
        "--evalmetrics-journal",
        "--evalmetrics-journal-import",
        "--evalmetrics-journal-export",
        "--evalmetrics-history",
    ],
)
def test_a_path_elsewhere_that_moves_pytests_root_is_refused_with_the_way_out(
    pytester, tmp_path, option
):
    path = tmp_path / "h.jsonl"
    path.touch()
    config = pytester.parseconfig(option, str(path))
    root = config.rootpath
    assert refusal(config) == (
        f"{option} {path}: pytest took the path for a test's, and its root "
        f"folder is now {root}\n  write {option}={path}"
    )


def test_a_path_that_is_not_there_moves_nothing(pytester, tmp_path):
    history = tmp_path / "h.jsonl"
    assert refusal(pytester.parseconfig("--evalmetrics-history", str(history))) == ""


# -- what pytest --help shows ----------------------------------------------------------------

HELP = """
--evalmetrics-update record the baselines of benchmarks, and no other snapshot
--evalmetrics-reason=TEXT with it: why; the baseline and the history keep it
--evalmetrics-output=PREFIX where the artifacts go: a folder, or a prefix such as results/run1
--evalmetrics-history=FILE append a line per benchmark to this file (.jsonl); reports show the trend
--evalmetrics-replay answer paid calls from the journal alone, without keys
"""
HELP_OF_SETTINGS = """
evalmetrics_files (args): names of the files that hold benchmarks (default: *.bench.yaml *.bench.yml)
evalmetrics_output (string): default of the option, relative to the root folder
evalmetrics_reporters (args): default of the option, separated by spaces
evalmetrics_history (string): default of the option, relative to the root folder
evalmetrics_engine (string): default of the option
evalmetrics_family (string): what the chance alpha of a false alarm is for: a benchmark (default), \
or all of a run together
evalmetrics_baseline_age (string): days after which a committed baseline is warned of; 0 for never
evalmetrics_policy (args): what a build needs: required=TAG,TAG advisory=N
evalmetrics_journal (string): how paid calls use the journal: normal, replay, refresh or off; options win
evalmetrics_journal_path (string): the journal's file, relative to the root folder; default in \
pytest's cache
"""


def words_between(text, first, last):
    """Return the words of a text from one part of it on, to another."""
    begins = text.index(first)
    return " ".join(text[begins : text.index(last, begins + 1)].split())


def test_the_help_describes_the_options_that_matter_and_no_other(project):
    text = project.run("--help").stdout.str()
    section = words_between(text, "gates for benchmarks", "\n\n\n")
    options = section[section.index("--evalmetrics-update") :]
    assert options.startswith(" ".join(HELP.split()))
    assert "--evalmetrics-" not in options[len(" ".join(HELP.split())) :]


def test_the_help_describes_each_setting(project):
    text = project.run("--help").stdout.str()
    described = words_between(text, "  evalmetrics_files", "\n\n")
    assert described.startswith(" ".join(HELP_OF_SETTINGS.split()))


# -- workers and tests -----------------------------------------------------------------------


def test_without_pytest_xdist_no_worker_is_started(pytester):
    assert not settings.starts_workers(pytester.parseconfig("-p", "no:xdist"))


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ([], False),
        (["--dist=load", "--tx=2*popen"], True),
        (["--dist=no", "--tx=2*popen"], False),
        (["--dist=load"], False),
    ],
)
def test_workers_are_started_where_they_have_both_work_and_a_place(
    pytester, arguments, starts
):
    assert settings.starts_workers(pytester.parseconfig(*arguments)) is starts


def test_tests_that_request_the_fixture_are_known(pytester):
    pytester.makepyfile("def test_a(evalmetrics): ...\ndef test_b(): ...")
    asks, asks_not = pytester.inline_genitems()[0]
    assert settings.has_fixture(asks)
    assert not settings.has_fixture(asks_not)
