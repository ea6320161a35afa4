"""Every message about a benchmark file, exactly as its reader sees it.

A case is the file, what is said of it line by line, and what an editor that knows the JSON
Schema does not mark: what follows from two values together, it can't see.
"""

import re
from dataclasses import fields

from pytest_evalmetrics.ext import BenchmarkSpec

KEYS = ", ".join(sorted(field.name for field in fields(BenchmarkSpec)))
FIELDS = "agent, answer, content, prompt, reason, reward, sample, scores, task"
OUTERMOST = "benchmark, benchmarks, defaults"
EXPECT = "max_missing, missing_reward, rollouts, tasks"
BOUND = "bound, confidence, max, min, rtol, tier, value"
A_PATH = "expected a path, a list of paths, or a mapping with path"
A_COUNT = "expected a whole number from 1, or '>= 100'"
SOME_ROLLOUTS = "expected a whole number from 1, '>= 2' or any"
A_SHARE = "expected a share from 0 to 1, such as 0.02 or 2%"
A_REWARD = "expected error, exclude or a finite number such as 0.0"
A_BOUND = "expected '>= 0.7', '<= 2000' or {min: 0.7}"
A_NUMBER = "expected a number, or a percentage such as 70%"
A_REASON = "expected true, false or the reason"
A_MARK = "expected true, false, the reason, or a mapping with reason and strict"
A_TAG = "expected a word that can be a pytest marker: a letter, then letters, digits and _ - . : /"
METRICS = "metrics: [mean_reward, pass@1]"
A_TEXT = "expected text that is not empty"
NO_SIDE = "a bare number does not say which side is good"
A_NAME = (
    "expected a name without '::', control characters and spaces around it, because it becomes "
    "a pytest id"
)
A_LIST = "expected a list of benchmarks, each starting with '- name:'"


def one(keys, *messages, unmarked=()):
    """Keys of one benchmark, from line 4 on; the messages lack `benchmark` as their place."""
    return keys, list(messages), {f"benchmark.{key}" for key in unmarked}


