"""Every message about a benchmark file, exactly as its reader sees it.

A case is the file, what is said of it line by line, and whether an editor that knows the
JSON Schema marks it too: what follows from two values together, it can't see.
"""

import json
from dataclasses import fields
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.yaml_reader import parse_yaml, plain
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.ext import BenchmarkSpec
from pytest_evalmetrics.schemas import text

KEYS = ", ".join(sorted(field.name for field in fields(BenchmarkSpec)))
A_COUNT = "expected a whole number from 1, or '>= 100'"
A_SHARE = "expected a share from 0 to 1, such as 0.02 or 2%"
A_BOUND = "expected '>= 0.7', '<= 2000' or {min: 0.7}"
A_REASON = "expected true, false or the reason"
A_MARK = "expected true, false, the reason, or a mapping with reason and strict"
A_TAG = "expected a word that can be a pytest marker: a letter, then letters, digits and _ - . : /"
A_NAME = (
    "expected a name without '::', control characters and spaces around it, because it becomes "
    "a pytest id"
)


class Bad(NamedTuple):
    text: str
    messages: tuple[str, ...]
    in_schema: bool = True


def bad(text, *messages, in_schema=True):
    return Bad(text, messages, in_schema)


def one(keys, *messages, in_schema=True):
    """A file of one benchmark; `keys` start on line 4."""
    lines = "".join(f"  {line}\n" for line in keys.splitlines())
    return Bad(f"benchmark:\n  name: a\n  rollouts: r\n{lines}", messages, in_schema)


