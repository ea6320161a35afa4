"""Projects whose runs leave pages to look at."""

import json
import os
import sys
import tempfile

from forked import Run
from msgspec import structs

from pytest_evalmetrics.model.scores import (
    Agreement,
    Disagreement,
    JudgeCheck,
    JudgeUse,
)
from pytest_evalmetrics.reports.html.page import page as pieces_of
from pytest_evalmetrics.reports.payload import Artifacts
from pytest_evalmetrics.reports.report_json import read_report

EVIL = '</script><script>window.pwned=1</script>"><img src=x onerror="window.pwned=1"><!--\u2028'

MATH = """
benchmark:
  name: math
  description: Eleven tasks, four attempts each
  rollouts: runs.jsonl
  num_samples: 4
  metrics: [mean_reward, pass@1, pass^4]
  expect: {tasks: 11}
  thresholds: {pass@1: ">= 0.9", mean/tokens: {max: 500}}
  baseline: {rollouts: was.jsonl}
"""

SCORER = """
from pytest_evalmetrics import RowError, register_scorer
from pytest_evalmetrics.ext import Explained


@register_scorer("judge")
class Judge:
    scores = ("quality",)

    def score(self, row):
        if row.item["answer"] == "none":
            raise RowError("no-answer", "the judge said " + row.item["said"])
        return Explained({"quality": len(row.item["answer"]) / 10}, row.item["said"])
"""

ASKED = "benchmark: {name: math, rollouts: runs.jsonl, expect: {tasks: 2}"

ANSWERS = """
benchmark:
  name: talk
  rollouts: {path: now.jsonl, fields: {task: id, sample: try}}
  metrics: [pass@1]
  baseline: {rollouts: {path: was.jsonl, fields: {task: id, sample: try}}}
"""


def answers(folder):
    """A benchmark whose answers have changed."""
    for name, reward, text in (
        ("was", 1.0, "It is the red one."),
        ("now", 0.0, f"It is {EVIL}."),
    ):
        lines = [
            {
                "id": f"q{t}",
                "try": 0,
                "reward": reward,
                "prompt": EVIL,
                "response": text,
            }
            for t in range(12)
        ]
        write_rows(folder, f"{name}.jsonl", lines)
    write(folder, "talk.bench.yaml", ANSWERS)
    return page(folder)


def rows(rewards, tokens):
    return [
        {
            "_ng_task_index": t,
            "_ng_rollout_index": s,
            "reward": reward,
            "tokens": tokens + 10 * t + s,
        }
        for t, task in enumerate(rewards)
        for s, reward in enumerate(task)
    ]


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


def write_rows(folder, name, rows):
    write(folder, name, "".join(json.dumps(row) + "\n" for row in rows))


