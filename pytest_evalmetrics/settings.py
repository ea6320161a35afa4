"""The options and settings; the command line wins."""

from __future__ import annotations

import argparse
import os
import re
from contextlib import suppress
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

# options that print something in place of a run
PRINTING = (
    "evalmetrics_check",
    "evalmetrics_plan",
    "evalmetrics_calibrate",
    "evalmetrics_delete_unused",
)
# an option that is the spelling of a command of old -> the command
_COMMANDS = {
    "evalmetrics_calibrate": "evalmetrics calibrate",
    "evalmetrics_check": "evalmetrics check",
    "evalmetrics_compare": "evalmetrics compare RUN RUN",
    "evalmetrics_culprit": "evalmetrics culprit RUN...",
    "evalmetrics_delete_unused": "evalmetrics baselines delete (or unused)",
    "evalmetrics_explain": "evalmetrics explain NAME",
    "evalmetrics_init": "evalmetrics init FILE",
    "evalmetrics_inspect": "evalmetrics inspect FILE",
    "evalmetrics_list": "evalmetrics list",
    "evalmetrics_plan": "evalmetrics power",
    "evalmetrics_schema": "evalmetrics schema",
}
# set where the command `evalmetrics` asks for what is printed
COMMAND = pytest.StashKey[bool]()
# the folders of baselines that a run came by
BASELINES = pytest.StashKey["list[Path]"]()
POLICY = "evalmetrics_policy"
# the input of xdist's workers: the budget's file, and when the run began
SHARED_BUDGET = "evalmetrics_budget"
BASELINES_FOLDER = "__baselines__"
# the items before any selection
COLLECTED = pytest.StashKey["list[pytest.Item]"]()
_JOURNAL_OPTIONS = {
    "evalmetrics_replay": "replay",
    "evalmetrics_refresh": "refresh",
    "evalmetrics_no_journal": "off",
}
_UPDATES = ("--evalmetrics-reason", "--evalmetrics-add-run")
_NEEDS = {  # an option -> the one that it needs
    "--evalmetrics-runs": "--evalmetrics-calibrate",
    "--evalmetrics-to-parquet": "--evalmetrics-inspect",
    "--evalmetrics-label": "--evalmetrics-inspect",
}
# settings with a choice of words
_CHOICES = {
    "evalmetrics_family": ("benchmark", "run"),
    "evalmetrics_journal": ("normal", "replay", "refresh", "off"),
}


def declare(parser: pytest.Parser) -> None:
    """Declare the options and the settings."""
    group = parser.getgroup("evalmetrics", _GROUP)
    _declare_main(group)
    _declare_further(group)
    _declare_commands(group)
    _declare_settings(parser)


_GROUP = """\
gates for benchmarks

  The five that matter are below. With the same prefix there are also: accept-tasks, add-run,
  affected, all-tasks, budget, engine, first-run, journal, journal-clear, journal-export,
  journal-import, no-journal, ray-address, refresh, reporters, stop-early (docs/options.md).
  Everything else is a command of its own: init, check, power, compare, journal, ...
"""


def _declare_main(group: pytest.OptionGroup) -> None:
    """Declare the options that matter."""
    group.addoption(
        "--evalmetrics-update",
        action="store_true",
        help="record the baselines of benchmarks, and no other snapshot",
    )
    group.addoption(
        "--evalmetrics-reason",
        metavar="TEXT",
        help="with it: why; the baseline and the history keep it",
    )
    group.addoption(
        "--evalmetrics-output",
        metavar="PREFIX",
        help="where the artifacts go: a folder, or a prefix such as results/run1",
    )
    group.addoption(
        "--evalmetrics-history",
        metavar="FILE",
        help="append a line per benchmark to this file (.jsonl); reports show the trend",
    )
    group.addoption(
        "--evalmetrics-replay",
        action="store_true",
        help="answer paid calls from the journal alone, without keys",
    )


