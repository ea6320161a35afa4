"""``evalmetrics``: the command for everything beside a run of pytest.

Each command is a module that is loaded when it is asked for. It has an example, `add_arguments`,
and either `answer`, which needs the names of a run, or `run`; some have `problem_of` their
arguments.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    import pytest

# a command -> its module, and what it does
_COMMANDS: Final = {
    "init": ("init", "write a benchmark file for recorded results, and record it"),
    "inspect": ("inspect", "show what recorded results hold, and write nothing"),
    "check": ("check", "print everything that is wrong with benchmark files"),
    "power": ("power", "print which losses the gates can see, and what calls cost"),
    "calibrate": ("calibrate", "print the noise of an unchanged system, and settings"),
    "accept": ("accept", "record the last report's runs as baselines"),
    "baselines": ("baselines", "list unused baselines, delete them, or show ages"),
    "case": ("case", "keep a failure in production as a task of a data set"),
    "compare": ("compare", "compare recorded runs with the first one"),
    "culprit": ("culprit", "find the first worse one of several runs"),
    "explain": ("explain", "explain a metric, scorer, loader, rule or reporter"),
    "list": ("list_names", "list what benchmark files can name"),
    "schema": ("schema", "print the JSON Schema of benchmark files or reports"),
    "journal": ("journal", "export, import, clear or show the answers that were paid"),
    "site": ("site", "write a static site over many runs"),
}


_NO_READER: Final = 141  # what a shell reports of a program that a closed pipe ends


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns
    -------
    0 if all is well, 1 if something is not (a regression, a problem, nothing recorded), 2 if
    the command could not be carried out, `_NO_READER` if nobody reads on, as after ``| head``.
    """
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the stream once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NO_READER
    return status


def _run(given: list[str]) -> int:
    name = given[0] if given else ""
    if name not in _COMMANDS:
        if name and not name.startswith("-"):
            return _unknown(name)
        _parser_of_all().parse_args(given or ["--help"])
        return 2
    if name == "case":  # it has commands of its own
        from pytest_evalmetrics.commands.case import main as run_case

        return run_case(given[1:])
    module, asked = _parsed(name, given[1:])
    if hasattr(module, "run"):
        status: int = module.run(asked)
        return status
    from pytest_evalmetrics.commands import in_pytest

    return in_pytest.answer(name, partial(module.answer, asked))


def answer_here(config: pytest.Config, argv: Sequence[str]) -> int:
    """Carry out a command in a run of pytest that has begun already."""
    from pytest_evalmetrics.commands import in_pytest

    module, asked = _parsed(argv[0], argv[1:])
    return in_pytest.answer_in(config, argv[0], partial(module.answer, asked))


def _parsed(name: str, arguments: Sequence[str]) -> tuple[Any, Namespace]:
    """Load a command, and read its arguments."""
    module_name, words = _COMMANDS[name]
    module: Any = import_module(f"pytest_evalmetrics.commands.{module_name}")
    parser = ArgumentParser(
        f"evalmetrics {name}",
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=f"{module.EXAMPLE.strip()}\n",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=name)
    module.add_arguments(parser)
    asked = parser.parse_args(list(arguments))
    problem = module.problem_of(asked) if hasattr(module, "problem_of") else ""
    if problem:
        parser.error(problem)
    return module, asked


def _unknown(name: str) -> int:
    """Refuse a command that is not there."""
    from pytest_evalmetrics.errors import did_you_mean

    guess = did_you_mean(name, list(_COMMANDS), what="there are")
    from pytest_evalmetrics.reports.paragraphs import fitted

    sys.stderr.write(fitted(f"evalmetrics: there is no command {name!r}: {guess}\n"))
    return 2


def _parser_of_all() -> ArgumentParser:
    """Describe the commands."""
    width = max(map(len, _COMMANDS))
    lines = [f"  {name:{width}}  {words}" for name, (_, words) in _COMMANDS.items()]
    parser = ArgumentParser(
        "evalmetrics",
        description="Gates for benchmark results, beside pytest.\n\n"
        + "\n".join(lines),
        epilog="evalmetrics COMMAND --help shows its options, with an example.",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", metavar="COMMAND", choices=list(_COMMANDS), help="one of these"
    )
    return parser
