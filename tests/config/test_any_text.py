"""Whatever a file holds, it is read, or refused with a line that it has."""

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.yaml_reader import LOADERS, parse_yaml
from pytest_evalmetrics.errors import ConfigError

WHOLE = """\
defaults: &d
  expect: {tasks: 164, rollouts: any, max_missing: 2%, missing_reward: 0.0}
  rollouts: {path: [a, 'b'], fields: {scores: {f1: x.y}}}
benchmarks:
  - &first
    name: "m"
    tags: [t]
    num_samples: 4
    xfail: {reason: r, strict: true}
    thresholds:
      pass@1: ">= 0.70"
      c: {max: 2000, bound: upper}
  - <<: *first
    name: |
      n
    skip: no
"""
# fmt: off
PIECES = st.sampled_from([
    "benchmark: ", "benchmarks: ", "defaults: ", "name: ", "rollouts: ", "expect: ",
    "thresholds: ", "num_samples: ", "xfail: ", "skip: ", "tags: ", "metrics: ", "min: ",
    "\n", "\n  ", "\n    ", "\n  - ", "\n- ", "\t", " ", "- ", "? ", ": ", ", ", "#", "---\n",
    "[", "]", "{", "}", "&a ", "*a", "<<: ", "!!str ", "!x ", "'", '"', "|", ">", "%", "@",
    "a", "1", "1.5", ".nan", "1_0", "yes", "true", "~", "'x'", '"\\ud800"', "\0", "\x85",
    "\u2028", "\ufeff", "ä", "😀", "\r", "\r\n", "'>= 1'", "2%", "1e999", "any", "x" * 99,
])
# fmt: on


def check(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.bench.yaml"
        path.write_bytes(data)
        benchmarks = ()
        problems = ()
        try:
            benchmarks = load_benchmarks(path, shown="a")
        except ConfigError as error:
            problems = error.problems
    assert bool(benchmarks) is not bool(problems)
    lines = [problem.line for problem in problems]
    assert lines == sorted(lines)
    assert len(set(problems)) == len(problems)
    lines += [line for benchmark in benchmarks for line in benchmark.lines.values()]
    assert min(lines) >= 1
    # an empty last line counts, which splitlines leaves out
    assert max(lines) <= 1 + len(data.decode(errors="replace").splitlines())


@given(st.text(max_size=60).map(str.encode) | st.binary(max_size=40))
def test_any_text_and_any_bytes(data):
    check(data)


@given(st.lists(PIECES, max_size=25).map("".join))
@example("benchmark: {{ x }}")
@example("? ? ? a")
@example("benchmarks: &a [*a]")
@example("benchmark: &a {<<: *a}")
@example("defaults: {name: {a: [b]}}\nbenchmarks: [{name: [a]}, {name: {}}]")
@example("benchmark: {name: x, rollouts: {path: {path: 1}, fields: {scores: []}}}")
@example(
    "benchmark: {xfail: {reason: {reason: 1}}, expect: {tasks: {min: 1, max: {}}}}"
)
def test_anything_like_a_benchmark_file(text):
    check(text.encode())
    for loader in LOADERS:  # each scanner
        source = parse_yaml(text, loader)
        assert source.root is not None or source.problems


@settings(max_examples=40)
@given(st.data())
def test_a_benchmark_file_with_a_slip(data):
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        text = text[:start] + data.draw(PIECES) + text[end:]
    check(text.encode())
