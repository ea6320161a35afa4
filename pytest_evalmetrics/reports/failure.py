"""Failures: the text of a failing benchmark, and the causes of a red run."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import capped, listed, many, of_many, visible
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports import wording
from pytest_evalmetrics.results import BenchmarkResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMED = 10  # tasks that a line names
_REWARDS = 8  # of a task
_NOTES = 3  # of a kind
_VALUES = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
_COMPARED = (
    *("verdict", "agent", "metric", "baseline", "now", "change", "95% interval"),
    *("p", "tasks", "worse", "better", "direction", "expected"),
)
_ANNOUNCED = {
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "could not be judged",
    Verdict.WARN: "passed with a warning",
    Verdict.PASS: "passed",
}


def failure_text(result: BenchmarkResult) -> str:
    """Explain a benchmark that failed, for the reader of a CI log."""
    checks = msgspec.to_builtins(result.checks)
    parts = [visible(f"{result.name} {_ANNOUNCED[result.verdict]}")]
    if result.failed_rows:  # what is missing below is missing for this reason
        parts += ["", *wording.failed_row_groups(result.failed_rows)]
    parts += _tables(checks)
    reasons = [c for c in checks if c["verdict"] != "PASS" and c["reason"]]
    for check, following in zip(reasons, [*reasons[1:], None], strict=True):
        where = f"{result.file}:{check['line']}: " if check["line"] else ""
        reason = wording.of_agent(check) + check["reason"]
        parts += ["", visible(f"{check['verdict']}  {where}{reason}")]
        parts += [f"    {visible(line)}" for line in comparison_details(check["evidence"])]
        if check["hint"] and (following is None or following["hint"] != check["hint"]):
            parts.append(f"  -> {check['hint']}")
    if result.changes:
        parts += ["", *(f"changed: {visible(text)}" for text in result.changes)]
    explained = set(wording.failed_row_notes(result.failed_rows))
    kinds: dict[str, list[str]] = {}
    for note in result.notes:
        if note not in explained:
            kinds.setdefault(note.partition(":")[0], []).append(note)
    notes = []
    for several in kinds.values():  # what is noted of every agent is noted often
        more = many(len(several) - _NOTES, "more such note")
        notes += capped(several, _NOTES, f"and {more}, in report.json")
    if notes:
        parts += ["", *(f"note: {visible(note)}" for note in notes)]
    return "\n".join(parts)


def _tables(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Write a table of the values that gates require, and one of what is compared."""
    values, compared = [], []
    for check in checks:
        head = (check["verdict"], check["agent"], check["name"])
        if check["evidence"]:
            compared.append((*head, *_comparison(check), check["bound"]))
        elif check["bound"] and check["gate"] != "data":
            tasks = str((check["estimate"] or {}).get("tasks", ""))
            measured = wording.measured(check, check["estimate"])
            values.append((*head, *measured, tasks, check["bound"]))
    for header, rows in ((_VALUES, values), (_COMPARED, compared)):
        yield from ("", *wording.table(header, rows)) if rows else ()


def _comparison(check: Mapping[str, Any]) -> tuple[str, ...]:
    evidence = check["evidence"]
    change, low, high = wording.change_of(evidence)
    p = wording.p_value(evidence)
    return (
        *map(wording.number, (evidence.get("baseline"), evidence.get("current", check["value"]))),
        wording.signed(change),
        "" if low is None or high is None else f"[{wording.signed(low)}, {wording.signed(high)}]",
        "" if p is None else f"{p:.2g}",
        *(str(evidence.get(key, "")) for key in ("tasks", "worse", "better")),
        wording.better_way(evidence),
    )