def _declare_further(group: pytest.OptionGroup) -> None:
    """Declare the options that the help only names; docs/options.md describes them."""
    hidden = argparse.SUPPRESS
    for name in (
        "accept-tasks",
        "add-run",
        "all-tasks",
        "first-run",
        "journal-clear",
        "no-journal",
        "refresh",
        "stop-early",
    ):
        group.addoption(f"--evalmetrics-{name}", action="store_true", help=hidden)
    for name, value in (
        ("affected", "BASE_COMMIT"),
        ("budget", "LIMITS"),
        ("engine", "ENGINE"),
        ("journal", "PATH"),
        ("journal-export", "FILE"),
        ("journal-import", "FILE"),
        ("ray-address", "ADDRESS"),
        ("reporters", "NAMES"),
    ):
        group.addoption(f"--evalmetrics-{name}", metavar=value, help=hidden)


def _declare_commands(group: pytest.OptionGroup) -> None:
    """Declare what `evalmetrics` asks of a run, which are the spellings of its commands of old."""
    hidden = argparse.SUPPRESS
    group.addoption("--evalmetrics-plan", action="store_true", help=hidden)
    group.addoption("--evalmetrics-check", action="store_true", help=hidden)
    group.addoption("--evalmetrics-calibrate", action="store_true", help=hidden)
    group.addoption("--evalmetrics-runs", metavar="N", help=hidden)
    group.addoption(
        "--evalmetrics-delete-unused",
        choices=["delete", "list"],
        nargs="?",
        const="delete",
        help=hidden,
    )
    group.addoption(
        "--evalmetrics-schema",
        choices=["benchmark", "report"],
        nargs="?",
        const="benchmark",
        help=hidden,
    )
    group.addoption("--evalmetrics-list", action="store_true", help=hidden)
    group.addoption("--evalmetrics-explain", metavar="NAME", help=hidden)
    group.addoption("--evalmetrics-init", metavar="PATH", help=hidden)
    group.addoption("--evalmetrics-choices", metavar="JSON", help=hidden)
    group.addoption("--evalmetrics-inspect", metavar="PATH", help=hidden)
    group.addoption("--evalmetrics-to-parquet", metavar="FILE", help=hidden)
    group.addoption(
        "--evalmetrics-label", metavar="FIELD", action="append", default=[], help=hidden
    )
    group.addoption("--evalmetrics-compare", metavar="RUN", nargs="+", help=hidden)
    group.addoption("--evalmetrics-culprit", metavar="RUN", nargs="+", help=hidden)
    group.addoption("--evalmetrics-accept-report", metavar="FILE", help=hidden)


def _declare_settings(parser: pytest.Parser) -> None:
    """Declare the settings of pytest's configuration file."""
    parser.addini(
        "evalmetrics_files",
        type="args",
        default=["*.bench.yaml", "*.bench.yml"],
        help="names of the files that hold benchmarks (default: *.bench.yaml "
        "*.bench.yml)",
    )
    parser.addini(
        "evalmetrics_output",
        default="evalmetrics/",
        help="default of the option, relative to the root folder",
    )
    parser.addini(
        "evalmetrics_reporters",
        type="args",
        default=[],
        help="default of the option, separated by spaces",
    )
    parser.addini(
        "evalmetrics_history",
        default="",
        help="default of the option, relative to the root folder",
    )
    parser.addini(
        "evalmetrics_engine",
        default="local",
        help="default of the option",
    )
    parser.addini(
        "evalmetrics_family",
        default="benchmark",
        help="what the chance alpha of a false alarm is for: a benchmark "
        "(default), or all of a run together",
    )
    parser.addini(
        "evalmetrics_baseline_age",
        default="90",
        help="days after which a committed baseline is warned of; 0 for never",
    )
    parser.addini(
        POLICY,
        type="args",
        default=[],
        help="what a build needs: required=TAG,TAG advisory=N",
    )
    parser.addini(
        "evalmetrics_journal",
        default="normal",
        help="how paid calls use the journal: normal, replay, refresh or off; "
        "options win",
    )
    parser.addini(
        "evalmetrics_journal_path",
        default="",
        help="the journal's file, relative to the root folder; default in pytest's "
        "cache",
    )


