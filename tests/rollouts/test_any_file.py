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
DOCUMENTS = {
    "inspect_ai": "formats/inspect_ai/2025-05-12T20-28-13-04-00_popularity.json",
    "deepeval": "formats/deepeval/test_run_sample.json",
    "pydantic_evals": "formats/pydantic_evals/report.json",
    "promptfoo": "formats/promptfoo/results.json",
    "harbor": "harbor/job_reward0/configure-git-webserver__dg6SgTQ/result.json",
}
LINES = {
    "promptfoo": "formats/promptfoo/results.jsonl",
    "lm_eval": "formats/lm_eval/*/samples_*.jsonl",
    "verifiers": "formats/verifiers/legacy_2025-09/results.jsonl",
}
ROUNDS = 25


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


def survives(folder, name, kind, rng):
    for format_ in (None, kind):
        try:
            folder.load(
                name,
                format=format_,
                scores=rng.choice([(), ("reward",)]),
                categories=rng.choice([(), ("metadata.difficulty",)]),
            )
        except EvalMetricsError as error:
            assert "its loader can't read this" not in error.message, error  # noqa: PT017


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_any_document(real, folder, kind):
    rng = random.Random(kind)  # noqa: S311 - no secret
    whole = json.loads((real.path / DOCUMENTS[kind]).read_text())
    for sample in whole.get("samples", ()):
        sample.pop("events")
    for _ in range(ROUNDS):
        document = copy.deepcopy(whole)
        for _ in range(rng.choice([1, 2, 4])):
            mutate(document, rng)
        folder.write(json.dumps(document), "result.json")
        survives(folder, "result.json", kind, rng)


@pytest.mark.parametrize("kind", LINES)
def test_any_lines(real, folder, kind):
    rng = random.Random(kind)  # noqa: S311 - no secret
    (path,) = real.path.glob(LINES[kind])
    whole = [json.loads(line) for line in path.read_text().splitlines()]
    for _ in range(ROUNDS):
        rows = copy.deepcopy(whole[:3])
        for _ in range(rng.choice([1, 2, 4])):
            mutate(rows, rng)
        folder.rows(rows)
        survives(folder, "runs.jsonl", kind, rng)


def test_an_archive_that_is_cut_anywhere(real, folder):
    (path,) = (real.path / "formats/inspect_ai/generated_0.3.285").glob("*.eval")
    whole = path.read_bytes()
    for end in range(10, len(whole), len(whole) // 40):
        folder.write(whole[:end], "log.eval")
        refused = folder.refused("log.eval", scores=["reward"])
        assert refused.file == "log.eval"
        assert "its loader" not in refused.message
