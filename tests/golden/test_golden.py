"""Runs the cases of `cases/*.yaml`: files and arguments in, verdicts, messages and bytes out.

A case is a mapping; README.md in this folder describes its keys. Nothing of the package is
imported: pytest runs in a process of its own, and what it leaves behind is read. Cases of one
file that need no run of their own share one, each in a folder of its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from forked import completed
from golden.fake import Fake

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

HERE = Path(__file__).parent
# the one in C is ten times as fast, where it is there
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FLAGS = ("--junitxml=junit.xml", "-p", "no:hypothesispytest", "-p", "no:cov")
OWN_RUN = {"stdout", "no_stdout", "env", "alone", "artifacts", "exact"}


@cache
def topics() -> dict[str, dict[str, Any]]:
    paths = sorted((HERE / "cases").glob("*.yaml"))
    return {
        p.stem: yaml.load(p.read_text(encoding="utf-8"), LOADER)  # noqa: S506 - a safe one
        for p in paths
    }


@cache
def fake() -> Fake:
    return Fake()


def steps_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [case, *case.get("then", [])]


@cache
def groups() -> dict[str, list[str]]:
    """Name the cases that share their runs."""
    sharing: dict[str, list[str]] = {}
    for topic, cases in topics().items():
        for name, case in cases.items():
            steps = steps_of(case)
            files = {f for step in steps for f in step.get("files", {})}
            own = any(OWN_RUN & step.keys() for step in steps)
            own |= bool(files & {"conftest.py", "pytest.ini"})
            own |= any(step.get("exit", 0) > 2 for step in steps)
            key = "|".join(
                f"{step.get('args', '')}{step.get('exit') == 2}" for step in steps
            )
            sharing.setdefault(
                f"{topic}.{name}" if own else f"{topic} {key}", []
            ).append(f"{topic}.{name}")
    return sharing


def case_named(name: str) -> dict[str, Any]:
    topic, _, rest = name.partition(".")
    return topics()[topic][rest]  # type: ignore[no-any-return]


# -- running


def rewards(text: str) -> list[dict[str, Any]]:
    """Read `30*1101 2*1.`: thirty tasks with four rollouts each, then two of which one lacks."""
    tasks = [part.partition("*")[::2] for part in text.split()]
    rows = [row for count, row in tasks for _ in range(int(count))]
    return [
        {
            "_ng_task_index": t,
            "_ng_rollout_index": s,
            "reward": None if c == "." else float(c),
        }
        for t, row in enumerate(rows)
        for s, c in enumerate(row)
    ]


def write_files(folder: Path, step: dict[str, Any], server: str) -> None:
    files = dict(step.get("files", {}))
    if "bench" in step:
        body = "".join(
            f"  {line}\n" if line else "\n" for line in step["bench"].splitlines()
        )
        has_rows = re.search("^  (rollouts|dataset):", body, re.MULTILINE)
        source = "" if has_rows else "  rollouts: runs.jsonl\n"
        files["math.bench.yaml"] = f"benchmark:\n  name: math\n{source}{body}"
    if "runs" in step:
        files["runs.jsonl"] = step["runs"]
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_text(
                text_of(content).replace("@server@", server), encoding="utf-8"
            )
    if "make" in step:
        exec(step["make"], {"folder": folder, "json": json})  # noqa: S102 - a case's own input


def text_of(content: Any) -> str:
    if isinstance(content, str) and re.fullmatch(r"(\d+\*[\d.]+\s*)+", content):
        content = rewards(content)
    if isinstance(content, list):
        return "".join(json.dumps(row) + "\n" for row in content)
    return json.dumps(content) if isinstance(content, dict) else content


def clean_environment(
    root: Path, byte_code: Path, more: dict[str, str]
) -> dict[str, str]:
    ci = (
        "CI",
        "BUILD_",
        "GIT",
        "EVALMETRICS",
        "PYTEST",
        "PYTHONDONT",
        "COLUMNS",
        "FORCE_COLOR",
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ci)}
    ours = {"COLUMNS": "1000", "NO_COLOR": "1", "PYTHONPYCACHEPREFIX": str(byte_code)}
    # else a run with workers, which need a folder, removes the oldest of all runs' folders
    ours["PYTEST_DEBUG_TEMPROOT"] = str(root.parent)
    return kept | ours | more


def run_group(
    names: list[str], root: Path, byte_code: Path
) -> dict[str, list[dict[str, Any]]]:
    """Run all steps of the cases, and gather what each left."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    alone = len(names) == 1
    folders = {n: root if alone else root / n.partition(".")[2] for n in names}
    if not alone:
        (root / "pytest.ini").write_text("[pytest]\n")
    outcomes: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for i in range(max(len(steps_of(case_named(n))) for n in names)):
        steps = {n: steps_of(case_named(n))[i] for n in names}
        for name, step in steps.items():
            folders[name].mkdir(exist_ok=True)
            if alone and i == 0:
                (root / "pytest.ini").write_text("[pytest]\n")
            write_files(folders[name], step, f"{fake().url}/{name}")
            if "server" in step or i == 0:
                fake().begin(name, step.get("server", []))
            else:
                fake().requests[name] = []
        (step, *_) = steps.values()
        arguments = [
            a.replace("@server@", fake().url) for a in step.get("args", "").split()
        ]
        environment = {
            k: v.replace("@server@", f"{fake().url}/{names[0]}")
            for k, v in step.get("env", {}).items()
        }
        (root / "junit.xml").unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", *FLAGS, *arguments]
        run = completed(command, root, clean_environment(root, byte_code, environment))
        whole = left_by(run, root)
        for name in names:
            outcome = part_of(whole, root, folders[name], steps[name])
            outcomes[name].append(outcome | {"requests": fake().requests[name]})
    return outcomes


