"""The guides do what they say: every block of a page is written, or run, and its output is found.

A comment before a block says what it is: ``file: NAME`` (the block is written there), ``run`` or
``run: exit 1`` (a shell runs it), ``shows`` (lines of what the last run printed; ``...`` stands for
anything), ``not run: REASON``. A page is one project, from its first block to its last.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from forked import Run

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = [
    *sorted((DOCS / "guides").glob("*.md")),
    DOCS / "ci.md",
    DOCS / "how-many-tasks.md",
    DOCS / "python.md",
    DOCS / "history.md",
]
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
# a program of ours, and words that a shell splits alike
_OURS = re.compile(r"(pytest|evalmetrics)( [\w./:@=,-]+| \"[^\"$`\\]*\")*")
# programs whose commands say nothing to the next line
_ALONE = re.compile(
    r"(pytest|evalmetrics|python|ls|cat|echo|grep|head|sed) .*[^\\]|pytest"
)
_MODULES = {"pytest": "pytest", "evalmetrics": "pytest_evalmetrics"}
# files that Python runs, or that pytest finds itself
_NO_MODULE = re.compile(
    r"(conftest|record|bot|eval|make_questions|my_extension|test_\w+)\.py"
)
_FROM_OUTSIDE = ("PYTEST", "GITHUB_", "GITLAB_", "CI", "EVALMETRICS")


@dataclass
class Block:
    """A fenced block of a page."""

    mark: str
    text: str
    line: int


def blocks(text):
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        yield Block(match["mark"] or "", match["text"], line)


def run(block, folder, *, may_fork):
    """Run a block's commands until one fails; give its status, and all that they printed."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(_FROM_OUTSIDE)
    }
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    environment |= {"COLUMNS": "400", "HOME": str(folder)}
    commands = block.text.splitlines()
    # a fork finds modules in its folder too
    others = {
        path.name for path in folder.glob("*.py") if not _NO_MODULE.match(path.name)
    }
    forks = (
        may_fork
        and not others
        and "PYTHONPATH" not in environment
        and all(map(_ALONE.fullmatch, commands))
    )
    with tempfile.TemporaryFile() as out:
        for command in commands if forks else [block.text]:
            if forks and _OURS.fullmatch(command):
                program, *arguments = shlex.split(command)
                forked = [sys.executable, "-m", _MODULES[program], *arguments]
                process = Run(forked, folder, environment, out, out)
            else:
                shell = ["bash", "-euo", "pipefail", "-c", command]
                process = subprocess.Popen(
                    shell,
                    cwd=folder,
                    env=environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            if status := process.wait(timeout=120):
                break
        out.seek(0)
        return status, out.read().decode()


def shown(line, printed):
    pattern = re.sub(r"([\[?*])", r"[\1]", line.strip()).replace("...", "*")
    return any(fnmatchcase(each.strip(), pattern) for each in printed.splitlines())


def do(page, folder, name, *, may_fork=True):
    """Write and run the blocks of a page, one after the other."""
    printed = ""
    for block in page:
        where = f"{name}, line {block.line}"
        kind, _, rest = block.mark.partition(": ")
        if kind == "file":
            path = folder / rest
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif kind == "run":
            status, printed = run(block, folder, may_fork=may_fork)
            assert status == int(rest.removeprefix("exit ") or 0), (
                f"{where}: {status}\n{printed}"
            )
        elif kind == "shows":
            missing = [
                line for line in block.text.splitlines() if not shown(line, printed)
            ]
            assert not missing, f"{where}: {missing}\nis not in\n{printed}"
        else:
            assert kind == "not run", f"{where}: a block that says not what it is"
            assert rest, where


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_blocks_of_a_guide_work(page, tmp_path):
    do(blocks(page.read_text(encoding="utf-8")), tmp_path, page.name)
