"""What `--help` says of each command: its texts are recorded beside this test.

Lines are cut where a version of Python cuts them, so words alone are compared.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evalmetrics.commands import main

RECORDED = Path(__file__).parent / "help_texts.txt"


def recorded_texts():
    """Read the recorded texts: a line that names the command, and what its help says."""
    texts = {}
    for part in RECORDED.read_text(encoding="utf-8").split("$ ")[1:]:
        command, _, text = part.partition("\n")
        texts[command] = text
    return texts


TEXTS = recorded_texts()


def help_of(command, capsys, monkeypatch):
    """Give what a command's help says below its usage."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    _, *arguments = command.split()
    with pytest.raises(SystemExit):
        main(arguments)
    usage, _, text = capsys.readouterr().out.partition("\n\n")
    assert usage.startswith(f"usage: {command.removesuffix(' --help')}")
    return text


@pytest.mark.parametrize("command", TEXTS)
def test_the_help_of_a_command_is_as_recorded(command, capsys, monkeypatch):
    assert help_of(command, capsys, monkeypatch).split() == TEXTS[command].split()


@pytest.mark.parametrize(
    "command", sorted({text.split()[1] for text in TEXTS} - {"-h"})
)
def test_the_help_of_a_command_loads_neither_pytest_nor_numpy(command):
    code = (
        "import sys; from pytest_evalmetrics.commands import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print({'pytest', 'numpy'} & sys.modules.keys(), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *command.split()[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == "set()\n"