def left_by(run: subprocess.CompletedProcess[str], root: Path) -> dict[str, Any]:
    """Read what a run left for all of its cases, with the volatile parts replaced."""
    whole = {"exit": run.returncode, "text": normal(run.stdout + run.stderr, root)}
    for key, file in (
        ("report", "report.json"),
        ("aggregate", "aggregate_metrics.json"),
    ):
        path = root / "evalmetrics" / file
        whole[key] = (
            json.loads(normal(path.read_text("utf-8"), root)) if path.exists() else []
        )
    junit = root / "junit.xml"
    whole["junit"] = [*ET.parse(junit).iter("testcase")] if junit.exists() else []  # noqa: S314 - ours
    return whole


def part_of(
    whole: dict[str, Any], root: Path, folder: Path, step: dict[str, Any]
) -> dict[str, Any]:
    """Pick from a run what is of one case."""
    prefix = "" if folder == root else f"{folder.name}/"
    parts = list(lines_of(whole["text"], prefix))
    properties: dict[str, Any] = {}
    states = set()
    for case in whole["junit"]:
        name, module = case.get("name", ""), case.get("classname", "")
        paths = [f"{part}/".replace(".", "/") for part in (module, name)]
        if name != prefix and not any(path.startswith(prefix) for path in paths):
            continue
        for state in case:
            if state.tag != "properties":
                states.add(state.tag)
                parts.append(
                    normal(f"{state.get('message')}\n{state.text or ''}", root)
                )
        properties |= {
            f"{name}::{p.get('name')}": p.get("value") for p in case.iter("property")
        }
    report = whole["report"]
    entries = {
        "report": [
            e for e in report and report["benchmarks"] if e["id"].startswith(prefix)
        ],
        "aggregate": [
            e for e in whole["aggregate"] if e["benchmark"].startswith(prefix)
        ],
        "run": None if prefix else {k: report[k] for k in report if k != "benchmarks"},
        "text": "\n".join(parts) if prefix else whole["text"],
        "files": {
            p.relative_to(folder).as_posix(): content(p, root)
            for p in sorted(folder.rglob("*"))
            if p.is_file()
            and p.stat().st_size < 300_000
            and "cache" not in p.as_posix()
        },
    }
    outcome = without(prefix, entries) | {"exit": whole["exit"]}
    if prefix and step.get("exit") != 2:
        outcome["exit"] = int(bool({"failure", "error"} & states))
    outcome["junit"] = (
        {} if "-n 2" in step.get("args", "") else properties
    )  # in any order
    return outcome


def content(path: Path, root: Path) -> str:
    try:
        return normal(path.read_text(encoding="utf-8"), root)
    except UnicodeDecodeError:
        return hashlib.sha256(path.read_bytes()).hexdigest()


def without(prefix: str, value: Any) -> Any:
    """Leave the name of a case's folder out of all texts."""
    return json.loads(json.dumps(value).replace(prefix, "")) if prefix else value


def lines_of(stdout: str, prefix: str) -> list[str]:
    """Give the lines that name the case's folder, each with the indented ones below it."""
    lines, inside = [], False
    for line in stdout.splitlines():
        inside = prefix in line or (inside and line.startswith("    "))
        if inside:
            lines.append(line)
    return lines