BAD = {
    # -- keys ---------------------------------------------------------------------------
    "unknown key": one(
        "treshold: {}",
        f"line 4: benchmark: unknown key 'treshold': did you mean 'thresholds'? keys here: {KEYS}",
    ),
    "keys that stand elsewhere": one(
        "fields: {task: id}\njudge: {}\nmax_drop: 1%",
        "line 4: benchmark: unknown key 'fields': it is a key of `dataset:` or `rollouts:`",
        "line 5: benchmark: unknown key 'judge': it is a key of `scorers:`",
        "line 6: benchmark: unknown key 'max_drop': it is a key of `baseline:`",
    ),
    "unknown keys below": one(
        "xfail: {strickt: true}\n"
        "expect: {max-missing: 0}\n"
        "thresholds:\n  a: {min: 1, quux: 2}\n"
        "  b:\n    minimum: 1",
        "line 4: benchmark.xfail: unknown key 'strickt': did you mean 'strict'? "
        "keys here: reason, strict",
        "line 5: benchmark.expect: unknown key 'max-missing': did you mean 'max_missing'? "
        "keys here: max_missing, missing_reward, rollouts, tasks",
        "line 7: benchmark.thresholds.a: unknown key 'quux': "
        "keys here: bound, confidence, max, min, rtol, value",
        "line 9: benchmark.thresholds.b: unknown key 'minimum': did you mean 'min'? "
        "keys here: bound, confidence, max, min, rtol, value",
    ),
    "unknown key of a path's mapping": bad(
        "benchmark:\n  name: a\n  rollouts:\n    path: r\n    fields: {taks: x}\n",
        "line 5: benchmark.rollouts.fields: unknown key 'taks': did you mean 'task'? "
        "keys here: agent, content, reward, sample, scores, task",
    ),
    "missing keys": bad(
        "benchmark:\n  description: x\n",
        "line 1: benchmark: 'name' is missing",
        "line 1: benchmark: 'rollouts' is missing",
    ),
    "missing key below": bad(
        "benchmark:\n  name: a\n  rollouts: {format: jsonl}\n",
        "line 3: benchmark.rollouts: 'path' is missing",
    ),
    "duplicate key": one(
        "num_samples: 1\nname: b",
        "line 5: benchmark: the key 'name' is written twice: lines 2 and 5",
        in_schema=False,
    ),
    # -- kinds of values ------------------------------------------------------------------
    "whole numbers": one(
        "num_samples: four",
        'line 4: benchmark.num_samples: expected a whole number, found the text "four"',
    ),
    "a number in quotes": one(
        "num_samples: '4'",
        "line 4: benchmark.num_samples: expected a whole number, "
        'found the text "4"; remove the quotes',
    ),
    "a number with separators": one(
        "num_samples: 1_000",
        "line 4: benchmark.num_samples: expected a whole number, "
        "but 1_000 is text in YAML; write 1000",
    ),
    "a number with a fraction": one(
        "num_samples: 4.5", "line 4: benchmark.num_samples: expected a whole number, found 4.5"
    ),
    "a number with an exponent": one(
        "num_samples: 1e1",
        "line 4: benchmark.num_samples: expected a whole number, found 10.0; write 10",
        in_schema=False,  # to JSON Schema 10.0 is an integer
    ),
    "no sample": one(
        "num_samples: 0", "line 4: benchmark.num_samples: expected a number of at least 1, found 0"
    ),
    "true is no number": one(
        "num_samples: true\npass_threshold: true",
        "line 4: benchmark.num_samples: expected a whole number, found true",
        "line 5: benchmark.pass_threshold: expected a number, found true",
    ),
    "numbers": one(
        "pass_threshold: half",
        'line 4: benchmark.pass_threshold: expected a number, found the text "half"',
    ),
    "not a number": one(
        "pass_threshold: .nan",
        "line 4: benchmark.pass_threshold: expected a finite number, found .nan",
        in_schema=False,
    ),
    "infinity": one(
        "pass_threshold: -.inf",
        "line 4: benchmark.pass_threshold: expected a finite number, found -.inf",
        in_schema=False,
    ),
    "texts": one(
        "description: 3\nreward: [a]\ncluster: {}\n",
        "line 4: benchmark.description: expected text, found 3; put quotes around it",
        "line 5: benchmark.reward: expected text, found a list",
        "line 6: benchmark.cluster: expected text, found an empty mapping",
    ),
    "empty texts": one(
        "reward: ''\nmetrics: ''",
        'line 4: benchmark.reward: expected text that is not empty, found the text ""',
        'line 5: benchmark.metrics: expected text that is not empty, found the text ""',
    ),
    "nothing": one(
        "reward:\nexpect:\nmetrics:\nthresholds:\nskip:",
        "line 4: benchmark.reward: expected text, found nothing",
        "line 5: benchmark.expect: expected a mapping, found nothing",
        "line 6: benchmark.metrics: expected a list of names or a name, found nothing",
        "line 7: benchmark.thresholds: expected a mapping, found nothing",
        f"line 8: benchmark.skip: {A_REASON}, found nothing",
    ),
    "mappings": one(
        "expect: [1]\nthresholds: '>= 1'",
        "line 4: benchmark.expect: expected a mapping, found a list",
        'line 5: benchmark.thresholds: expected a mapping, found the text ">= 1"',
    ),
    "lists of names": one(
        "metrics: {a: 1}\ntags: 3",
        "line 4: benchmark.metrics.a: expected a mapping with type, found 1",
        "line 5: benchmark.tags: expected a list of names or a name, found 3",
    ),
    "items of a list": one(
        "metrics:\n- 1\n- ''\n- [x]",
        "line 5: benchmark.metrics[0]: expected text, found 1; put quotes around it",
        'line 6: benchmark.metrics[1]: expected text that is not empty, found the text ""',
        "line 7: benchmark.metrics[2]: expected text, found a list",
    ),
    "lists that may not be empty": one(
        "metrics: []\nkey_metrics: []",
        "line 4: benchmark.metrics: expected a list that is not empty, found an empty list",
        "line 5: benchmark.key_metrics: expected a list that is not empty, found an empty list",
    ),
    "a name twice": one(
        "metrics: [a, b, a]", "line 4: benchmark.metrics: 'a' is listed twice", in_schema=False
    ),
    "one of several words": one(
        "pass_estimator: biased",
        'line 4: benchmark.pass_estimator: expected unbiased or first_k, found the text "biased"',
    ),
    "a long value is cut": one(
        f"pass_estimator: {'x' * 100}",
        "line 4: benchmark.pass_estimator: expected unbiased or first_k, "
        f'found the text "{"x" * 57}…"',
    ),
    "a tag that YAML would call": one(
        "num_samples: !!python/name:os.system 3",
        "line 4: benchmark.num_samples: the tag !!python/name:os.system means nothing here: "
        "write a plain value",
        in_schema=False,
    ),
    "a key that is no text, and another fault": one(
        "thresholds:\n  1: '>= 1'\n  b: 1",
        'line 5: benchmark.thresholds: the key 1 is no text: write "1"',
        "line 6: benchmark.thresholds.b: a bare number does not say which side is good: "
        "write '>= 1' or '<= 1'",
    ),
    # -- name and marks -------------------------------------------------------------------
    "a name that can't be an id": bad(
        "benchmarks:\n- {name: 'a::b', rollouts: r}\n- {name: ' a', rollouts: r}\n"
        "- {name: \"a\\n\", rollouts: r}\n- {name: '', rollouts: r}\n- {name: 12, rollouts: r}",
        f'line 2: benchmarks[0].name: {A_NAME}, found the text "a::b"',
        f'line 3: benchmarks[1].name: {A_NAME}, found the text " a"',
        f'line 4: benchmarks[2].name: {A_NAME}, found the text "a\\n"',
        'line 5: benchmarks[3].name: expected text that is not empty, found the text ""',
        "line 6: benchmarks[4].name: expected text, found 12; put quotes around it",
    ),
    "tags": one(
        "tags:\n- a b\n- 1st\n- skip\n- parametrize",
        f'line 5: benchmark.tags[0]: {A_TAG}, found the text "a b"',
        f'line 6: benchmark.tags[1]: {A_TAG}, found the text "1st"',
        "line 7: benchmark.tags[2]: 'skip' is a marker of pytest's own: "
        "write 'skip:' as a key instead",
        "line 8: benchmark.tags[3]: 'parametrize' is a marker of pytest's own",
        in_schema=False,
    ),
    "yes and no are texts": one(
        "skip: no\nxfail: Yes",
        f"line 4: benchmark.skip: {A_REASON}, but no is text in YAML; write false",
        f"line 5: benchmark.xfail: {A_MARK}, but Yes is text in YAML; write true",
        in_schema=False,
    ),
    "marks of another kind": one(
        "skip: 1\nxfail: [x]",
        f"line 4: benchmark.skip: {A_REASON}, found 1",
        f"line 5: benchmark.xfail: {A_MARK}, found a list",
    ),
    "inside a mark": one(
        "xfail:\n  reason: 3\n  strict: on",
        "line 5: benchmark.xfail.reason: expected text, found 3; put quotes around it",
        "line 6: benchmark.xfail.strict: expected true or false, "
        "but on is text in YAML; write true",
    ),
    # -- rollouts -------------------------------------------------------------------------
    "no path": bad(
        "benchmark:\n  name: a\n  rollouts: 3\n",
        "line 3: benchmark.rollouts: expected a path, a list of paths, or a mapping with "
        "path, found 3",
    ),
    "an empty path": bad(
        "benchmark:\n  name: a\n  rollouts: ''\n",
        'line 3: benchmark.rollouts: expected text that is not empty, found the text ""',
    ),
    "paths in a list": bad(
        "benchmark:\n  name: a\n  rollouts:\n  - r\n  - 4\n  - ''\n",
        "line 5: benchmark.rollouts[1]: expected text, found 4; put quotes around it",
        'line 6: benchmark.rollouts[2]: expected text that is not empty, found the text ""',
    ),
    "inside the rollouts": bad(
        "benchmark:\n  name: a\n  rollouts:\n    path: []\n    format: 3\n"
        "    fields: {task: '', scores: {'': x, f1: 1}}",
        "line 4: benchmark.rollouts.path: expected a list that is not empty, found an empty list",
        "line 5: benchmark.rollouts.format: expected text, found 3; put quotes around it",
        "line 6: benchmark.rollouts.fields.task: expected text that is not empty, "
        'found the text ""',
        "line 6: benchmark.rollouts.fields.scores: expected text that is not empty as a "
        'key, found the text ""',
        "line 6: benchmark.rollouts.fields.scores.f1: expected text, found 1; put quotes around it",
    ),
    # -- expect ---------------------------------------------------------------------------
    "counts": one(
        "expect:\n  tasks: 0\n  rollouts: some",
        f"line 5: benchmark.expect.tasks: {A_COUNT}, found 0",
        "line 6: benchmark.expect.rollouts: expected a whole number from 1, '>= 2' or any, "
        'found the text "some"',
    ),
    "more counts": one(
        "expect:\n  tasks: true\n  rollouts: {min: 3}",
        f"line 5: benchmark.expect.tasks: {A_COUNT}, found true",
        "line 6: benchmark.expect.rollouts: expected a whole number from 1, '>= 2' or any, "
        "found a mapping",
    ),
    "shares": one(
        "expect: {max_missing: 2}", f"line 4: benchmark.expect.max_missing: {A_SHARE}, found 2"
    ),
    "shares as text": one(
        "expect: {max_missing: few}",
        f'line 4: benchmark.expect.max_missing: {A_SHARE}, found the text "few"',
    ),
    "shares that are too much": one(
        "expect: {max_missing: 200%}",
        f'line 4: benchmark.expect.max_missing: {A_SHARE}, found the text "200%"',
        in_schema=False,
    ),
    "the reward of what is missing": one(
        "expect: {missing_reward: zero}",
        "line 4: benchmark.expect.missing_reward: expected error, exclude or a finite number "
        'such as 0.0, found the text "zero"',
    ),
    "an infinite reward of what is missing": one(
        "expect: {missing_reward: .inf}",
        "line 4: benchmark.expect.missing_reward: expected error, exclude or a finite number "
        "such as 0.0, found .inf",
        in_schema=False,
    ),
    "two numbers of samples": one(
        "num_samples: 4\nexpect:\n  rollouts: 3",
        "line 6: benchmark.expect.rollouts: 3 rollouts of each task contradict num_samples: 4",
        in_schema=False,
    ),
    "too few samples": one(
        "num_samples: 4\nexpect:\n  rollouts: '>= 5'",
        "line 6: benchmark.expect.rollouts: >= 5 rollouts of each task contradict num_samples: 4",
        in_schema=False,
    ),
    "a contradiction beside another fault": one(
        "num_samples: 4\nexpect: {rollouts: 3}\nfoo: 1\nrollouts: {}\n",
        "line 5: benchmark.expect.rollouts: 3 rollouts of each task contradict num_samples: 4",
        f"line 6: benchmark: unknown key 'foo': keys here: {KEYS}",
        "line 7: benchmark: the key 'rollouts' is written twice: lines 3 and 7",
    ),
    # -- thresholds -----------------------------------------------------------------------
    "a bare number": one(
        "thresholds: {pass@1: 0.7}",
        "line 4: benchmark.thresholds.pass@1: a bare number does not say which side is good: "
        "write '>= 0.7' or '<= 0.7'",
    ),
    "a bound of another kind": one(
        "thresholds:\n  a: '> 1'\n  b: [1]\n  c:\n  d: true",
        f'line 5: benchmark.thresholds.a: {A_BOUND}, found the text "> 1"',
        f"line 6: benchmark.thresholds.b: {A_BOUND}, found a list",
        f"line 7: benchmark.thresholds.c: {A_BOUND}, found nothing",
        f"line 8: benchmark.thresholds.d: {A_BOUND}, found true",
    ),
    "a bound without an end": one(
        "thresholds: {a: {bound: lower}}",
        "line 4: benchmark.thresholds.a: expected min, max or both",
    ),
    "a bound that nothing passes": one(
        "thresholds: {a: {min: 1, max: 0.5}}",
        "line 4: benchmark.thresholds.a: min 1 is above max 0.5: nothing can pass",
        in_schema=False,
    ),
    "inside a bound": one(
        "thresholds:\n  a: {min: .nan, max: high}\n  b: {min: '1', bound: middle}",
        "line 5: benchmark.thresholds.a.min: expected a finite number, found .nan",
        "line 5: benchmark.thresholds.a.max: expected a number, or a percentage such as 70%, "
        'found the text "high"',
        "line 6: benchmark.thresholds.b.min: expected a number, or a percentage such as 70%, "
        'found the text "1"; remove the quotes',
        "line 6: benchmark.thresholds.b.bound: expected point, lower or upper, "
        'found the text "middle"',
    ),
    "a bound that no float holds": one(
        "thresholds: {a: '>= 1e999'}",
        'line 4: benchmark.thresholds.a: expected a finite number, found the text ">= 1e999"',
        in_schema=False,
    ),
    "names of thresholds": one(
        "thresholds:\n  '': '>= 1'",
        'line 5: benchmark.thresholds: expected text that is not empty as a key, found the text ""',
    ),
    "a blank name of a threshold": one(
        "thresholds:\n  ' ': '>= 1'",
        "line 5: benchmark.thresholds[' ']: expected the name of a metric before the ':'",
        in_schema=False,
    ),
    "a name with a dot": one(
        "thresholds:\n  mean/a.b: 1",
        "line 5: benchmark.thresholds['mean/a.b']: a bare number does not say which side is "
        "good: write '>= 1' or '<= 1'",
    ),
    # -- the outermost keys ---------------------------------------------------------------
    "neither": bad("{}", "line 1: expected benchmark: or benchmarks:"),
    "only defaults": bad(
        "defaults:\n  num_samples: 2", "line 1: expected benchmark: or benchmarks:"
    ),
    "both": bad(
        "benchmarks:\n- {name: a, rollouts: r}\nbenchmark: {name: b, rollouts: r}",
        "line 3: a file holds benchmark: or benchmarks:, not both (lines 1 and 3)",
    ),
    "misspelt": bad(
        "benchmrk:\n  name: a",
        "line 1: unknown key 'benchmrk': did you mean 'benchmark'? "
        "keys here: benchmark, benchmarks, defaults",
    ),
    "unknown beside": bad(
        "benchmark: {name: a, rollouts: r}\nversion: 1",
        "line 2: unknown key 'version': keys here: benchmark, benchmarks, defaults",
    ),
    "not indented": bad(
        "name: a\nrollouts: r",
        "line 1: 'name' belongs under benchmark: and is indented there",
        "line 2: 'rollouts' belongs under benchmark: and is indented there",
    ),
    "a list at the top": bad(
        "- name: a", "line 1: expected a mapping with benchmark: or benchmarks:, found a list"
    ),
    "a text at the top": bad(
        "benchmark",
        'line 1: expected a mapping with benchmark: or benchmarks:, found the text "benchmark"',
    ),
    "no mapping": bad(
        "benchmark:\n- name: a", "line 1: benchmark: expected a mapping, found a list"
    ),
    "no list": bad(
        "benchmarks:\n  name: a",
        "line 1: benchmarks: expected a list of benchmarks, each starting with '- name:', "
        "found a mapping",
    ),
    "an empty list": bad(
        "benchmarks: []",
        "line 1: benchmarks: expected a list of benchmarks, each starting with '- name:', "
        "found an empty list",
    ),
    "items that are no mappings": bad(
        "benchmarks:\n- math\n- name: a\n  rollouts: r\n-\n",
        'line 2: benchmarks[0]: expected a mapping, found the text "math"',
        "line 5: benchmarks[2]: expected a mapping, found nothing",
    ),
    "one name for two": bad(
        "benchmarks:\n- name: a\n  rollouts: r\n- name: b\n  rollouts: r\n- rollouts: r\n"
        "  name: a\n",
        "line 7: benchmarks[2].name: two benchmarks are named 'a': on lines 2 and 7",
        in_schema=False,
    ),
    # -- defaults -------------------------------------------------------------------------
    "no mapping of defaults": bad(
        "defaults: [1]\nbenchmark: {name: a, rollouts: r}",
        "line 1: defaults: expected a mapping, found a list",
    ),
    "a name for all": bad(
        "defaults: {name: a}\nbenchmark: {name: a, rollouts: r}",
        "line 1: defaults.name: a name belongs to one benchmark, not to all of them",
    ),
    "said once, at its own line": bad(
        "defaults:\n  num_samples: four\n  expect: {tusks: 3}\n"
        "benchmarks:\n- {name: a, rollouts: r}\n- {name: b, rollouts: r}\n",
        'line 2: defaults.num_samples: expected a whole number, found the text "four"',
        "line 3: defaults.expect: unknown key 'tusks': did you mean 'tasks'? "
        "keys here: max_missing, missing_reward, rollouts, tasks",
    ),
    "said even if nobody uses it": bad(
        "defaults:\n  num_samples: four\nbenchmark: {name: a, rollouts: r, num_samples: 4}",
        'line 2: defaults.num_samples: expected a whole number, found the text "four"',
    ),
    "said of who lacks it": bad(
        "defaults:\n  rollouts: {format: jsonl}\nbenchmarks:\n- name: a\n"
        "  rollouts: {path: r}\n- name: b\n- name: c\n  rollouts: {format: csv}\n",
        "line 6: benchmarks[1].rollouts: 'path' is missing",
        "line 8: benchmarks[2].rollouts: 'path' is missing",
        in_schema=False,
    ),
    "what two places make together": bad(
        "defaults:\n  num_samples: 4\n  thresholds: {a: {min: 0.5}}\n"
        "benchmark:\n  name: a\n  rollouts: r\n  expect: {rollouts: 3}\n"
        "  thresholds:\n    a: {max: 0.4}",
        "line 7: benchmark.expect.rollouts: 3 rollouts of each task contradict num_samples: 4",
        "line 9: benchmark.thresholds.a: min 0.5 is above max 0.4: nothing can pass",
        in_schema=False,
    ),
    # -- aliases --------------------------------------------------------------------------
    "what an anchor holds is said once": bad(
        "benchmarks:\n- &first\n  name: a\n  rollouts: r\n  num_samples: x\n"
        "- <<: *first\n  name: b\n- <<: *first\n  name: c\n  num_samples: 0\n",
        'line 5: benchmarks[0].num_samples: expected a whole number, found the text "x"',
        "line 10: benchmarks[2].num_samples: expected a number of at least 1, found 0",
    ),
}