def comparison_details(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Say which tasks flipped, what the test rests on, and what it could have detected."""
    worst = evidence.get("worst_tasks") or []
    if worst:
        flips = [
            f"{t['task']} ({_rewards(t['baseline'])} -> {_rewards(t['current'])})" for t in worst
        ]
        yield f"worse: task {listed(flips, len(flips), evidence['worse'])}"
    if evidence.get("test"):
        units, tasks = evidence.get("units"), evidence["tasks"]
        clustered = f" in {many(units, 'cluster')}" if units and units != tasks else ""
        yield (
            f"{evidence['test']} over {many(tasks, 'task')}{clustered}, "
            f"{many(evidence['rollouts_baseline'], 'rollout')} before and "
            f"{evidence['rollouts_current']} now{_adjusted(evidence)}"
        )
    if evidence.get("mde"):
        yield f"80 % power to see a loss of {wording.number(evidence['mde'])} or more"
    if evidence.get("unseen_flips"):
        yield f"no task differs; up to {evidence['unseen_flips']:.1%} of the tasks may flip unseen"
    for key, what in (("added", "only in this run"), ("removed", "only in the baseline")):
        if count := evidence.get(key):
            named = listed(evidence[f"{key}_tasks"], _NAMED, count)
            yield f"{many(count, 'task', 'is')} {what}: {named}"
    if excluded := evidence.get("excluded_tasks"):
        yield f"without a value on one side, and left out: task {listed(excluded, _NAMED)}"


def _rewards(rewards: Sequence[float]) -> str:
    return " ".join(capped([wording.number(r) for r in rewards], _REWARDS, "..."))


def _adjusted(evidence: Mapping[str, Any]) -> str:
    p, adjusted = evidence.get("p"), evidence.get("p_adjusted")
    if p is None or adjusted is None or adjusted <= p * 1.0000001:
        return ""
    return f"; p = {adjusted:.2g} adjusted for the other metrics"


# -- what pytest shows -----------------------------------------------------------------------

_REASON = re.compile(r"(?P<verdict>FAIL|INCONCLUSIVE)  (?:\S+:\d+: )?(?P<reason>\S.*)")
_LONG = ("verdict ", "changed:", "note:")  # what --tb=short leaves to the artifacts


@record
class _Crash:
    """What pytest's short summary and JUnit read of a failure."""

    message: str
    path: str = ""
    lineno: int = 0

    def __str__(self) -> str:  # --tb=line
        return self.message


@record
class FailureText:
    """A failure as pytest shows it: the text, and its first reason as the summary."""

    text: str
    style: str = "long"  # of --tb

    @property
    def reprcrash(self) -> _Crash:
        """The line for the short test summary."""
        for before, line in pairwise(self.text.splitlines()):
            # a row of a table looks alike, but has no empty line before it
            if not before and (match := _REASON.fullmatch(line)):
                prefix = "" if match["verdict"] == "FAIL" else f"{match['verdict']}: "
                return _Crash(prefix + match["reason"])
        call, _, rest = self.text.partition("\n\n")  # of a test: its line comes first
        return _Crash((rest if "\n> " in call else call).partition("\n")[0])

    def toterminal(self, tw: Any) -> None:
        """Write the text, verdicts in colour."""
        lines = self.text.splitlines()
        if self.style == "line":  # pytest writes the crash line
            return
        if self.style == "short":
            parts = [part for part in self.text.split("\n\n") if not part.startswith(_LONG)]
            lines = [line for line in "\n".join(parts).splitlines() if not line.startswith("    ")]
        for line in lines:
            red = line.startswith(("FAIL", "INCONCLUSIVE"))
            tw.line(line, red=red, yellow=line.startswith("WARN"), green=line.startswith("PASS"))

    def __str__(self) -> str:
        return self.text


# -- why a run is red: the checks that fail, grouped by cause ---------------------------------

FOLDED = 10  # failing benchmarks that a log shows one by one
_EXPLAINED = 2  # of more of them
_GROUPED = 5  # with fewer of them, each is read by itself
_CAUSES_SHOWN = 8
_PARTS_SHOWN = 6
_RED = ("FAIL", "INCONCLUSIVE")
_PLACE = re.compile(r"^\S+:\d+: ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\w.%-]*")


def strength(check: Mapping[str, Any]) -> tuple[int, float, float]:
    """Rank a check: the verdict, then the p value, then the loss."""
    evidence = check.get("evidence", {})
    p = evidence.get("p_adjusted")
    rank = _RED.index(check["verdict"]) if check["verdict"] in _RED else len(_RED)
    return rank, 1.0 if p is None else p, -(evidence.get("drop") or 0.0)


def failing(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the benchmarks that make the run red, the strongest evidence first."""
    red = [e for e in report["benchmarks"] if e["verdict"] in _RED and not e["xfail"]]
    return sorted(red, key=lambda entry: min(map(strength, entry["checks"]), default=(2, 1.0, 0.0)))


def folded(report: Mapping[str, Any]) -> set[str]:
    """Name the failing benchmarks whose explanation a log omits, where there are many."""
    red = {entry["id"] for entry in failing(report)}
    if len(red) <= FOLDED:
        return set()
    return red - {next(iter(cause.ids)) for cause in _causes(report)[:_EXPLAINED]}


def triage(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Say for each cause whom it concerns, the strongest case, and a command for that."""
    red = len(failing(report))
    if red < _GROUPED:
        return []
    causes = _causes(report)
    lines = []
    for cause in causes[:_CAUSES_SHOWN]:
        where = ", ".join(filter(None, [cause.agent, *cause.metrics]))
        head = f"{cause.verdict} {of_many(len(cause.ids), red, 'failing benchmark')}"
        head += f": {where}" if where else ""
        head += f", in {listed(list(cause.parts), _PARTS_SHOWN)}" if cause.parts else ""
        first = next(iter(cause.ids))
        case = f"first {first.rpartition('::')[2]}: {cause.reason}"
        lines.append((head, case, f"pytest {shlex.quote(first)}"))
    if len(causes) > _CAUSES_SHOWN:
        lines.append((f"and {many(len(causes) - _CAUSES_SHOWN, 'more cause')}", "", ""))
    return lines


class _Cause(msgspec.Struct):
    """A reason that several benchmarks fail for; the keys are in the order of their evidence."""

    verdict: str
    agent: str
    reason: str  # of the first benchmark
    metrics: dict[str, None] = {}
    parts: dict[str, None] = {}  # of broken-down metrics
    ids: dict[str, None] = {}  # of the benchmarks


def _causes(report: Mapping[str, Any]) -> list[_Cause]:
    """Group failing checks by verdict, agent and metric; without a number, by the reason."""
    several = len({a["agent"] for entry in report["benchmarks"] for a in entry["agents"]}) > 1
    causes: dict[tuple[str, ...], _Cause] = {}
    checks = [(entry, check) for entry in failing(report) for check in entry["checks"]]
    for entry, check in sorted(checks, key=lambda pair: strength(pair[1])):
        verdict = check["verdict"]
        if verdict not in _RED:
            continue
        agent = wording.checked_agent(entry, check)
        metric, _, part = check["name"].partition("[")
        reason = _PLACE.sub("", check["reason"])
        kind = metric if verdict == "FAIL" else _VARYING.sub("_", reason)
        new = _Cause(verdict, agent if several else "", reason)
        cause = causes.setdefault((verdict, agent, kind), new)
        cause.ids[entry["id"]] = None
        if verdict == "FAIL":
            cause.metrics[metric] = None
        if part:
            cause.parts[part.removesuffix("]")] = None
    joined: dict[tuple[object, ...], _Cause] = {}
    for key, cause in causes.items():
        # the metrics that the same benchmarks of an agent fail for are one cause
        same = (cause.verdict, cause.agent, frozenset(cause.ids)) if cause.metrics else key
        first = joined.setdefault(same, cause)
        first.metrics |= cause.metrics
        first.parts |= cause.parts
    return sorted(joined.values(), key=lambda c: (_RED.index(c.verdict), -len(c.ids)))
