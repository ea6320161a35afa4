"""The recipes of CONTRIBUTING.md work: each is written into a folder of its own, and run."""

import re
from pathlib import Path

import pytest
from test_guides import Block, blocks, do

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
_TEXT = PAGE.read_text(encoding="utf-8")
RECIPES = dict(
    re.findall(r"^### (.+?)\n(.*?)(?=^###? |\Z)", _TEXT, re.MULTILINE | re.DOTALL)
)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe, tmp_path):
    do(blocks(RECIPES[recipe]), tmp_path, recipe)


@pytest.mark.parametrize("recipe", [name for name in RECIPES if name != "An option"])
def test_an_extension_is_one_new_file_and_one_line(recipe, tmp_path):
    steps = []
    for block in blocks(RECIPES[recipe]):
        if block.mark == "file: conftest.py":
            steps.append(Block("file: my_extension.py", block.text, block.line))
            line = "import my_extension  # noqa: F401\n"
            steps.append(Block("file: conftest.py", line, block.line))
        else:
            steps.append(block)
    # a shell shows for one of them that pytest finds the new file
    do(steps, tmp_path, recipe, may_fork=recipe != "A metric")


def test_there_are_six_recipes():
    names = ["metric", "scorer", "loader", "gate rule", "reporter", "option"]
    assert [name.partition(" ")[2] for name in RECIPES] == names


def test_each_file_and_folder_that_is_named_exists():
    package = ROOT / "pytest_evalmetrics"
    named = re.findall(r"`(pytest_evalmetrics/[\w./]+)`", _TEXT)
    tables = "\n".join(line for line in _TEXT.splitlines() if line.startswith("|"))
    named += [
        f"pytest_evalmetrics/{path}"
        for path in re.findall(r"`([\w./]+(?:/|\.py))`", tables)
    ]
    assert [path for path in named if not (ROOT / path).exists()] == []
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert packages <= {
        path.removeprefix("pytest_evalmetrics/").rstrip("/") for path in named
    }