def page(folder, *args):
    """Run pytest there, and return the page that it left."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
    ]
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    with tempfile.TemporaryFile() as out:
        Run([*command, *args], folder, env, out, out).wait(120)
    return folder / "evalmetrics" / "report.html"


def flipped(folder):
    """Tasks 2 and 10 got worse, task 3 better; the others are as before."""
    was = [[1, 1, 1, 1]] * 11
    was[3] = [0, 0, 1, 0]
    now = list(was)
    now[2], now[10], now[3] = [0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]
    write_rows(folder, "was.jsonl", rows(was, 400))
    write_rows(folder, "runs.jsonl", rows(now, 300))
    write(folder, "math.bench.yaml", MATH)
    parts = "".join(
        f'  - {{name: part-{i}, metrics: [mean_reward], thresholds: {{mean_reward: ">= 0.{i}"}}}}\n'
        for i in range(1, 8)
    )
    shared = "defaults: {rollouts: runs.jsonl, num_samples: 4, expect: {tasks: 11}}\n"
    write(folder, "other.bench.yaml", f"{shared}benchmarks:\n{parts}")
    return page(folder)


def agents(folder):
    """One of two agents fails in the hard tasks, in each of five benchmarks."""
    for name, hard in (("was", 1.0), ("now", 0.0)):
        lines = [
            {
                "_ng_task_index": t,
                "reward": 1.0 if t % 2 or agent == "best" else hard,
                "agent_ref": {"name": agent},
                "level": "easy" if t % 2 else "hard",
            }
            for agent in ("best", "weak")
            for t in range(8)
        ]
        write_rows(folder, f"{name}.jsonl", lines)
    shared = {
        "rollouts": "now.jsonl", "metrics": ["mean_reward"], "breakdown": ["level"],
        "thresholds": {"mean_reward": ">= 0.9"}, "baseline": {"rollouts": "was.jsonl"},
    }  # fmt: skip
    several = [{"name": f"b{n}", **shared} for n in range(5)]
    write(folder, "all.bench.yaml", json.dumps({"benchmarks": several}))
    return page(folder)


def evil(folder, text=EVIL):
    """Markup in whatever a file or a row can hold."""
    write(folder, "conftest.py", SCORER)
    write_rows(
        folder,
        "rows.jsonl",
        (
            {
                "id": f"{text}{i}",
                "_ng_rollout_index": 0,
                "agent_ref": {"name": "__proto__" if i % 2 else text},
                "answer": "none" if i < 2 else "good" * (i % 3),
                "said": f"{text} {i}",
                text: i,
            }
            for i in range(8)
        ),
    )
    name = "evil <script>window.pwned=1</script>"
    spec = {
        "name": name,
        "description": text,
        "rollouts": {"path": "rows.jsonl", "fields": {"task": "id"}},
        "scorers": [{"type": "judge"}],
        "thresholds": {"mean_reward": ">= 0.9"},
    }
    write(folder, "evil.bench.yaml", json.dumps({"benchmark": spec}))  # JSON is YAML
    return page(folder)


def stopped(folder):
    """One benchmark fails, and nobody comes to the next one."""
    write_rows(folder, "runs.jsonl", rows([[1.0], [0.0]], 1))
    write(folder, "a.bench.yaml", f'{ASKED}, thresholds: {{mean_reward: ">= 0.9"}}}}\n')
    write(folder, "z.bench.yaml", f"{ASKED}}}\n")
    return page(folder, "-x")


def skipping(folder):
    """One benchmark passes, and two are skipped."""
    write_rows(folder, "runs.jsonl", rows([[1.0], [0.0]], 1))
    write(folder, "a.bench.yaml", f"{ASKED}}}\n")
    write(folder, "y.bench.yaml", f"{ASKED}, skip: true}}\n")
    write(folder, "z.bench.yaml", f"{ASKED}, skip: <img src=x onerror=pwned()>}}\n")
    return page(folder)


def selecting(folder):
    """One test breaks off after a check, and a benchmark is deselected."""
    code = (
        "def test_x(evalmetrics):\n    evalmetrics.check([1.0])\n    raise ValueError\n"
    )
    write(folder, "test_x.py", code)
    write(folder, "z.bench.yaml", "benchmark: {name: math, rollouts: runs.jsonl}\n")
    return page(folder, "-k", "test_x")


def unreadable(folder):
    """The rollouts are not there."""
    write(folder, "a.bench.yaml", "benchmark: {name: math, rollouts: runs.jsonl}\n")
    return page(folder)


def unrecorded(folder):
    """The baseline is not recorded."""
    write_rows(folder, "runs.jsonl", rows([[1.0], [0.0]], 1))
    write(folder, "a.bench.yaml", f"{ASKED}, baseline: true}}\n")
    return page(folder)


def judged(folder):
    """A scored run whose report tells of judges too."""
    left = evil(folder)
    report = read_report(left.with_name("report.json").read_bytes())
    (result,) = report.benchmarks
    judge = JudgeUse(
        scorer="llm_judge",
        scores=("quality",),
        model=EVIL,
        versions={},
        calls=1800,
        requests=1800,
        prompt_tokens=48_000,
        completion_tokens=211,
        total_tokens=48_211,
        without_tokens=0,
        cost=1.25,
        latency_s={"p95": 2.31},
    )
    check = JudgeCheck(
        score="quality",
        rows=50,
        failed=1,
        accuracy=0.86,
        kappa=0.71,
        quadratic_kappa=None,
        reason="all labels are the same",
        first=(Disagreement(row="labels.jsonl:3", judge=1.0, label=0.0),),
    )
    agreement = Agreement(alpha=0.82, level="interval", judges=3, rows=50)
    first, *others = result.agents
    scores = (structs.replace(first.scores[0], agreement=agreement), *first.scores[1:])
    result = structs.replace(
        result,
        agents=(structs.replace(first, scores=scores), *others),
        judges=(judge,),
        judge_checks=(check,),
    )
    report = structs.replace(report, benchmarks=(result,))
    with Artifacts() as kept:
        left.write_bytes(b"".join(pieces_of(report, kept, None)))
    return left


def graded(folder):
    """Eleven tasks with grades from 0 to 1, of which the best got none."""
    was = [[grade / 10] for grade in range(11)]
    write_rows(folder, "was.jsonl", rows(was, 1))
    write_rows(folder, "runs.jsonl", rows([*was[:-1], [0.0]], 1))
    gate = "baseline: {rollouts: was.jsonl, rule: exact}"
    spec = f"{{name: math, rollouts: runs.jsonl, metrics: [mean_reward], {gate}}}"
    write(folder, "a.bench.yaml", f"benchmark: {spec}\n")
    return page(folder)


def repeated(folder):
    """The same benchmark in two runs, which a history tells of."""
    for good in (1.0, 0.5):
        write_rows(folder, "runs.jsonl", rows([[good], [0.0]], 1))
        asked = "{name: math, rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}"
        write(folder, "a.bench.yaml", f"benchmark: {asked}\n")
        left = page(folder, "--evalmetrics-history", "history.jsonl")
    return left


def unchanged(folder):
    """The page of a calibration, over four runs of one system."""
    for n in range(4):
        tasks = [
            [float((t * 7 + k * 3 + n * 5) % 10 > 3) for k in range(4)]
            for t in range(40)
        ]
        write_rows(folder, f"run{n}.jsonl", rows(tasks, 1))
    files = ", ".join(f"[run{n}.jsonl]" for n in range(4))
    gates = f"thresholds: {{mean_reward: '>= 0.6'}}, baseline: {{rollouts: [{files}]}}"
    spec = (
        f"rollouts: run0.jsonl, num_samples: 4, metrics: [mean_reward, pass@2], {gates}"
    )
    write(folder, "a.bench.yaml", f"benchmark: {{name: math, {spec}}}\n")
    return page(folder, "--evalmetrics-calibrate").with_name("calibration.html")
