from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.benchmark_schema import schema_of_file
from pytest_evalmetrics.config.yaml_reader import parse_yaml, plain
from pytest_evalmetrics.ext import BenchmarkSpec, FieldMap
from pytest_evalmetrics.spec import Count, ExpectSpec, RolloutsSpec, Threshold, XFail

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.spec import Benchmark

R = RolloutsSpec(path=("r",))


def load(tmp_path: Path, text: str) -> tuple[Benchmark, ...]:
    path = tmp_path / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    return load_benchmarks(path, shown="a.bench.yaml")


FULL = """\
# yaml-language-server: $schema=benchmark.schema.json
benchmark:
  name: math
  description: Grade-school maths
  tags: [nightly]
  skip: false
  xfail: {reason: known, strict: true}
  rollouts:
    path: [runs/a.jsonl, runs/b/*.jsonl]
    format: nemo_gym
    fields: {task: id, sample: n, reward: result.reward, agent: who, scores: {f1: result.f1}}
  num_samples: 4
  reward: reward
  metrics: [mean_reward, pass@1, "my_pkg.metrics:Median"]
  key_metrics: [pass@1, mean/output_tokens]
  pass_threshold: 0.5
  pass_estimator: first_k
  breakdown: [difficulty]
  cluster: topic
  expect: {tasks: 164, rollouts: any, max_missing: 2%, missing_reward: error}
  thresholds:
    pass@1: ">= 0.70"
    mean/output_tokens: {max: 2000, bound: upper}
"""

GOOD: dict[str, tuple[str, tuple[BenchmarkSpec, ...]]] = {
    "the least": (
        "benchmark: {name: a, rollouts: r}",
        (BenchmarkSpec(name="a", rollouts=R),),
    ),
    "everything": (
        FULL,
        (
            BenchmarkSpec(
                name="math",
                description="Grade-school maths",
                tags=("nightly",),
                skip=False,
                xfail=XFail(reason="known", strict=True),
                rollouts=RolloutsSpec(
                    path=("runs/a.jsonl", "runs/b/*.jsonl"),
                    format="nemo_gym",
                    fields=FieldMap(
                        task="id",
                        sample="n",
                        reward="result.reward",
                        agent="who",
                        scores={"f1": "result.f1"},
                    ),
                ),
                num_samples=4,
                reward="reward",
                metrics=("mean_reward", "pass@1", "my_pkg.metrics:Median"),
                key_metrics=("pass@1", "mean/output_tokens"),
                pass_threshold=0.5,
                pass_estimator="first_k",  # noqa: S106 - the "pass" of pass@k
                breakdown=("difficulty",),
                cluster="topic",
                expect=ExpectSpec(
                    tasks=Count(min=164, max=164),
                    rollouts="any",
                    max_missing=0.02,
                    missing_reward="error",
                ),
                thresholds={
                    "pass@1": Threshold(min=0.7),
                    "mean/output_tokens": Threshold(max=2000, bound="upper"),
                },
            ),
        ),
    ),
    "short forms": (
        """\
benchmarks:
- {name: one, rollouts: r, metrics: pass@3, tags: slow, breakdown: kind, key_metrics: pass@3}
- {name: list, rollouts: [r, s], tags: [], breakdown: []}
- {name: marks, rollouts: r, skip: true, xfail: true}
- {name: reasons, rollouts: r, skip: no data, xfail: known}
- {name: unmarked, rollouts: r, skip: "", xfail: false}
- {name: counts, rollouts: r, expect: {tasks: ">=100", rollouts: ">= 2", missing_reward: 0}}
""",
        (
            BenchmarkSpec(
                name="one",
                rollouts=R,
                metrics=("pass@3",),
                tags=("slow",),
                breakdown=("kind",),
                key_metrics=("pass@3",),
            ),
            BenchmarkSpec(name="list", rollouts=RolloutsSpec(path=("r", "s"))),
            BenchmarkSpec(name="marks", rollouts=R, skip=True, xfail=XFail()),
            BenchmarkSpec(name="reasons", rollouts=R, skip="no data", xfail=XFail(reason="known")),
            BenchmarkSpec(name="unmarked", rollouts=R, skip=""),
            BenchmarkSpec(
                name="counts",
                rollouts=R,
                expect=ExpectSpec(tasks=Count(min=100), rollouts=Count(min=2), missing_reward=0),
            ),
        ),
    ),
    "bounds": (
        """\
benchmark:
  name: a
  rollouts: r
  thresholds:
    a: ">=.5"
    b: "<= -2e-3"
    c: ">= 40 %"
    d: {min: 0, max: 70%, bound: lower}
    e: {min: 1e0, max: 10}
""",
        (
            BenchmarkSpec(
                name="a",
                rollouts=R,
                thresholds={
                    "a": Threshold(min=0.5),
                    "b": Threshold(max=-0.002),
                    "c": Threshold(min=0.4),
                    "d": Threshold(min=0, max=0.7, bound="lower"),
                    "e": Threshold(min=1, max=10),
                },
            ),
        ),
    ),
    "nothing is as if it were not there": (
        """\
benchmark:
  name: a
  rollouts: {path: r, format: null}
  num_samples:
  xfail: ~
  key_metrics: null
  cluster:
  expect: {tasks: , rollouts: null, max_missing: ~, missing_reward: }
  thresholds: {a: {min: , max: 1}}
""",
        (BenchmarkSpec(name="a", rollouts=R, thresholds={"a": Threshold(max=1)}),),
    ),
    "texts that YAML 1.1 takes for something else": (
        "benchmark: {name: 1:30, rollouts: no, description: 2024-01-01, cluster: on}",
        (
            BenchmarkSpec(
                name="1:30",
                rollouts=RolloutsSpec(path=("no",)),
                description="2024-01-01",
                cluster="on",
            ),
        ),
    ),
    "as many samples as expected": (
        "benchmark: {name: a, rollouts: r, num_samples: 4, expect: {rollouts: '>= 4'}}",
        (
            BenchmarkSpec(
                name="a", rollouts=R, num_samples=4, expect=ExpectSpec(rollouts=Count(min=4))
            ),
        ),
    ),
    "defaults": (
        """\
defaults:
  rollouts: {path: base, format: jsonl, fields: {task: t}}
  num_samples: 4
  metrics: [pass@1, pass@2]
  xfail: known
  expect: {tasks: 3, max_missing: 1%}
  thresholds: {a: {min: 0.5, bound: lower}, b: ">= 1"}
benchmarks:
- name: all
- name: some
  rollouts: {path: own, fields: {sample: s}}
  metrics: pass@1
  xfail:
  num_samples:
  expect: {tasks: 4}
  thresholds: {a: {min: 0.6}, b: "<= 2", c: ">= 3"}
- name: short
  rollouts: own
  xfail: {strict: true}
""",
        (
            BenchmarkSpec(
                name="all",
                rollouts=RolloutsSpec(path=("base",), format="jsonl", fields=FieldMap(task="t")),
                num_samples=4,
                metrics=("pass@1", "pass@2"),
                xfail=XFail(reason="known"),
                expect=ExpectSpec(tasks=Count(min=3, max=3), max_missing=0.01),
                thresholds={"a": Threshold(min=0.5, bound="lower"), "b": Threshold(min=1)},
            ),
            BenchmarkSpec(
                name="some",
                rollouts=RolloutsSpec(
                    path=("own",), format="jsonl", fields=FieldMap(task="t", sample="s")
                ),
                metrics=("pass@1",),
                expect=ExpectSpec(tasks=Count(min=4, max=4), max_missing=0.01),
                thresholds={
                    "a": Threshold(min=0.6, bound="lower"),
                    "b": Threshold(max=2),
                    "c": Threshold(min=3),
                },
            ),
            BenchmarkSpec(
                name="short",
                rollouts=RolloutsSpec(path=("own",)),
                num_samples=4,
                metrics=("pass@1", "pass@2"),
                xfail=XFail(strict=True),
                expect=ExpectSpec(tasks=Count(min=3, max=3), max_missing=0.01),
                thresholds={"a": Threshold(min=0.5, bound="lower"), "b": Threshold(min=1)},
            ),
        ),
    ),
    "defaults that only the benchmark completes": (
        """\
defaults: {thresholds: {a: {bound: lower}}, rollouts: {format: jsonl}}
benchmark: {name: a, rollouts: {path: r}, thresholds: {a: {min: 1}}}
""",
        (
            BenchmarkSpec(
                name="a",
                rollouts=RolloutsSpec(path=("r",), format="jsonl"),
                thresholds={"a": Threshold(min=1, bound="lower")},
            ),
        ),
    ),
    "anchors": (
        """\
benchmarks:
- &base
  name: a
  rollouts: r
  thresholds: &bounds {x: ">= 1"}
- <<: *base
  name: b
- {name: c, rollouts: r, thresholds: *bounds}
""",
        tuple(
            BenchmarkSpec(name=name, rollouts=R, thresholds={"x": Threshold(min=1)})
            for name in "abc"
        ),
    ),
}


