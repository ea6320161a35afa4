"""How dense the code is, beside packages that read well.

python tests/perf/plainness.py [PACKAGE ...]

By default the models that are installed: attrs, hypothesis, httpx, import-linter, pytest and
syrupy. It prints numbers per 1,000 lines of code, and fails for nothing.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

MODELS = ("attr", "hypothesis", "httpx", "importlinter", "_pytest", "syrupy")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.Assert,
    ast.comprehension,
)
# what an expression or a name carries along, and no reader sees
UNSEEN = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
ROWS = (
    "Any",
    "cast",
    "noqa",
    "type: ignore",
    "functions over complexity 10",
    "imports in functions",
    "conditional expressions",
    "several things assigned at once",
)


def complexity(function: ast.AST) -> int:
    """Count the paths through a function, as McCabe does."""
    paths = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            paths += 1
        if isinstance(node, ast.BoolOp):
            paths += len(node.values) - 1
    return paths


def measure(source: str) -> Counter[str]:
    """Count what makes a module hard to read."""
    tree = ast.parse(source)
    counts: Counter[str] = Counter()
    counts["Any"] = len(re.findall(r"\bAny\b", source))
    counts["cast"] = len(re.findall(r"\bcast\(", source))
    counts["noqa"] = source.count("# noqa")
    counts["type: ignore"] = source.count("# type: ignore")
    counts["lines"] = len(lines_of_code(source, tree))
    for node in ast.walk(tree):
        counts["nodes"] += not isinstance(node, UNSEEN)
        if isinstance(node, FUNCTIONS):
            counts["functions over complexity 10"] += complexity(node) > 10
            inner = ast.walk(node)
            counts["imports in functions"] += sum(
                isinstance(part, ast.Import | ast.ImportFrom) for part in inner
            )
        counts["conditional expressions"] += isinstance(node, ast.IfExp)
        counts["several things assigned at once"] += (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        )
    return counts


def lines_of_code(source: str, tree: ast.Module) -> set[int]:
    """Return the numbers of lines that are neither empty, comment nor docstring."""
    lines = set()
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            lines.add(number)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def measured(package: str) -> Counter[str] | None:
    """Add up a package's modules; None if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    counts: Counter[str] = Counter()
    for path in Path(spec.origin).parent.rglob("*.py"):
        if "vendor" not in path.parts:
            counts += measure(path.read_text(encoding="utf-8"))
    return counts


def main() -> None:
    packages = ["pytest_evalmetrics", *(sys.argv[1:] or MODELS)]
    columns = {}
    for package in packages:
        counts = measured(package)
        if counts is not None:
            columns[package] = counts
    print(f"{'per 1,000 lines of code':32}", *(f"{name:>18}" for name in columns))
    for row in ROWS:
        shares = [1000 * counts[row] / counts["lines"] for counts in columns.values()]
        print(f"{row:32}", *(f"{share:18.1f}" for share in shares))
    nodes = [counts["nodes"] / counts["lines"] for counts in columns.values()]
    print(
        f"{'syntax nodes per line of code':32}", *(f"{value:18.2f}" for value in nodes)
    )
    lines = [counts["lines"] for counts in columns.values()]
    print(f"{'lines of code':32}", *(f"{value:18,}" for value in lines))


if __name__ == "__main__":
    main()
