"""Whatever stands in a file of another tool: a table, or an error in words."""

import copy
import json
import random

import pytest

from pytest_evalmetrics.errors import EvalMetricsError

JUNK = [
    *[None, 0, -1, 1.5, float("nan"), float("inf"), 10**400, True],
    *["", "text", "\ud800", [], {}, [1], [None], [{}], {"a": 1}, {"value": None}],
]
FILES = {
    "formats/inspect_ai/2025-05-12T20-28-13-04-00_popularity.json": "inspect_ai",
    "formats/deepeval/test_run_sample.json": "deepeval",
    "formats/pydantic_evals/report.json": "pydantic_evals",
    "formats/promptfoo/results.json": "promptfoo",
    "harbor/job_reward0/configure-git-webserver__dg6SgTQ/result.json": "harbor",
    "formats/promptfoo/results.jsonl": "promptfoo",
    "formats/lm_eval/*/samples_*.jsonl": "lm_eval",
    "formats/verifiers/legacy_2025-09/results.jsonl": "verifiers",
}


def mutate(document, rng):
    """Replace or remove something, rather near the top."""
    places = []

    def walk(value):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(document)
    holder, key = rng.choice(places[:300])
    if rng.random() < 0.7:
        holder[key] = copy.deepcopy(rng.choice(JUNK))
    else:
        del holder[key]


def survives(folder, kind, rng):
    for format_ in (None, kind):
        scores = rng.choice([(), ("reward",)])
        labels = rng.choice([(), ("metadata.difficulty",)])
        try:
            folder.load("result.json", format=format_, scores=scores, categories=labels)
        except EvalMetricsError as error:
            assert "its loader can't read this" not in error.message, error  # noqa: PT017


@pytest.mark.parametrize("path", FILES)
def test_any_document_and_any_lines(real, folder, path):
    rng = random.Random(path)  # noqa: S311 - no secret
    (file,) = real.path.glob(path)
    lines = path.endswith("l")
    text = file.read_text()
    whole = (
        [json.loads(line) for line in text.splitlines()][:3]
        if lines
        else json.loads(text)
    )
    if "samples" in whole:
        for sample in whole["samples"]:
            sample.pop("events")
    for _ in range(25):
        document = copy.deepcopy(whole)
        for _ in range(rng.choice([1, 2, 4])):
            mutate(document, rng)
        if lines:
            folder.rows(document, "result.json")
        else:
            folder.json(document, "result.json")
        survives(folder, FILES[path], rng)


def test_an_archive_that_is_cut_anywhere(real, folder):
    (path,) = (real.path / "formats/inspect_ai/generated_0.3.285").glob("*.eval")
    whole = path.read_bytes()
    for end in range(10, len(whole), len(whole) // 40):
        folder.write(whole[:end], "log.eval")
        refused = folder.refused("log.eval", scores=["reward"])
        assert refused.file == "log.eval"
        assert "its loader" not in refused.message


INSPECT = '{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": %s'
PYDANTIC = '{"name": "t", "cases": %s, "failures": [], "analyses": ['
PROMPTFOO = '{"evalId": "e", "results": {"version": %s, "prompts": []'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (INSPECT % "[", "the file ends in the middle of it"),
        (INSPECT.replace('"samples"', "samples") % "[]}", "is not JSON"),
        (INSPECT.replace("2", "4", 1) % "[]}", "version 4"),
        (INSPECT % "[]}", "holds no samples (its status: success)"),
        (INSPECT % "null}", "holds no samples (its status: success)"),
        (INSPECT % '[{"id": null, "epoch": 1}]}', "has the id None"),
        (INSPECT % '[{"id": 1, "epoch": 0}]}', "the epoch 0"),
        (INSPECT % "{}}", "expected a list"),
        (INSPECT % "[1]}", "expected an object"),
        (PYDANTIC % "[]", "ends in the middle of it"),
        (PYDANTIC % "[]" + "]}", "holds no row"),
        (PYDANTIC % "[{}]" + "]}", "cases[0] has no name"),
        (PYDANTIC % "[3]" + "]}", "expected an object"),
        (PROMPTFOO % 3, "ends in the middle of it"),
        (PROMPTFOO % 9 + "}}", "of version 9"),
        (PROMPTFOO % 3 + "}}", "has no list of results"),
        (PROMPTFOO % 3 + ', "results": []}}', "holds no row"),
        (PROMPTFOO % 3 + ', "results": [1]}}', "has no list of results"),
        ('{"testCases": [{"metricsData": [], "na', "ends in the middle of it"),
        ('{"testCases": [], "testPassed": 0}', "holds no row"),
        ('{"testCases": {}, "testPassed": 0}', "expected a list"),
    ],
)
def test_a_broken_document(folder, content, message):
    folder.write(content, "log.json")
    refused = folder.refused("log.json", scores=["reward"])
    assert refused.file == "log.json"
    assert message in refused.message


def test_a_half_line(folder):
    for row in (
        {
            "doc_id": 0,
            "doc": {},
            "target": "",
            "resps": [["a"]],
            "filtered_resps": ["a"],
            "acc": 1,
        },
        {"example_id": 0, "prompt": [], "completion": [], "answer": "", "reward": 1},
        {"id": "e", "task": {"type": "T", "key": "k"}, "errors": [], "traces": []},
    ):
        line = json.dumps(row)
        folder.write(f"{line}\n{line[:-9]}")
        refused = folder.refused()
        assert (refused.line, "ends in the mid" in refused.message) == (2, True)