def validate(config: pytest.Config) -> None:
    """Raise UsageError for options that contradict each other, and for invalid settings."""
    _refuse_moved_root(config)
    _refuse_contradictions(config)
    baseline_age(config)
    for setting, choices in _CHOICES.items():
        value = config.getini(setting)
        if value not in choices:
            raise pytest.UsageError(
                f"{setting} = {value}: expected one of {', '.join(choices)}"
            )
    runs = config.getoption("evalmetrics_runs")
    if runs is not None and not (runs.isdecimal() and 2 <= int(runs) <= 50):
        raise pytest.UsageError(
            f"--evalmetrics-runs {runs}: expected a number from 2 to 50"
        )
    budget(config)
    _validate_engine(config)


def _refuse_contradictions(config: pytest.Config) -> None:
    """Raise UsageError for options that do not go together."""
    _refuse_printing_workers(config)
    modes = [_as_written(name) for name in _JOURNAL_OPTIONS if config.getoption(name)]
    if len(modes) > 1:
        raise pytest.UsageError(
            f"{' and '.join(modes)} contradict each other: give one of them"
        )
    _refuse_lacking_options(config)


def _refuse_printing_workers(config: pytest.Config) -> None:
    """Raise UsageError for several processes that each would print an answer."""
    if not starts_workers(config):
        return
    for name in PRINTING:
        if config.getoption(name):
            raise pytest.UsageError(
                f"{_as_written(name)} works in one process: leave -n out"
            )


def _refuse_lacking_options(config: pytest.Config) -> None:
    """Raise UsageError for an option without another that it needs."""
    for option in _UPDATES:
        if config.getoption(option) and not updates(config):
            raise pytest.UsageError(f"{option} needs --evalmetrics-update")
    for option, needed in _NEEDS.items():
        if config.getoption(option) and not config.getoption(needed, default=None):
            raise pytest.UsageError(f"{option} needs {needed}")


# options whose value is a path that may exist
_PATHS = (
    "--evalmetrics-output",
    "--evalmetrics-journal",
    "--evalmetrics-journal-import",
    "--evalmetrics-journal-export",
    "--evalmetrics-history",
)


def _refuse_moved_root(config: pytest.Config) -> None:
    """Raise UsageError where pytest took the value of an option for a test's path.

    It looks for its root folder and configuration before it knows any plugin's options.
    """
    given = config.invocation_params
    if config.getoption("rootdir", default=None) or config.getoption("inifilename"):
        return
    for option, value in pairwise(map(str, given.args)):
        if option not in _PATHS:
            continue
        path = (given.dir / value).resolve()
        is_below = path.is_relative_to(given.dir)
        is_root_above = given.dir.is_relative_to(config.rootpath)
        if path.exists() and not (is_below and is_root_above):
            raise pytest.UsageError(
                f"{option} {value}: pytest took the path for a test's, and its root folder is "
                f"now {config.rootpath}\n  write {option}={value}"
            )