@pytest.mark.parametrize(("text", "specs"), GOOD.values(), ids=GOOD)
def test_what_is_read(text: str, specs: tuple[BenchmarkSpec, ...], tmp_path: Path) -> None:
    benchmarks = load(tmp_path, text)
    assert tuple(benchmark.spec for benchmark in benchmarks) == specs
    assert {benchmark.file for benchmark in benchmarks} == {tmp_path / "a.bench.yaml"}


VALIDATOR = Draft202012Validator(schema_of_file())


@pytest.mark.parametrize("text", [text for text, _ in GOOD.values()], ids=GOOD)
def test_an_editor_marks_nothing(text: str) -> None:
    root = parse_yaml(text).root
    assert root is not None
    assert [error.message for error in VALIDATOR.iter_errors(plain(root))] == []


def test_lines(tmp_path: Path) -> None:
    (benchmark,) = load(tmp_path, FULL)
    assert benchmark.line_of() == 2
    assert benchmark.line_of("name") == 3
    assert benchmark.line_of("rollouts", "path", 1) == 9
    assert benchmark.line_of("thresholds", "pass@1") == 22
    assert benchmark.line_of("thresholds", "mean/output_tokens", "bound") == 23
    assert benchmark.line_of("thresholds", "mean/output_tokens", "min") == 23  # not written
    assert benchmark.line_of("baseline", "max_drop") == 2


def test_lines_of_what_comes_from_defaults(tmp_path: Path) -> None:
    text = """\
defaults:
  thresholds:
    a: ">= 1"
    b:
      min: 1
benchmarks:
- name: x
  rollouts: r
- name: y
  rollouts: r
  thresholds:
    a: ">= 2"
    b:
      max: 2
"""
    x, y = load(tmp_path, text)
    assert (x.line_of(), y.line_of()) == (7, 9)
    assert [x.line_of("thresholds", *p) for p in ((), ("a",), ("b",), ("b", "min"))] == [2, 3, 4, 5]
    assert [y.line_of("thresholds", *p) for p in ((), ("a",), ("b",))] == [11, 12, 13]
    assert [y.line_of("thresholds", "b", p) for p in ("min", "max")] == [5, 14]
