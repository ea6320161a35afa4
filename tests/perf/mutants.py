"""Do the tests notice a change of the code? Mutates one place at a time, and runs what reaches it.

python tests/perf/mutants.py --map FOLDER                 which test reaches which line, once
python tests/perf/mutants.py FOLDER gates metrics -n 25   so many mutants of each room, seeded

A mutant that no test notices is printed with its diff. The package is mutated in a copy.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ROOMS = ("gates", "baselines", "metrics", "rollouts")
TESTS = [*(f"tests/{room}" for room in ROOMS), "tests/checks", "tests/golden"]
NEAR, FAR = 80, 80  # tests of the mutant's own room, and of others, that are run
CONFIG = "[run]\nsource = pytest_evalmetrics\ndata_file = {folder}/coverage\nparallel = true\n"
OTHER = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Pow: "*",
    ast.And: "or", ast.Or: "and", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip


class Mutant(NamedTuple):
    """A place in a file, as offsets of its text, and what is written there instead."""

    file: Path
    line: int
    start: int
    stop: int
    new: str

    def text(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.stop :]


def mutants(file: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file's functions."""
    source = file.read_text(encoding="utf-8")
    ends = [0]
    for text in source.splitlines(keepends=True):
        ends.append(ends[-1] + len(text))
    lines = source.splitlines()

    def offset(line: int, column: int) -> int:
        return ends[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, new: str) -> Mutant | None:
        start = offset(left.end_lineno or 0, left.end_col_offset or 0)
        stop = offset(right.lineno, right.col_offset)
        gap = source[start:stop]
        if "\n" in gap or "#" in gap or "(" in gap or ")" in gap:
            return None
        return Mutant(file, left.end_lineno or 0, start, stop, f" {new} ")

    def whole(node: ast.expr | ast.stmt, new: str) -> Mutant:
        start = offset(node.lineno, node.col_offset)
        stop = offset(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(file, node.lineno, start, stop, new)

    def of(node: ast.AST) -> Iterator[Mutant | None]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield between(left, right, OTHER[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OTHER:
                yield between(left, right, OTHER[type(op)])
            case ast.BoolOp(op=op, values=[left, right]):
                yield between(left, right, OTHER[type(op)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield whole(node, f"({ast.get_source_segment(source, operand)})")
            case ast.Constant(value=bool(value)):
                yield whole(node, str(not value))
            case ast.Constant(value=int(value) | float(value)):
                yield whole(node, repr(value + 1))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                if test.lineno == test.end_lineno:
                    yield whole(test, f"(not ({ast.get_source_segment(source, test)}))")
            case ast.Expr(value=ast.Call()) | ast.AugAssign():
                yield whole(node, "pass")
            case ast.Continue():
                yield whole(node, "break")
            case ast.Return(value=value) if value is not None and not isinstance(
                value, ast.Constant
            ):
                yield whole(value, "None")

    def within(node: ast.AST, inside: bool) -> Iterator[Mutant | None]:
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for part in child if isinstance(child, list) else [child]:
                if not isinstance(part, ast.AST) or isinstance(
                    part, ast.Raise | ast.JoinedStr | ast.arguments
                ):
                    continue
                if inside:
                    yield from of(part)
                function = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from within(part, inside or function)

    yield from filter(None, within(ast.parse(source), inside=False))


# -- which tests reach a line ----------------------------------------------------------------


def make_map(folder: Path) -> None:
    """Run the tests once, and write which of them reach each line."""
    import coverage

    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "coveragerc"
    config.write_text(CONFIG.format(folder=folder))
    options = ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
    env = {**os.environ, "MUTANTS_MAP": str(folder)}  # see tests/forked.py
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", *options, *TESTS],
        cwd=ROOT, env=env, check=False,
    )  # fmt: skip
    reached: dict[str, dict[int, set[str]]] = {}
    for path in (folder / "coverage", *folder.glob("coverage.*")):  # combined, or left
        data = coverage.CoverageData(str(path))
        with contextlib.suppress(
            coverage.CoverageException
        ):  # of a run that was killed
            data.read()
        for file in data.measured_files():
            own = reached.setdefault(str(Path(file).relative_to(ROOT)), {})
            for line, contexts in data.contexts_by_lineno(file).items():
                own.setdefault(line, set()).update(filter(None, map(node_id, contexts)))
    table = {
        f: {n: sorted(ids) for n, ids in own.items()} for f, own in reached.items()
    }
    (folder / "map.json").write_text(json.dumps(table))


def node_id(context: str) -> str:
    return context.rpartition("|")[0] or context.rpartition(" (")[0]


# -- running ---------------------------------------------------------------------------------


def verdict(copy: Path, tests: list[str]) -> str:
    """Run tests on the mutated copy: ``killed``, ``survived``, or ``not reached``."""
    if not tests:
        return "not reached"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0"]
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            [*command, *tests],
            cwd=copy,
            env=env,
            check=False,
            capture_output=True,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return "killed"
    if (
        run.returncode == 4
    ):  # a case with :: in its name, or one over files that are not copied
        functions = sorted({test.partition("[")[0] for test in tests})
        if functions == tests:
            sys.exit(run.stdout.decode() + run.stderr.decode())
        return verdict(copy, functions)
    return "killed" if run.returncode else "survived"


def try_mutants(folder: Path, rooms: list[str], count: int, seed: int) -> None:
    table = json.loads((folder / "map.json").read_text())
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
    for room in rooms:
        files = sorted((copy / "pytest_evalmetrics" / room).rglob("*.py"))
        every = [m for file in files for m in mutants(file)]
        sample = random.Random(seed).sample(every, min(count, len(every)))
        outcomes: collections.Counter[str] = collections.Counter()
        ids = sorted(
            {test for own in table.values() for tests in own.values() for test in tests}
        )
        if (
            verdict(copy, random.Random(seed).sample(ids, min(FAR, len(ids))))
            != "survived"
        ):
            sys.exit(
                "the tests fail without a mutant too: no verdict would mean anything"
            )
        for mutant in sample:
            source = mutant.file.read_text(encoding="utf-8")
            shown = str(mutant.file.relative_to(copy))
            reaching = table.get(shown, {}).get(str(mutant.line), [])
            random.Random(seed).shuffle(reaching)
            near = [t for t in reaching if t.startswith(f"tests/{room}/")]
            far = [t for t in reaching if t not in near]
            mutant.file.write_text(mutant.text(source), encoding="utf-8")
            try:
                outcome = verdict(copy, near[:NEAR])
                if outcome != "killed" and far:
                    outcome = verdict(copy, far[:FAR])
                if (
                    outcome != "killed"
                ):  # golden cases share processes: the map lacks most of them
                    outcome = verdict(copy, ["tests/golden"])
            finally:
                mutant.file.write_text(source, encoding="utf-8")
            outcomes[outcome] += 1
            if outcome != "killed":
                before, after = source.splitlines(), mutant.text(source).splitlines()
                print(f"{outcome} ({len(reaching)} tests reach it)")
                print(
                    *difflib.unified_diff(before, after, shown, shown, "", "", 2, ""),
                    sep="\n",
                )
            sys.stdout.flush()
        rate = 1 - outcomes["killed"] / len(sample)
        print(
            f"{room}: {dict(outcomes)} of {len(sample)} of {len(every)}: {rate:.0%} survive"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    parser.add_argument("--map", action="store_true")
    parser.add_argument("-n", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.map:
        make_map(options.folder.absolute())
    else:
        try_mutants(options.folder.absolute(), options.rooms, options.n, options.seed)


if __name__ == "__main__":
    main()
