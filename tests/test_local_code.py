"""The fingerprint of a project's function: what counts of its source, and what it uses."""

import importlib
import sys
from types import ModuleType

import pytest

from pytest_evalmetrics.local_code import code_hash, source_hash

SCORE = """\
import json
from my_helpers import clean
from my_package import words
import my_settings

LIMIT = 3


def unused():
    return 1


def score(row):
    from my_late import late

    return helper(row) + LIMIT + clean(row) + late(row) + my_settings.SIZE


def helper(row):
    return words.count(row)


class Scorer:
    def score(self, row):
        return helper(row)
"""
MODULES = {
    "my_scores.py": SCORE,
    "my_helpers.py": "def clean(row):\n    return 1\n\n\ndef other(row):\n    return 2\n",
    "my_late.py": "def late(row):\n    return 5\n",
    "my_settings.py": "SIZE = 8\n",
    "my_package/__init__.py": "",
    "my_package/words.py": "from .letters import of\n\n\ndef count(row):\n    return of(row)\n",
    "my_package/letters.py": "def of(row):\n    return 7\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of modules, of which one is imported."""
    for name, text in MODULES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("my_scores")
    yield tmp_path
    for name in list(sys.modules):
        if name.startswith("my_"):
            del sys.modules[name]


def hash_with(folder, file, old, new, reference="my_scores:score"):
    """Hash a function before and after a change of a file."""
    before = code_hash(reference)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    return before, code_hash(reference)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("my_scores.py", "helper(row) + LIMIT", "helper(row) - LIMIT"),
        ("my_scores.py", "LIMIT = 3", "LIMIT = 4"),
        ("my_scores.py", "words.count(row)", "words.count(row) + 1"),
        ("my_helpers.py", "return 1", "return 10"),
        ("my_late.py", "return 5", "return 50"),
        ("my_settings.py", "SIZE = 8", "SIZE = 80"),
        ("my_package/words.py", "return of(row)", "return of(row) + 1"),
        ("my_package/letters.py", "return 7", "return 70"),
    ],
)
def test_a_change_of_what_a_function_uses_changes_its_hash(folder, file, old, new):
    before, after = hash_with(folder, file, old, new)
    assert before != after


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("my_scores.py", "return 1", "return 10"),  # of what it does not use
        ("my_scores.py", "LIMIT = 3", "LIMIT = 3  # words"),
        ("my_scores.py", "LIMIT = 3", "LIMIT=(3)"),
        ("my_scores.py", "def score(row):\n", 'def score(row):\n    """Score."""\n'),
        ("my_helpers.py", "return 2", "return 20"),
    ],
)
def test_comments_format_and_what_is_not_used_do_not_count(folder, file, old, new):
    before, after = hash_with(folder, file, old, new)
    assert before == after


def test_the_code_of_a_method_is_that_of_its_class(folder):
    before, after = hash_with(
        folder,
        "my_scores.py",
        "class Scorer:\n",
        "class Scorer:\n    depth = 3\n\n",
        "my_scores:Scorer.score",
    )
    assert before != after


@pytest.mark.usefixtures("folder")
def test_a_function_has_the_hash_of_its_name():
    module = sys.modules["my_scores"]
    assert source_hash(module.score) == code_hash("my_scores:score")
    assert source_hash(module.Scorer) == code_hash("my_scores:Scorer")
    assert source_hash(module.Scorer()) == code_hash("my_scores:Scorer")


@pytest.mark.usefixtures("folder")
def test_two_functions_have_two_hashes():
    hashes = {code_hash("my_scores:score"), code_hash("my_scores:helper")}
    assert len(hashes) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("reference", ["my_nothing:score", "my_scores:nothing"])
def test_code_that_is_not_there_has_no_hash(reference):
    assert code_hash(reference) == ""


def test_code_without_a_source_has_no_hash():
    assert source_hash(len) == ""


def test_a_file_that_can_not_be_parsed_has_no_hash(folder):
    (folder / "my_scores.py").write_text("def score(:\n")
    assert code_hash("my_scores:score") == ""


# -- how names are found ---------------------------------------------------------------------


def hashes_around(folder, text, file, old, new):
    """Hash `my_module:score` before and after a change of a file."""
    (folder / "my_module.py").write_text(text)
    importlib.invalidate_caches()
    importlib.import_module("my_module")
    return hash_with(folder, file, old, new, "my_module:score")


HELPERS_ALL = "from my_helpers import *\n\n\ndef score(row):\n    return clean(row)\n"


@pytest.mark.parametrize("number", [1, 2])
def test_all_of_a_module_counts_where_all_is_imported(folder, number):
    before, after = hashes_around(
        folder, HELPERS_ALL, "my_helpers.py", f"return {number}", "return 30"
    )
    assert before != after


BELOW_TRY = """\
try:
    from my_settings import SIZE
except ImportError:
    SIZE = 1


def score(row):
    return SIZE
"""