OF_ONE = [
    one(
        "treshold: {}\nfields: {task: id}\njudge: {}\nmax_drop: 1%",
        f"4: unknown key 'treshold': did you mean 'thresholds'? keys here: {KEYS}",
        "5: unknown key 'fields': it is a key of `dataset:` or `rollouts:`",
        "6: unknown key 'judge': it is a key of `scorers:`",
        "7: unknown key 'max_drop': it is a key of `baseline:`",
    ),
    one(
        "xfail: {strickt: true}\nexpect: {max-missing: 0}\n"
        "thresholds:\n  a: {min: 1, quux: 2}\n  b:\n    minimum: 1",
        "4: .xfail: unknown key 'strickt': did you mean 'strict'? keys here: reason, strict",
        f"5: .expect: unknown key 'max-missing': did you mean 'max_missing'? keys here: {EXPECT}",
        f"7: .thresholds.a: unknown key 'quux': keys here: {BOUND}",
        f"9: .thresholds.b: unknown key 'minimum': did you mean 'min'? keys here: {BOUND}",
    ),
    one(
        f"num_samples: four\npass_threshold: half\npass_estimator: {'x' * 100}\nreward: ''",
        '4: .num_samples: expected a whole number, found the text "four"',
        '5: .pass_threshold: expected a number, found the text "half"',
        f'6: .pass_estimator: expected unbiased or first_k, found the text "{"x" * 57}…"',
        f'7: .reward: {A_TEXT}, found the text ""',
    ),
    one(
        "num_samples: '4'\npass_threshold: true\nmetrics: ''\ntags: 3",
        '4: .num_samples: expected a whole number, found the text "4"; remove the quotes',
        "5: .pass_threshold: expected a number, found true",
        f'6: .metrics: {A_TEXT}, found the text ""',
        "7: .tags: expected a list of names or a name, found 3; write it as tags: [nightly]",
    ),
    one(
        "num_samples: 1_000\npass_threshold: .nan\nmetrics: [a, b, a]",
        "4: .num_samples: expected a whole number, but 1_000 is text in YAML; write 1000",
        "5: .pass_threshold: expected a finite number, found .nan",
        "6: .metrics: 'a' is listed twice",
        unmarked=["pass_threshold", "metrics"],
    ),
    one(
        "num_samples: 4.5\npass_threshold: -.inf\nmetrics: []\nkey_metrics: []",
        "4: .num_samples: expected a whole number, found 4.5",
        "5: .pass_threshold: expected a finite number, found -.inf",
        "6: .metrics: expected a list that is not empty, found an empty list"
        f"; write it as {METRICS}",
        "7: .key_metrics: expected a list that is not empty, found an empty list"
        "; write it as key_metrics: [pass@1, mean/output_tokens]",
        unmarked=["pass_threshold"],
    ),
    one(
        "num_samples: 1e1\nmetrics: {a: 1}\nexpect: [1]\nthresholds: '>= 1'",
        "4: .num_samples: expected a whole number, found 10.0; write 10",
        "5: .metrics.a: a metric of your own has a type, such as {type: f1, gold: label, "
        f"predicted: answer}}; those that there are stand in a list, {METRICS}, and limits "
        'below thresholds: {pass@1: ">= 0.7"}',
        "6: .expect: expected a mapping, found a list; write it as expect: {tasks: 100}",
        '7: .thresholds: expected a mapping, found the text ">= 1"; write it as thresholds: '
        '{pass@1: ">= 0.7"}',
        unmarked=["num_samples"],  # to JSON Schema 10.0 is an integer
    ),
    one(
        "num_samples: 0\nmetrics:\n- 1\n- ''\n- [x]",
        "4: .num_samples: expected a number of at least 1, found 0",
        "6: .metrics[0]: expected text, found 1; put quotes around it",
        f'7: .metrics[1]: {A_TEXT}, found the text ""',
        "8: .metrics[2]: expected text, found a list",
    ),
    one(
        "num_samples: ${N}\nthresholds: {pass@1: '${LEAST}'}\nmetrics: 'pass@1, pass@2'",
        "4: .num_samples: expected a whole number, found ${N}, which is filled in only in an "
        "endpoint's url and name",
        "5: .thresholds.pass@1: expected '>= 0.7', '<= 2000' or {min: 0.7}, found ${LEAST}, "
        "which is filled in only in an endpoint's url and name",
    ),
    one(
        "num_samples: true\ndescription: 3\nreward: [a]\ncluster: {}\n",
        "4: .num_samples: expected a whole number, found true",
        "5: .description: expected text, found 3; put quotes around it",
        "6: .reward: expected text, found a list",
        "7: .cluster: expected text, found an empty mapping",
    ),
    one(
        "reward:\nexpect:\nmetrics:\nthresholds:\nskip:\nbaseline:",
        "4: .reward: expected text, found nothing",
        "5: .expect: expected a mapping, found nothing; write it as expect: {tasks: 100}",
        f"6: .metrics: expected a list of names or a name, found nothing; write it as {METRICS}",
        "7: .thresholds: expected a mapping, found nothing; write it as thresholds: "
        '{pass@1: ">= 0.7"}',
        f"8: .skip: {A_REASON}, found nothing",
        "9: .baseline: expected true, false, or a mapping with rule, max_drop, ..., found nothing",
    ),
    one(
        "num_samples: !!python/name:os.system 3\nthresholds:\n  1: '>= 1'\n  b: 1",
        "4: .num_samples: the tag !!python/name:os.system means nothing here: write a plain value",
        '6: .thresholds: the key 1 is not text: write "1"',
        f"7: .thresholds.b: {NO_SIDE}: write '>= 1' or '<= 1'",
        unmarked=["num_samples"],
    ),
    one(
        "tags:\n- a b\n- 1st\n- skip\n- parametrize\nskip: no\nxfail: Yes",
        f'5: .tags[0]: {A_TAG}, found the text "a b"',
        f'6: .tags[1]: {A_TAG}, found the text "1st"',
        "7: .tags[2]: 'skip' is a marker of pytest's own: write 'skip:' as a key instead",
        "8: .tags[3]: 'parametrize' is a marker of pytest's own",
        f"9: .skip: {A_REASON}, but no is text in YAML; write false",
        f"10: .xfail: {A_MARK}, but Yes is text in YAML; write true",
        unmarked=["tags", "skip", "xfail"],
    ),
    one(
        "skip: 1\nxfail: [x]",
        f"4: .skip: {A_REASON}, found 1",
        f"5: .xfail: {A_MARK}, found a list",
    ),
    one(
        "xfail:\n  reason: 3\n  strict: on",
        "5: .xfail.reason: expected text, found 3; put quotes around it",
        "6: .xfail.strict: expected true or false, but on is text in YAML; write true",
    ),
    one(
        "expect:\n  tasks: 0\n  rollouts: some\n  max_missing: 2\n  missing_reward: zero",
        f"5: .expect.tasks: {A_COUNT}, found 0",
        f'6: .expect.rollouts: {SOME_ROLLOUTS}, found the text "some"',
        f"7: .expect.max_missing: {A_SHARE}, found 2",
        f'8: .expect.missing_reward: {A_REWARD}, found the text "zero"',
    ),
    one(
        "expect:\n  tasks: true\n  rollouts: {min: 3}\n  max_missing: few",
        f"5: .expect.tasks: {A_COUNT}, found true",
        f"6: .expect.rollouts: {SOME_ROLLOUTS}, found a mapping",
        f'7: .expect.max_missing: {A_SHARE}, found the text "few"',
    ),
    one(
        "expect: {tasks: '>= 0'}", f'4: .expect.tasks: {A_COUNT}, found the text ">= 0"'
    ),
    one(
        "expect:\n  max_missing: 200%\n  missing_reward: .inf",
        f'5: .expect.max_missing: {A_SHARE}, found the text "200%"',
        f"6: .expect.missing_reward: {A_REWARD}, found .inf",
        unmarked=["expect"],
    ),
    one(
        "num_samples: 4\nexpect: {rollouts: '>= 5'}\nfoo: 1\nrollouts: {}\n",
        "5: .expect.rollouts: >= 5 rollouts of each task contradict num_samples: 4",
        f"6: unknown key 'foo': keys here: {KEYS}",
        "7: the key 'rollouts' is written twice: lines 3 and 7",
        unmarked=["expect"],
    ),
    one(
        "thresholds:\n  a: '> 1'\n  b: [1]\n  c:\n  d: true\n  mean/a.b: 0.7\n"
        "  e: {bound: lower}\n  '': '>= 1'\n  f: {min: .nan, max: high}\n"
        "  g: {min: '1', bound: middle}",
        f'5: .thresholds.a: {A_BOUND}, found the text "> 1"',
        f"6: .thresholds.b: {A_BOUND}, found a list",
        f"7: .thresholds.c: {A_BOUND}, found nothing",
        f"8: .thresholds.d: {A_BOUND}, found true",
        f"9: .thresholds['mean/a.b']: {NO_SIDE}: write '>= 0.7' or '<= 0.7'",
        "10: .thresholds.e: expected min, max or both",
        f'11: .thresholds: {A_TEXT} as a key, found the text ""',
        "12: .thresholds.f.min: expected a finite number, found .nan",
        f'12: .thresholds.f.max: {A_NUMBER}, found the text "high"',
        f'13: .thresholds.g.min: {A_NUMBER}, found the text "1"; remove the quotes',
        '13: .thresholds.g.bound: expected point, lower or upper, found the text "middle"',
    ),
    one(
        "thresholds:\n  a: {min: 1, max: 0.5}\n  b: '>= 1e999'",
        "5: .thresholds.a: min 1 is above max 0.5: nothing can pass",
        '6: .thresholds.b: expected a finite number, found the text ">= 1e999"',
        unmarked=["thresholds"],
    ),
    one(
        "thresholds:\n  ' ': '>= 1'",
        "5: .thresholds[' ']: expected the name of a metric before the ':'",
        unmarked=["thresholds"],
    ),
]


