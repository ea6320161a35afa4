"""What is taken from whole rows while their numbers are read, so that a file is read once."""

import json
import sys

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.pipeline.benchmark_rows import choose, rows_of, with_reward
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.template_trials import TemplateTrials
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

ROWS = [{"id": f"t{n}", "question": f"{n}?", "a": "x"} for n in range(6)]
MATCH = {"type": "exact-match", "reference": "{{ item.b }}", "candidate": "{{ a }}"}


@pytest.fixture
def chosen(tmp_path):
    """Choose the rows of a data set with some keys; with the templates that were tried."""
    offer_scorers()

    def read(name="data.jsonl", *, text=None, **keys):
        lines = "".join(json.dumps(row) + "\n" for row in ROWS)
        (tmp_path / name).write_text(lines if text is None else text)
        benchmark = {
            "name": "b",
            "dataset": {"path": name, "fields": {"task": "id"}},
            "scorers": [MATCH],
            "metrics": ["mean_reward"],
            **keys,
        }
        file = tmp_path / "a.bench.yaml"
        file.write_text(json.dumps({"benchmark": benchmark}))
        (loaded,) = load_benchmarks(file, shown=file.name)
        loaded = with_reward(loaded)
        trials = TemplateTrials(loaded.spec)
        rows = choose(loaded, plan_of(loaded), ["exact-match"], trials=trials)
        return loaded, rows, trials

    return read


@pytest.fixture
def opened():
    """List the files that are opened from now on."""
    paths = []
    listening = [True]

    def heard(event, arguments):
        if listening and event == "open":
            paths.append(str(arguments[0]))

    sys.addaudithook(heard)  # no hook can be removed
    yield paths
    listening.clear()


def test_hashes_and_templates_take_no_further_reading_of_a_file(chosen, opened):
    chosen()
    once = sum(path.endswith("data.jsonl") for path in opened)
    opened.clear()
    _, rows, _ = chosen(baseline=True)
    assert sum(path.endswith("data.jsonl") for path in opened) == once
    assert rows.tried
    assert len(set(rows.table.content.tolist())) == 6


def test_a_format_without_whole_rows_is_read_again_to_the_same_hashes(chosen):
    lines = ["id,question,a", *(f"t{n},{n}?,x" for n in range(6))]
    _, of_csv, _ = chosen("data.csv", text="\n".join(lines), baseline=True)
    _, of_json, _ = chosen(baseline=True)
    assert not of_csv.tried
    assert of_csv.table.content.tolist() == of_json.table.content.tolist()


def test_only_the_rows_that_are_scored_count_as_failures_of_a_template(chosen):
    _, rows, trials = chosen(params={"limit_samples": 2})
    total, failures = trials.counted(rows.rows.tolist())
    ((path, failure),) = failures.items()
    assert (total, path) == (2, ("scorers", 0, "reference"))
    assert failure.rows == 2
    assert failure.example.endswith("(data.jsonl:1)")


def test_the_rows_are_those_of_the_file(chosen):
    benchmark, rows, _ = chosen(baseline=True)
    assert [row.item for row in rows_of(benchmark, rows)] == ROWS