@pytest.mark.parametrize(
    "text",
    [
        "import my_settings as own\n\n\ndef score(row):\n    return own.SIZE\n",
        "if True:\n    import my_settings\n\n\ndef score(row):\n    return my_settings.SIZE\n",
        "def score(row):\n    import my_settings\n    return my_settings.SIZE\n",
        "from my_settings import SIZE as size\n\n\ndef score(row):\n    return size\n",
        "from my_settings import SIZE\n\n\nasync def score(row):\n    return SIZE\n",
        "import my_settings\n\nscore = my_settings.SIZE\n",
        "import my_settings\n\nscore: int = my_settings.SIZE\n",
        BELOW_TRY,
    ],
    ids=[
        "another name",
        "below if",
        "inside",
        "renamed",
        "async",
        "a value",
        "an annotated value",
        "below try",
    ],
)
def test_what_is_imported_counts_however_it_is_imported(folder, text):
    before, after = hashes_around(
        folder, text, "my_settings.py", "SIZE = 8", "SIZE = 80"
    )
    assert before != after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A scorer."""', '"""Another one."""'),
        ('"""Score."""', '"""Score a row."""'),
        ("# why", "# why so"),
    ],
)
def test_docstrings_inside_of_a_class_do_not_count(folder, old, new):
    text = (
        'class score:\n    """A scorer."""\n\n    async def run(self):\n'
        '        """Score."""\n        return 1  # why\n'
    )
    before, after = hashes_around(folder, text, "my_module.py", old, new)
    assert before == after


def test_the_order_of_definitions_counts(folder):
    text = "SIZE = 1\nSIZE = 2\n\n\ndef score(row):\n    return SIZE\n"
    before, after = hashes_around(
        folder, text, "my_module.py", "SIZE = 1\nSIZE = 2", "SIZE = 2\nSIZE = 1"
    )
    assert before != after


def test_a_text_that_is_no_docstring_counts(folder):
    text = 'def score(row):\n    return "yes"\n'
    before, after = hashes_around(folder, text, "my_module.py", "yes", "no")
    assert before != after


def test_a_module_of_a_parent_package_is_found(folder):
    (folder / "my_package/deep").mkdir()
    (folder / "my_package/deep/__init__.py").write_text("")
    (folder / "my_package/deep/scores.py").write_text(
        "from ..letters import of\n\n\ndef score(row):\n    return of(row)\n"
    )
    importlib.invalidate_caches()
    importlib.import_module("my_package.deep.scores")
    before, after = hash_with(
        folder,
        "my_package/letters.py",
        "return 7",
        "return 70",
        "my_package.deep.scores:score",
    )
    assert before != after


def test_a_module_beside_is_found(folder):
    (folder / "my_package/scores.py").write_text(
        "from . import letters\n\n\ndef score(row):\n    return letters.of(row)\n"
    )
    importlib.invalidate_caches()
    importlib.import_module("my_package.scores")
    before, after = hash_with(
        folder,
        "my_package/letters.py",
        "return 7",
        "return 70",
        "my_package.scores:score",
    )
    assert before != after


@pytest.mark.parametrize(
    "first",
    [
        "from my_broken import clean",
        "from my_settings import SIZE as clean",
        "import my_settings",
        "from my_not_installed import clean",
    ],
)
def test_what_is_imported_behind_a_broken_or_known_module_counts(folder, first):
    (folder / "my_broken.py").write_text("def clean(:\n")
    text = (
        "import my_settings\n\n\ndef score(row):\n"
        f"    {first}\n    from my_late import late\n"
        "    return late(row) + my_settings.SIZE\n"
    )
    before, after = hashes_around(folder, text, "my_late.py", "return 5", "return 50")
    assert before != after


def test_what_is_installed_counts_by_its_name_alone(folder):
    """It has a version of its own, which is recorded elsewhere."""
    text = "import msgspec\n\n\ndef score(row):\n    return msgspec.json\n"
    before, after = hashes_around(folder, text, "my_module.py", "msgspec", "yaml")
    assert before != after
    assert len(before) == 12


def test_each_module_of_a_package_that_is_imported_counts(folder):
    text = (
        "from my_package import words, letters\n\n\n"
        "def score(row):\n    return words.count(row) + letters.of(row)\n"
    )
    (folder / "my_package/words.py").write_text("def count(row):\n    return 3\n")
    before, after = hashes_around(
        folder, text, "my_package/letters.py", "return 7", "return 70"
    )
    assert before != after


@pytest.mark.parametrize(
    "imports", ["from my_space.words import count", "from my_space import words"]
)
def test_a_package_without_an_init_file_counts(folder, imports):
    (folder / "my_space").mkdir()
    (folder / "my_space/words.py").write_text("def count(row):\n    return 7\n")
    text = f"def score(row):\n    {imports}\n    return 1\n"
    before, after = hashes_around(
        folder, text, "my_space/words.py", "return 7", "return 70"
    )
    assert before != after


def test_a_module_that_was_made_and_not_imported_counts_by_its_name_alone(
    folder, monkeypatch
):
    monkeypatch.setitem(sys.modules, "my_made", ModuleType("my_made"))
    text = "import my_made\n\n\ndef score(row):\n    return my_made.clean(row)\n"
    before, after = hashes_around(
        folder, text, "my_module.py", "my_made.clean", "my_made.tidy"
    )
    assert before != after


def test_a_recorded_hash_is_that_of_every_version(folder):
    """Baselines hold it: another one would be a change of the scorer."""
    text = (
        "from my_helpers import clean\n\nLIMIT = [1, None, 'x']\n\n\n"
        "def score(row: dict, *rest):\n    return [clean(row) + LIMIT[0], -1 if rest else {}]\n"
    )
    (folder / "my_module.py").write_text(text)
    importlib.invalidate_caches()
    importlib.import_module("my_module")
    assert code_hash("my_module:score") == "ce795593e8f8"


def test_what_this_package_offers_counts_by_its_name_alone(folder):
    """It has a version of its own, also where it is being developed."""
    text = (
        "from pytest_evalmetrics.registry import metrics\n\n\n"
        "def score(row):\n    return metrics\n"
    )
    (folder / "my_module.py").write_text(text)
    importlib.invalidate_caches()
    importlib.import_module("my_module")
    assert code_hash("my_module:score") == "418bf5ab6513"
