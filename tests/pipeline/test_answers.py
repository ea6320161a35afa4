"""A red benchmark shows what was asked and answered, before and now."""

import gzip
import json
from importlib import import_module
from pathlib import Path

import pytest
from evaluated import evaluated

OLD = [(f"q{t}", s, 1.0, f"It is {t}.") for t in range(12) for s in range(2)]
NEW = [(t, s, 0.0 if t != "q0" else r, f"No idea {t}.") for t, s, r, _ in OLD]
FIELDS = "fields: {task: id, sample: try}"
OTHER = f"  baseline: {{rollouts: {{path: old.jsonl, {FIELDS}}}}}\n"


def save(project, name, rows, **more):
    project.rows(
        name,
        [
            {
                "id": t,
                "try": s,
                "reward": r,
                "prompt": f"What is {t}?",
                "response": text,
                **more,
            }
            for t, s, r, text in rows
        ],
    )


def bench(project, text):
    project.write(
        "math.bench.yaml",
        f"benchmark:\n  name: math\n  rollouts: {{path: runs.jsonl, {FIELDS}}}\n"
        f"  metrics: [pass@1]\n{text}",
    )


def entry(project):
    return project.report()["benchmarks"][0]


PAGE = ("report.json", "report.html")


def compared(project, old, new, reporters=("report.json",), **more):
    """Compare two runs, of which the later is worse."""
    save(project, "old.jsonl", old, **more)
    save(project, "runs.jsonl", new, **more)
    bench(project, OTHER)
    assert not evaluated(project, reporters=reporters).passed
    return entry(project)


def test_another_run_has_its_rows(project):
    flips = compared(project, OLD, NEW, expected="e")["flips"]
    assert len(flips) == 11
    before = {"reward": 1.0, "text": "It is 1.", "reason": ""}
    now = {"reward": 0.0, "text": "No idea q1.", "reason": ""}
    assert flips[0] == {
        "agent": "agent",
        "task": "q1",
        "prompt": "What is q1?",
        "reference": "e",
        "before": [{"sample": 0, **before}, {"sample": 1, **before}],
        "now": [{"sample": 0, **now}, {"sample": 1, **now}],
    }


@pytest.fixture
def kept(project):
    """The file with the answers of a recorded baseline."""
    save(project, "runs.jsonl", OLD)
    bench(project, "  baseline: {answers: true}\n")
    evaluated(project, updates=True)
    (path,) = project.path.glob("__baselines__/*/*.rows.jsonl.gz")
    return path


def texts_of_first_flip(project, side):
    return [answer["text"] for answer in entry(project)["flips"][0][side]]


def test_a_committed_baseline_keeps_the_rows_with_their_answers(project, kept):
    first, *_ = gzip.decompress(kept.read_bytes()).splitlines()
    row = json.loads(first)
    assert (row["task"], row["sample"]) == ("q0", 0)
    assert row["item"] == {"prompt": "What is q0?", "response": "It is 0."}
    assert evaluated(project).passed
    assert "flips" not in entry(project)


@pytest.mark.usefixtures("kept")
def test_answers_of_a_committed_baseline_stand_beside_those_of_the_run(project):
    save(project, "runs.jsonl", NEW)
    assert not evaluated(project).passed
    assert texts_of_first_flip(project, "before") == ["It is 1."] * 2
    assert texts_of_first_flip(project, "now") == ["No idea q1."] * 2


def test_a_baseline_whose_answers_are_gone_shows_those_of_the_run(project, kept):
    kept.unlink()
    save(project, "runs.jsonl", NEW)
    assert not evaluated(project).passed
    assert set(texts_of_first_flip(project, "before")) == {""}
    assert texts_of_first_flip(project, "now")[0] == "No idea q1."


def gym(text):
    message = {"type": "message", "role": "assistant", "content": [{"text": text}]}
    call = {"type": "function_call", "name": "look_up", "arguments": '{"a": 1}'}
    return {"output": [{"type": "reasoning", "summary": []}, call, message]}


LONG = "x" * 2_000 + "\n… 5,000 characters left out …\n" + "x" * 2_000
ANSWERS = [
    ({"response": gym("42")}, 'look_up({"a": 1})\nassistant: 42'),
    ({"response": {"choices": [{"message": {"content": "42"}}]}}, "42"),
    ({"output": {"a": [1]}}, '{"a": [1]}'),
    ({"response": "x" * 9_000}, LONG),
]
REFERENCES = [
    ({"answer": "42", "target": 7}, "7"),
    ({"response": "x", "answer": "42"}, "42"),
]
QUESTION = {"responses_create_params": {"input": [{"role": "user", "content": "Why?"}]}}


