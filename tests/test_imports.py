"""The walls of the package: no circles, and what built-in extensions may import.

Imports in functions count as imports. Imports for annotations alone (`if TYPE_CHECKING:`)
don't: they load nothing.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

import pytest_evalmetrics
from pytest_evalmetrics import ext

PACKAGE = Path(pytest_evalmetrics.__file__).parent


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


# what holds statements: expressions import nothing
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def is_for_annotations(node):
    """Check for `if TYPE_CHECKING:`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def executed_imports(node):
    """Yield (module, name) of each import that a run may execute."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.module, alias.name) for alias in node.names)
    for block in BLOCKS:
        if block == "body" and is_for_annotations(node):
            continue
        for statement in getattr(node, block, ()):
            yield from executed_imports(statement)


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def parsed(path):
    return ast.parse(text_of(path))


@cache
def imports_of(path):
    return {
        (module, name)
        for module, name in executed_imports(parsed(path))
        if module.partition(".")[0] == "pytest_evalmetrics"
    }


def imported_modules(path):
    """Return the modules that a module's imports load, packages by their own name."""
    modules = set()
    for module, name in imports_of(path):
        submodule = f"{module}.{name}"
        modules.add(submodule if submodule in MODULES else module)
    return modules - {module_name(path)}


def circle_in(graph):
    """Return the modules of a circle; empty without one."""
    left = {module: set(targets) for module, targets in graph.items()}
    while True:
        ends = {module for module, targets in left.items() if not targets & left.keys()}
        if not ends:
            return sorted(left)
        for module in ends:
            del left[module]
        if not left:
            return []


def test_imports_go_in_no_circle():
    graph = {module: imported_modules(path) for module, path in MODULES.items()}
    assert circle_in(graph) == []


def test_a_circle_of_imports_would_be_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}
    assert circle_in(graph) == ["a", "b", "c"]


def test_only_extensions_import_the_api_for_extensions():
    importers = [
        module
        for module, path in MODULES.items()
        if "pytest_evalmetrics.ext" in imported_modules(path)
    ]
    assert importers == []


def called_name(call):
    """Return the last name of what is called: `import_module` of `importlib.import_module`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return getattr(call.func, "id", "")


def literal_modules(path):
    """Return what `import_module` is called with, where the name stands in the code."""
    names = set()
    if "import_module" not in text_of(path):
        return names
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and called_name(node) == "import_module":
            names.add(ast.unparse(node.args[0]))
    return names


def test_nothing_imports_a_room_by_a_string():
    strings = {
        (module, name)
        for module, path in MODULES.items()
        for name in literal_modules(path)
        if "pytest_evalmetrics" in name
    }
    # within the package: classes of keys that stand further down, the command that is asked for
    assert strings == {
        (
            "pytest_evalmetrics.spec.field_types",
            "f'pytest_evalmetrics.spec.{module}'",
        ),
        (
            "pytest_evalmetrics.commands",
            "f'pytest_evalmetrics.commands.{module_name}'",
        ),
    }


# -- built-in extensions ---------------------------------------------------------------------

OFFERED = {name for _, name in imports_of(Path(ext.__file__))}

# Files -> those of them that are no extensions, and the helpers that the extensions share.
# Every other file is an extension, also one that is written tomorrow.
RULES = {
    "rollouts/loaders/*.py": (
        {"__init__", "inspect_results"},
        {
            "json_types",
            "model.rollout_notes",
            "rollouts.format_keys",
            "rollouts.json_values",
            "rollouts.loaders.inspect_results",
            "rollouts.not_judged",
            "rollouts.repeated_reports",
            "rollouts.stated_totals",
            "rollouts.tool_loader",
            "rollouts.tool_usage",
        },
    ),
    "scoring/scorers/*.py": (
        {"__init__", "answer_forms", "interface", "judge", "row_reading", "scorer"},
        {
            "expressions",
            "json_types",
            "layout",
            "model.metric_facts",
            "model.notes",
            "model.scoring_notes",
            "scoring.scorers.answer_forms",
            "scoring.scorers.judge",
            "scoring.scorers.row_reading",
            "scoring.scorers.scorer",
            "spec.field_types",
            "spec.model_keys",
            "spec.scorer_keys",
            "spec.validation",
        },
    ),
    "metrics/builtin_*.py": (
        set(),
        {"metrics.base_statistics", "model.metric_facts", "stats", "sums"},
    ),
    "reports/html/*.py": (
        {"__init__"},
        {
            "layout",
            "model",
            "reports.check_wording",
            "reports.failure",
            "reports.flipped_tasks",
            "reports.html",
            "reports.payload",
            "reports.run_wording",
            "reports.sentences",
            "reports.triage",
            "reports.wording",
            "run_folder",
            "run_origin",
            "spec.metric_names",
            "stats",
            "transcripts",
            "whole_files",
        },
    ),
}


def is_allowed(module, name, helpers):
    """Check for a name that `ext` offers, or one of a helper or its submodules."""
    if name in OFFERED:
        return True
    full = f"{module}.{name}"
    source = full if full in MODULES else module
    path = source.removeprefix("pytest_evalmetrics.")
    return any(path == helper or path.startswith(f"{helper}.") for helper in helpers)


@pytest.mark.parametrize("files", RULES)
def test_built_in_extensions_import_what_every_extension_may_and_shared_helpers(files):
    core, helpers = RULES[files]
    forbidden = [
        f"{path.name}: {module}.{name}"
        for path in sorted(PACKAGE.glob(files))
        if path.stem not in core
        for module, name in sorted(imports_of(path))
        if not is_allowed(module, name, helpers)
    ]
    assert forbidden == []


@pytest.mark.parametrize("files", RULES)
def test_each_module_that_a_rule_exempts_is_there(files):
    core, _ = RULES[files]
    present = {path.stem for path in PACKAGE.glob(files)}
    assert core <= present
