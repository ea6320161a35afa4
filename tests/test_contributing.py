"""The recipes of CONTRIBUTING.md work: each is written into a folder of its own, and run."""

import re
import shutil
from pathlib import Path

import pytest
from test_guides import blocks, do

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
_TEXT = PAGE.read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^###? |\Z)", _TEXT, re.MULTILINE | re.DOTALL))


def apply(diff, room):
    """Make the changes of a diff without line numbers, each where its old lines occur once."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        old = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] != "+")
        new = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] != "-")
        texts = {path: path.read_text(encoding="utf-8") for path in room.rglob("*.py")}
        homes = [path for path, text in texts.items() for _ in range(text.count(old))]
        assert len(homes) == 1, f"{room} has this {len(homes)} times:\n{old}"
        homes[0].write_text(texts[homes[0]].replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe, tmp_path, monkeypatch):
    def edit(room, diff):
        if not (tmp_path / "pytest_evalmetrics").exists():
            ours = shutil.ignore_patterns("__pycache__")
            source = ROOT / "pytest_evalmetrics"
            shutil.copytree(source, tmp_path / source.name, ignore=ours)
            monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        apply(diff, tmp_path / room)

    do(blocks(RECIPES[recipe]), tmp_path, recipe, edit)


def test_there_are_six_recipes():
    names = ["metric", "scorer", "loader", "gate rule", "reporter", "option"]
    assert [name.partition(" ")[2] for name in RECIPES] == names


def test_each_file_and_folder_that_is_named_exists():
    package = ROOT / "pytest_evalmetrics"
    named = re.findall(r"`(pytest_evalmetrics/[\w./]+)`", _TEXT)
    tables = "\n".join(line for line in _TEXT.splitlines() if line.startswith("|"))
    named += [f"pytest_evalmetrics/{path}" for path in re.findall(r"`([\w./]+(?:/|\.py))`", tables)]
    assert [path for path in named if not (ROOT / path).exists()] == []
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    assert rooms <= {path.removeprefix("pytest_evalmetrics/").rstrip("/") for path in named}