def first_flips(project, rows):
    """Run a benchmark for each row, whose tasks all flip; give the first flip of each."""
    text = "defaults: {metrics: [pass@1]}\nbenchmarks:\n"
    for number, row in enumerate(rows):
        for side, reward in (("old", 1.0), ("new", 0.0)):
            tasks = [{"id": f"q{t}", "try": 0, "reward": reward} for t in range(12)]
            file = f"{side}{number}.jsonl"
            project.rows(file, [task | row for task in tasks])
        old = f"{{path: old{number}.jsonl, {FIELDS}}}"
        new = f"{{path: new{number}.jsonl, {FIELDS}}}"
        text += (
            f"  - {{name: b{number}, rollouts: {new}, baseline: {{rollouts: {old}}}}}\n"
        )
    project.write("math.bench.yaml", text)
    assert not any(result.passed for result in evaluated(project).results)
    flips = [entry.get("flips", [None]) for entry in project.report()["benchmarks"]]
    return [of_one[0] for of_one in flips]


def test_answers_of_many_layouts_are_shown(project):
    flips = first_flips(project, [row for row, _ in ANSWERS])
    assert [flip["now"][0]["text"] for flip in flips] == [text for _, text in ANSWERS]


def test_references_of_many_layouts_are_shown(project):
    flips = first_flips(project, [row for row, _ in REFERENCES])
    assert [flip["reference"] for flip in flips] == [text for _, text in REFERENCES]


def test_a_question_alone_is_no_answer(project):
    assert first_flips(project, [QUESTION]) == [None]


def test_the_texts_of_a_benchmark_have_a_bound(project):
    many = [(f"q{t}", s, 1.0, "long " * 700) for t in range(60) for s in range(4)]
    worse = [(t, s, 0.0, text) for t, s, _, text in many]
    flips = compared(project, many, worse, PAGE)["flips"]
    assert 5 < len(flips) < 15
    assert len(json.dumps(flips)) < 330_000
    assert (project.path / "evalmetrics" / "report.html").stat().st_size < 3_000_000


def test_an_online_benchmark_shows_answers_and_hides_keys(
    project, judge_server, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "sk-secret-of-mine-123")

    def online(answer):
        asked = f'[[say: "{answer}"]] {{{{ question }}}}'
        project.rows(
            "rows.jsonl",
            [{"id": t, "question": f"q{t}", "want": "yes"} for t in range(12)],
        )
        project.write(
            "a.bench.yaml",
            "benchmark:\n  name: a\n  dataset: {path: rows.jsonl, fields: {task: id}}\n"
            f'  model: {{url: "{judge_server.url()}", name: m, api_key_secret: MY_KEY}}\n'
            f"  prompt_template: {json.dumps(asked)}\n  num_samples: 1\n"
            '  scorers: [{type: exact-match, reference: "{{ item.want }}"}]\n'
            "  metrics: [pass@1]\n  baseline: {answers: true}\n",
        )

    online("yes")
    assert project.run("--snapshot-update").ret == 0
    online("no, sk-secret-of-mine-123")
    assert project.run().ret == 1
    flips = entry(project)["flips"]
    assert flips[0]["before"][0]["text"] == "yes"
    assert flips[0]["now"][0]["text"].startswith("no, ")
    assert flips[0]["prompt"] == "q0"
    everything = [
        *project.path.glob("evalmetrics/*"),
        *project.path.glob("__baselines__/*/*"),
    ]
    held = b"".join(
        gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes()
        for p in everything
        if p.name != "rollouts.jsonl"  # which is scored again, as it came
    )
    assert b"sk-secret-of-mine-123" not in held


def test_why_a_judge_scored_so_is_shown_of_both_sides(project):
    project.write(
        "conftest.py",
        "from pytest_evalmetrics import register_scorer\n"
        "from pytest_evalmetrics.ext import Explained\n"
        "@register_scorer('says')\n"
        "class Says:\n"
        "    scores = ('good',)\n"
        "    def score(self, row):\n"
        "        return Explained(row.item['n'], f\"it is {row.item['answer']}\")\n",
    )
    bench = "benchmark: {name: a, dataset: rows.jsonl, scorers: [{type: says}], reward: good, "
    project.write(
        "a.bench.yaml", bench + "metrics: [pass@1], baseline: {answers: true}}\n"
    )
    for n, answer, flags in ((1, "fine", ["--snapshot-update"]), (0, "bad", [])):
        rows = [{"task_id": t, "n": n, "answer": answer} for t in range(12)]
        project.rows("rows.jsonl", rows)
        assert project.run(*flags).ret == 1 - n
    flip = entry(project)["flips"][0]
    assert (flip["before"][0]["reason"], flip["now"][0]["reason"]) == (
        "it is fine",
        "it is bad",
    )


def test_files_that_changed_meanwhile_show_no_answers(project, monkeypatch):
    inner = "pytest_evalmetrics.pipeline.benchmark_rows"
    records = import_module(inner).records

    def records_without_old(*args):
        Path("old.jsonl").unlink(missing_ok=True)
        return records(*args)

    monkeypatch.setattr(f"{inner}.records", records_without_old)
    assert "flips" not in compared(project, OLD, NEW)