def test_messages_about_a_benchmark(refusals, marks):
    files = []
    for keys, _, _ in OF_ONE:
        lines = "".join(f"  {line}\n" for line in keys.splitlines())
        files.append(f"benchmark:\n  name: a\n  rollouts: r\n{lines}")
    for file, lines, (_, messages, unmarked) in zip(
        files, refusals(files), OF_ONE, strict=True
    ):
        shortened = [
            m.replace("benchmark: ", "", 1).replace("benchmark.", ".", 1) for m in lines
        ]
        assert shortened == messages
        assert places(marks(file)) == places(lines) - unmarked


def places(texts):
    """Cut what a message or mark begins with down to the key of the benchmark."""
    return {re.search(r"benchmark(\.\w+)?", text)[0] for text in texts}


FILES = {
    "benchmark:\n  name: a\n  rollouts:\n    path: r\n    fields: {taks: x}\n": [
        "5: benchmark.rollouts.fields: unknown key 'taks': did you mean 'task'? keys here: "
        + FIELDS
    ],
    "benchmark:\n  description: x\n": [
        "1: benchmark: 'name' is missing",
        "1: benchmark: 'rollouts' is missing",
    ],
    (
        "benchmarks:\n- {name: 'a::b', rollouts: r}\n- {name: ' a', rollouts: {format: jsonl}}\n"
        "- {name: \"a\\n\", rollouts: 3}\n- {name: '', rollouts: ''}\n"
        "- {name: 12, rollouts: [r, 4, '']}\n- math\n-\n"
    ): [
        f'2: benchmarks[0].name: {A_NAME}, found the text "a::b"',
        f'3: benchmarks[1].name: {A_NAME}, found the text " a"',
        "3: benchmarks[1].rollouts: 'path' is missing",
        f'4: benchmarks[2].name: {A_NAME}, found the text "a\\n"',
        f"4: benchmarks[2].rollouts: {A_PATH}, found 3",
        f'5: benchmarks[3].name: {A_TEXT}, found the text ""',
        f'5: benchmarks[3].rollouts: {A_TEXT}, found the text ""',
        "6: benchmarks[4].name: expected text, found 12; put quotes around it",
        "6: benchmarks[4].rollouts[1]: expected text, found 4; put quotes around it",
        f'6: benchmarks[4].rollouts[2]: {A_TEXT}, found the text ""',
        '7: benchmarks[5]: expected a mapping, found the text "math"',
        "8: benchmarks[6]: expected a mapping, found nothing",
    ],
    (
        "benchmark:\n  name: a\n  rollouts:\n    path: []\n    format: 3\n"
        "    fields: {task: '', scores: {'': x, f1: 1}}"
    ): [
        "4: benchmark.rollouts.path: expected a list that is not empty, found an empty list",
        "5: benchmark.rollouts.format: expected text, found 3; put quotes around it",
        f'6: benchmark.rollouts.fields.task: {A_TEXT}, found the text ""',
        f'6: benchmark.rollouts.fields.scores: {A_TEXT} as a key, found the text ""',
        "6: benchmark.rollouts.fields.scores.f1: expected text, found 1; put quotes around it",
    ],
    "{}": ["1: expected benchmark: or benchmarks:"],
    "benchmarks: [{name: a, rollouts: r}]\nbenchmark: {name: b, rollouts: r}": [
        "2: a file holds benchmark: or benchmarks:, not both (lines 1 and 2)"
    ],
    "benchmrk:\n  name: a": [
        f"1: unknown key 'benchmrk': did you mean 'benchmark'? keys here: {OUTERMOST}"
    ],
    "name: a\nrollouts: r": [
        "1: 'name' belongs under benchmark: and is indented there",
        "2: 'rollouts' belongs under benchmark: and is indented there",
    ],
    "- name: a": ["1: expected a mapping with benchmark: or benchmarks:, found a list"],
    "benchmark:\n- name: a": ["1: benchmark: expected a mapping, found a list"],
    "benchmarks:\n  name: a": [f"1: benchmarks: {A_LIST}, found a mapping"],
    "benchmarks: []": [f"1: benchmarks: {A_LIST}, found an empty list"],
    "defaults: [1]\nbenchmark: {name: a, rollouts: r}": [
        "1: defaults: expected a mapping, found a list"
    ],
    "defaults: {name: a}\nbenchmark: {name: a, rollouts: r}": [
        "1: defaults.name: a name belongs to one benchmark, not to all of them"
    ],
    # once, at its own line, whether all of the benchmarks use it or not
    (
        "defaults:\n  num_samples: four\n  expect: {tusks: 3}\n"
        "benchmarks:\n- {name: a, rollouts: r, num_samples: 4}\n- {name: b, rollouts: r}\n"
    ): [
        '2: defaults.num_samples: expected a whole number, found the text "four"',
        f"3: defaults.expect: unknown key 'tusks': did you mean 'tasks'? keys here: {EXPECT}",
    ],
    "defaults: {num_samples: four}\nbenchmark: {name: a, rollouts: r, num_samples: 4}": [
        '1: defaults.num_samples: expected a whole number, found the text "four"'
    ],
    # what an anchor holds is said once
    (
        "benchmarks:\n- &first\n  name: a\n  rollouts: r\n  num_samples: x\n"
        "- <<: *first\n  name: b\n- <<: *first\n  name: c\n  num_samples: 0\n"
    ): [
        '5: benchmarks[0].num_samples: expected a whole number, found the text "x"',
        "10: benchmarks[2].num_samples: expected a number of at least 1, found 0",
    ],
}
UNMARKED = {  # by an editor: what follows from two values together
    "benchmark:\n  name: a\n  rollouts: {path: r, fields: {reward: a, scores: {reward: b}}}\n": [
        (
            "3: benchmark.rollouts.fields: the reward has two paths, reward: and scores: reward: "
            "remove one"
        )
    ],
    (
        "benchmarks:\n- name: a\n  rollouts: r\n- name: b\n  rollouts: r\n- rollouts: r\n"
        "  name: a\n"
    ): ["7: benchmarks[2].name: two benchmarks are named 'a': on lines 2 and 7"],
    (
        "defaults:\n  rollouts: {format: jsonl}\nbenchmarks:\n- name: a\n"
        "  rollouts: {path: r}\n- name: b\n- name: c\n  rollouts: {format: csv}\n"
    ): [
        "6: benchmarks[1].rollouts: 'path' is missing",
        "8: benchmarks[2].rollouts: 'path' is missing",
    ],
    (
        "defaults:\n  num_samples: 4\n  thresholds: {a: {min: 0.5}}\n"
        "benchmark:\n  name: a\n  rollouts: r\n  expect: {rollouts: 3}\n"
        "  thresholds:\n    a: {max: 0.4}"
    ): [
        "7: benchmark.expect.rollouts: 3 rollouts of each task contradict num_samples: 4",
        "9: benchmark.thresholds.a: min 0.5 is above max 0.4: nothing can pass",
    ],
}


def test_messages_about_a_file(refusals, marks):
    files = FILES | UNMARKED
    for (file, messages), lines in zip(
        files.items(), refusals(list(files)), strict=True
    ):
        assert lines == messages
        assert bool(marks(file)) is (file in FILES)


def test_the_whole_message(project):
    project.write("bench/a.bench.yaml", "benchmark:\n  name: a\n  num_samples: 0\n")
    project.run().stdout.fnmatch_lines(
        [
            "bench/a.bench.yaml: 2 problems in this benchmark file",
            "bench/a.bench.yaml:1: benchmark: 'rollouts' is missing",
            "bench/a.bench.yaml:3: benchmark.num_samples: expected a number of at least 1, found 0",
        ],
        consecutive=True,
    )