def _as_written(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def updates(config: pytest.Config) -> bool:
    """Check whether baselines are recorded: by our option, or by syrupy's."""
    by_syrupy = config.getoption("update_snapshots", default=False)
    return bool(by_syrupy or config.getoption("evalmetrics_update"))


def note_on_old_spelling(config: pytest.Config) -> str:
    """Name the command that an option of old is now; empty without one, and for a command."""
    if COMMAND in config.stash:
        return ""
    lines = [
        f"note: {_as_written(option)} is a command now: {command}\n"
        for option, command in _COMMANDS.items()
        if config.getoption(option) not in (None, False)
    ]
    return "".join(lines)


def prints_only(config: pytest.Config) -> bool:
    """Check for options that print something in place of a run."""
    return any(map(config.getoption, PRINTING))


def evaluates_nothing(config: pytest.Config) -> bool:
    """Check for options that evaluate no benchmark: --collect-only, --fixtures, our own."""
    options = (
        "collectonly",
        "setuponly",
        "showfixtures",
        "show_fixtures_per_test",
        *PRINTING,
    )
    return any(config.getoption(option, default=False) for option in options)


def moves_journal(config: pytest.Config) -> bool:
    """Check for options that empty, import, export or share the journal."""
    names = ("journal_clear", "journal_import", "journal_export")
    options = (config.getoption(f"evalmetrics_{name}") for name in names)
    return any(options) or journal_url(config) is not None


def needs_session(config: pytest.Config) -> bool:
    """Check for what our session prepares, or takes from workers, before anything is collected."""
    has_policy = bool(config.getini(POLICY))
    is_distributed = is_worker(config) or starts_workers(config)
    return is_distributed or has_policy or moves_journal(config)


def is_worker(config: pytest.Config) -> bool:
    """Check whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def starts_workers(config: pytest.Config) -> bool:
    """Check whether this process starts workers of pytest-xdist, and collects nothing itself."""
    # -n sets both of them, which may be given without it
    distribution = getattr(config.option, "dist", "no")
    workers = getattr(config.option, "tx", [])
    return distribution != "no" and bool(workers)


def shared_budget(config: pytest.Config) -> tuple[Path, float] | None:
    """Return the file in which all workers count what they use, and when the run began."""
    given = getattr(config, "workerinput", {})
    if SHARED_BUDGET not in given:
        return None
    path, started = given[SHARED_BUDGET]
    return Path(path), started


def is_benchmark_file(name: str, config: pytest.Config) -> bool:
    """Check whether a file of that name holds benchmarks."""
    return any(fnmatch(name, pattern) for pattern in config.getini("evalmetrics_files"))


def has_fixture(item: pytest.Item) -> bool:
    """Check whether a test requests the fixture ``evalmetrics``."""
    return "evalmetrics" in getattr(item, "fixturenames", ())


def engine_name(config: pytest.Config) -> str:
    """Return the engine: local, ray, or where another one is imported from."""
    return str(
        config.getoption("evalmetrics_engine") or config.getini("evalmetrics_engine")
    )


def _validate_engine(config: pytest.Config) -> None:
    address = config.getoption("evalmetrics_ray_address")
    name = engine_name(config)
    if name not in ("local", "ray") and ":" not in name:
        expected = "expected local, ray, or package.module:attribute"
        raise pytest.UsageError(f"there is no engine {name!r}: {expected}")
    if name != "ray":
        if address:
            raise pytest.UsageError(
                "--evalmetrics-ray-address needs --evalmetrics-engine ray"
            )
        return
    from importlib.util import find_spec  # only where Ray is asked for

    if find_spec("ray") is None:
        way = "pip install 'pytest-evalmetrics[ray]'"
        raise pytest.UsageError(
            f"the engine ray needs Ray, which is not installed\n  {way}"
        )
    is_running = bool(address or os.environ.get("RAY_ADDRESS"))
    if starts_workers(config) and not is_running:
        what = "with pytest-xdist each worker would start a Ray cluster of its own"
        way = "name one that runs, with --evalmetrics-ray-address or RAY_ADDRESS; or leave -n out"
        raise pytest.UsageError(
            f"{what}\n  {way}: each benchmark uses the whole cluster"
        )


_CURRENCY = 3  # letters of a currency's name, such as usd
_UNITS = {  # units of a budget: the limited quantity, its name, the factor
    "call": ("requests", "call", 1),
    "token": ("tokens", "token", 1),
    "min": ("seconds", "minute", 60),
    "minute": ("seconds", "minute", 60),
}


def budget(config: pytest.Config) -> dict[str, tuple[float, str]]:
    """Return the limits of the run's calls, each with its words: see `transport.Budget`."""
    limits: dict[str, tuple[float, str]] = {}
    text = config.getoption("evalmetrics_budget") or ""
    for part in filter(None, text.split(",")):
        kind, limit, words = _limit_of(part)
        if not kind or kind in limits:
            why = f"{part!r} is not a limit, or a second one of its kind"
            wanted = "expected such as 5usd,2e6tokens,1000calls,30min"
            raise pytest.UsageError(f"--evalmetrics-budget {text}: {why}; {wanted}")
        limits[kind] = (limit, words)
    return limits


def _limit_of(part: str) -> tuple[str, float, str]:
    """Return what a part of a budget limits, to how much, and its words; "" for no limit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?) ?([a-z]+)", part.strip().lower())
    if match is None:
        return "", 0.0, ""
    number = float(match[1])
    unit = match[2]
    known = _UNITS.get(unit.removesuffix("s"))
    if number == 0 or (known is None and len(unit) != _CURRENCY):
        return "", 0.0, ""
    if known is None:
        return "cost", number, f"{number:.12g} {unit}"
    kind, word, factor = known
    if number != 1:
        word += "s"
    return kind, number * factor, f"{number:.12g} {word}"


def journal_mode(config: pytest.Config) -> str:
    """Return the use of the journal: normal, replay, refresh or off."""
    for option, mode in _JOURNAL_OPTIONS.items():
        if config.getoption(option):
            return mode
    return str(config.getini("evalmetrics_journal"))


def journal_path(config: pytest.Config) -> Path:
    """Return the journal's file: in pytest's cache folder, if nothing else is named."""
    option = config.getoption("evalmetrics_journal")
    if option and "://" not in option:
        path = Path(config.invocation_params.dir, option)
        if option.endswith(("/", os.sep)) or path.is_dir():
            return path / "journal.log"
        return path
    named = _from_root(config, "evalmetrics_journal_path")
    if named is not None:
        return named
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    folder = config.rootpath / ".pytest_cache" / "d" / "evalmetrics"
    if cache is not None:
        with suppress(OSError):
            folder = Path(cache.mkdir("evalmetrics"))
    return folder / "journal.log"


def journal_url(config: pytest.Config) -> str | None:
    """Return the URL of the exported journal that jobs share, or None."""
    option = config.getoption("evalmetrics_journal")
    if option and "://" in option:
        return str(option)
    return None


def history_path(config: pytest.Config) -> Path | None:
    """Return the file of the history; None if none is kept."""
    option = config.getoption("evalmetrics_history")
    if option:
        return config.invocation_params.dir / str(option)
    return _from_root(config, "evalmetrics_history")


def baseline_age(config: pytest.Config) -> int:
    """Return the days after which a committed baseline is warned of; 0 for never."""
    text = str(config.getini("evalmetrics_baseline_age")).strip()
    if not text.isascii() or not text.isdigit():
        raise pytest.UsageError(
            f"evalmetrics_baseline_age: expected a number of days, found {text!r}"
        )
    return int(text)


def output_prefix(config: pytest.Config) -> str:
    """Return what every artifact's path starts with: /ci/evalmetrics/ or /ci/results/run1_."""
    option = config.getoption("evalmetrics_output")
    base = config.rootpath
    if option is not None:
        base = config.invocation_params.dir
    value = option or str(config.getini("evalmetrics_output"))
    path = base / value
    if value.endswith(("/", os.sep)) or path.is_dir():
        return f"{path}{os.sep}"
    return f"{path}_"


def reporter_names(config: pytest.Config) -> list[str] | None:
    """Return the chosen reporters; None for the default."""
    option = config.getoption("evalmetrics_reporters")
    if option is not None:
        return [name.strip() for name in option.split(",") if name.strip()]
    return list(config.getini("evalmetrics_reporters")) or None


def accepted_reason(config: pytest.Config) -> str:
    """Return the reason for accepting this run's changes in one line; empty without one."""
    return " ".join(str(config.getoption("evalmetrics_reason") or "").split())


def _from_root(config: pytest.Config, setting: str) -> Path | None:
    path = str(config.getini(setting))
    if not path:
        return None
    return config.rootpath / path