VALIDATOR = Draft202012Validator(json.loads(text("benchmark")))


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_is_said(bad, tmp_path):
    path = tmp_path / "a.bench.yaml"
    path.write_text(bad.text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_benchmarks(path, shown="bench/a.bench.yaml")
    assert tuple(str(problem) for problem in caught.value.problems) == bad.messages
    root = parse_yaml(bad.text).root
    assert root is not None
    assert VALIDATOR.is_valid(plain(root)) is not bad.in_schema  # what an editor sees


def test_the_whole_message(tmp_path):
    path = tmp_path / "a.bench.yaml"
    path.write_text("benchmark:\n  name: a\n  skip: no\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_benchmarks(path, shown="bench/a.bench.yaml")
    assert str(caught.value) == (
        "bench/a.bench.yaml: 2 problems in this benchmark file\n"
        "bench/a.bench.yaml:1: benchmark: 'rollouts' is missing\n"
        f"bench/a.bench.yaml:3: benchmark.skip: {A_REASON}, but no is text in YAML; write false"
    )


def test_what_is_no_yaml_is_said_as_well(tmp_path):
    path = tmp_path / "a.bench.yaml"
    path.write_text("benchmark:\n  thresholds:\n    pass@1: >= 0.7\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_benchmarks(path, shown="a")
    assert str(caught.value) == (
        "a: one problem in this benchmark file\n"
        "a:3: put quotes around a value that starts with > or |: >= 0.7"
    )