def normal(text: str, root: Path) -> str:
    """Replace what differs from run to run; README.md lists the rules."""
    text = text.replace(str(root), "<root>").replace(fake().url, "http://server")
    text = re.sub(r"http://(127\.0\.0\.1|localhost):\d+", "http://server", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "<time>", text)
    text = re.sub(r"\bin \d+\.\d\ds\b", "in <s>", text)
    text = re.sub(r'("(?:latency_s|seconds|size|mtime)": )[\d.e-]+', r"\g<1>0", text)
    text = re.sub(r'("latency_s": )\{[^}]*\}', r"\g<1>{}", text)
    text = re.sub(r'( time=)"[\d.]+"', r'\1"<s>"', text)
    return re.sub(r'(hostname=)"[^"]*"', r'\1"<host>"', text)


@pytest.fixture(scope="session")
def shared(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    base = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        base = base.parent
    folder = base / "golden"
    folder.mkdir(exist_ok=True)
    return folder


def outcomes_of(name: str, shared: Path, byte_code: Path) -> list[dict[str, Any]]:
    """Run the case's group, unless a worker has done or does so."""
    key = next(key for key, names in groups().items() if name in names)
    stem = hashlib.sha256(key.encode()).hexdigest()[:12]
    result = shared / f"{stem}.json"
    with (shared / f"{stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            result.write_text(
                json.dumps(run_group(groups()[key], shared / stem, byte_code))
            )
    return json.loads(result.read_text())[name]  # type: ignore[no-any-return]


# -- comparing


def problems(step: dict[str, Any], outcome: dict[str, Any]) -> list[str]:
    """List how an outcome differs from what the step expects."""
    failures = []

    def expect(what: str, actual: object, wanted: object) -> None:
        failures.extend(differences(actual, wanted, what))

    expect("exit", outcome["exit"], step.get("exit", 0))
    entries = {e["id"].partition("::")[2]: e for e in outcome["report"]}
    if "verdict" in step:
        expect("verdict", [e["verdict"] for e in entries.values()], [step["verdict"]])
    for name, verdict in step.get("verdicts", {}).items():
        expect(f"verdict of {name}", entries.get(name, {}).get("verdict"), verdict)
    numbers: dict[str, Any] = {}
    for entry in outcome["aggregate"]:
        own = entry["agent_metrics"]
        bench = entry["benchmark"].rpartition("::")[2]
        numbers |= own | {f"{bench}::{k}": v for k, v in own.items()}
        numbers |= {f"{entry['agent_ref']['name']}::{k}": v for k, v in own.items()}
    for name, value in step.get("metrics", {}).items():
        expect(name, numbers.get(name), value)
    checks = {}
    for entry in entries.values():
        for check in entry["checks"]:
            facts = facts_of(check)
            checks[check["name"]] = facts
            checks[f"{entry['name']}::{check['name']}"] = facts
    for name, wanted in step.get("checks", {}).items():
        evidence = {"verdict": wanted} if isinstance(wanted, str) else wanted
        expect(f"check {name}", checks.get(name), evidence)
    if "report" in step:
        expect("report", next(iter(entries.values()), None), step["report"])
    if "run" in step:
        expect("run", outcome.get("run"), step["run"])
    text = outcome["text"]
    for key in ("says", "stdout"):
        failures += [
            f"{key}: {p!r} is not there"
            for p in step.get(key, ())
            if not there(p, text)
        ]
    failures += [
        f"never: {p!r} is there" for p in step.get("never", ()) if there(p, text)
    ]
    for path, patterns in step.get("has", {}).items():
        text = outcome["files"].get(path)
        if text is None or patterns is None:
            if (text is None) != (patterns is None):
                failures.append(f"has {path}: there are {', '.join(outcome['files'])}")
            continue
        failures += [f"{path}: no {p!r}" for p in patterns if not there(p, text)]
    if "asked" in step:
        expect("requests", len(outcome["requests"]), step["asked"])
    for wanted in step.get("sent", ()):
        if all([*differences(request, wanted)] for request in outcome["requests"]):
            failures.append(f"sent: {wanted!r} is not among {outcome['requests'][:3]}")
    return failures


def facts_of(check: dict[str, Any]) -> dict[str, Any]:
    """Put the facts of a check's comparison, and of its rule, beside its own."""
    comparison = check["comparison"] or {}
    rule = (check["required"] or {}).get("settings", {})
    facts = {**rule, **comparison, **check}
    if comparison.get("blind"):  # in words, which follow those on the change
        facts["blind"] = check["reason"].partition("; ")[2]
    return facts


def there(pattern: str, text: str) -> bool:
    """Search a line for a pattern, in which `*` stands for anything."""
    return bool(re.search(".*".join(map(re.escape, pattern.split("*"))), text))


def differences(actual: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Tell where there is not what is wanted; more keys than wanted may be there."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key, value in wanted.items():
            yield from differences(actual.get(key), value, f"{path} {key}")
    elif (
        isinstance(wanted, list)
        and isinstance(actual, list)
        and len(wanted) == len(actual)
    ):
        for i, (one, other) in enumerate(zip(actual, wanted, strict=True)):
            yield from differences(one, other, f"{path} {i}")
    else:
        if isinstance(wanted, str) and re.fullmatch(r"-?\d+/\d+", wanted):
            wanted = float(Fraction(wanted))
        if isinstance(wanted, float) and isinstance(actual, int | float):
            same = abs(actual - wanted) <= max(1e-12, 5e-6 * abs(wanted))
        elif isinstance(wanted, str) and isinstance(actual, str) and "*" in wanted:
            same = there(wanted, actual)
        else:
            same = actual == wanted
        if not same:
            yield f"{path}: {actual!r}, expected {wanted!r}"


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:10]


def without_prose(value: Any) -> Any:
    """Leave out texts with spaces in them, and the last three digits of numbers.

    Messages may be reworded, and C libraries round `erfc` in ways of their own.
    """
    if isinstance(value, dict):
        return {k: without_prose(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_prose(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.13g}")
    return "..." if isinstance(value, str) and " " in value else value


def digests(outcome: dict[str, Any]) -> str:
    """Sum up the bytes that a step left."""
    baselines = {k: v for k, v in outcome["files"].items() if "__baselines__" in k}
    parts = {
        "aggregate": outcome["aggregate"],
        "report": without_prose(outcome["report"]),
        "junit": without_prose(outcome["junit"]),
        "baselines": baselines,
    }
    return " ".join(f"{k} {digest(v)}" for k, v in parts.items() if v)


def byte_code_folder(config: pytest.Config, shared: Path) -> Path:
    """Return a folder that lasts from run to run, where pytest has one."""
    if config.pluginmanager.has_plugin("cacheprovider"):
        return config.cache.mkdir("byte-code")
    return shared / "byte-code"


@pytest.mark.parametrize(
    "name", [f"{t}.{n}" for t, cases in topics().items() for n in cases]
)
def test_case(name: str, shared: Path, request: pytest.FixtureRequest) -> None:
    outcomes = outcomes_of(name, shared, byte_code_folder(request.config, shared))
    failures = []
    recorded = {}
    for i, (step, outcome) in enumerate(
        zip(steps_of(case_named(name)), outcomes, strict=True)
    ):
        failures += [f"step {i}: {problem}" for problem in problems(step, outcome)]
        if failures:
            failures.append(f"the run said:\n{outcome['text']}")
            break
        if not name.startswith("online."):  # latencies are among their scores
            recorded[f"{name}.{i}"] = digests(outcome)
        for path in step.get("exact", ()):
            recorded[f"expected/{name}.{i}.{Path(path).name}"] = outcome["files"][path]
        for path in step.get("same", ()):
            if outcome["files"][path] != outcomes[i - 1]["files"][path]:
                failures.append(f"step {i}: {path} has other bytes than a step before")
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
    if request.config.getoption("--update-golden"):
        return update(recorded)
    expected = {key: golden(key) for key in recorded}
    assert recorded == expected, f"the files are in {shared}"
    return None


def golden(key: str) -> str | None:
    """Return what is recorded under a key: a file, or the digests of a step's files."""
    if key.startswith("expected/"):
        return (HERE / key).read_text(encoding="utf-8")
    digests_of: dict[str, str] = json.loads((HERE / "digests.json").read_text())
    return digests_of.get(key)


def update(recorded: dict[str, str]) -> None:
    path = HERE / "digests.json"
    with (HERE / "conftest.py").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        digests_of = json.loads(path.read_text()) if path.exists() else {}
        for key, value in recorded.items():
            if key.startswith("expected/"):
                (HERE / "expected").mkdir(exist_ok=True)
                (HERE / key).write_text(value, encoding="utf-8")
            else:
                digests_of[key] = value
        names = {f"{t}.{n}" for t, cases in topics().items() for n in cases}
        digests_of = {
            k: digests_of[k]
            for k in sorted(digests_of)
            if k.rpartition(".")[0] in names
        }
        path.write_text(json.dumps(digests_of, indent=0) + "\n", encoding="utf-8")
