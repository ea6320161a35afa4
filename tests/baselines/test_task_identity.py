"""Tasks are compared with themselves where rows move, change, come or go, in files of tools."""

import json
from itertools import count
from typing import NamedTuple

import pytest
from baselines.conftest import write_stamped
from evaluated import evaluated

COUNT = count()  # what differs from row to row and from run to run
UPDATE, ACCEPT = "--snapshot-update", "--evalmetrics-accept-tasks"


class Task(NamedTuple):
    question: str
    passes: bool
    name: str | None = None


TASKS = [Task(f"What is {i} + {i}?", i % 3 > 0) for i in range(30)]
BROKEN = [t._replace(passes=t.passes and i % 2 == 0) for i, t in enumerate(TASKS)]


def promptfoo(tasks):
    results = [
        {
            "testCase": {
                "description": t.name or f"Row #{i + 1}",
                "vars": {"q": t.question},
            },
            "provider": {"id": "m"},
            "success": t.passes,
            "score": int(t.passes),
            "namedScores": {},
        }
        for i, t in enumerate(tasks)
    ]
    return json.dumps({"results": {"version": 3, "results": results}})


def inspect_ai(tasks):
    samples = [
        {
            "id": t.name or i + 1,
            "epoch": 1,
            "input": [
                {"role": "user", "content": t.question, "id": f"message-{next(COUNT)}"}
            ],
            "scores": {"match": {"value": "C" if t.passes else "I"}},
        }
        for i, t in enumerate(tasks)
    ]
    head = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "m"}}
    return json.dumps({**head, "samples": samples})


def lm_eval(tasks):
    rows = [
        {
            "doc_id": t.name or i,
            "doc": {"question": t.question},
            "filtered_resps": ["x"],
            "exact_match": float(t.passes),
            "metrics": ["exact_match"],
            "filter": "none",
        }
        for i, t in enumerate(tasks)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def gym(tasks):
    rows = [
        {
            "responses_create_params": {
                "input": [
                    {"role": "system", "content": f"prompt version {next(COUNT)}"},
                    {"role": "user", "content": t.question},
                ],
                "temperature": next(COUNT),
            },
            "_ng_task_index": t.name or i,
            "_ng_rollout_index": 0,
            "reward": float(t.passes),
        }
        for i, t in enumerate(tasks)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def generic(tasks):
    rows = [
        {"n": t.name or i, "meta": {"question": t.question}, "reward": t.passes}
        for i, t in enumerate(tasks)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(tasks):
    rows = [
        f"{t.name or i},{t.question},{int(t.passes)}\n" for i, t in enumerate(tasks)
    ]
    return "n,meta.question,reward\n" + "".join(rows)


OWN = "fields: {task: n, content: meta.question}"
FORMATS = {
    "promptfoo": (promptfoo, "", "reward: success"),
    "inspect_ai": (inspect_ai, "", ""),
    "lm_eval": (lm_eval, "", ""),
    "gym": (gym, "", ""),
    "own_jsonl": (generic, OWN, ""),
    "own_csv": (table, OWN, ""),
}


def bench(project, text, name="math"):
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    project.write(f"{name}.bench.yaml", f"benchmark:\n  name: math\n{lines}")


class Runs:
    """Benchmarks over the same tasks, in files of these formats."""

    def __init__(self, project, *formats):
        self.project = project
        self.formats = formats
        for name in formats:
            _, form, keys = FORMATS[name]
            text = f"rollouts: {{path: {name}.json, {form}}}\n{keys}\n"
            bench(project, f"{text}metrics: [mean_reward]\nbaseline: true", name)

    def __call__(self, tasks, *, updates=False):
        """Evaluate the tasks, and return the entries of the benchmarks in the report."""
        self._write(tasks)
        self.result = evaluated(self.project, updates=updates)
        return self._entries()

    def run(self, tasks, *args):
        """Run pytest over the tasks; give what it says, and the entries in its report."""
        self._write(tasks)
        result = self.project.run(*args)
        return result, self._entries()

    def _write(self, tasks):
        for name in self.formats:
            self.project.write(f"{name}.json", FORMATS[name][0](tasks))

    def _entries(self):
        entries = self.project.report()["benchmarks"]
        assert len(entries) == len(self.formats)
        return entries


def check(entry, name="tasks"):
    (check,) = [
        c for c in entry["checks"] if c["gate"] == "baseline" and c["name"] == name
    ]
    return check


@pytest.fixture
def recorded(project):
    """A baseline of TASKS in each format; gives what runs a set of tasks against it."""
    run = Runs(project, *FORMATS)
    assert {entry["verdict"] for entry in run(TASKS, updates=True)} == {"PASS"}
    return run


EDITED = [TASKS[0]._replace(question="What is 0 + 1?"), *TASKS[1:]]


def test_an_edited_question_is_another_task(recorded):
    for entry in recorded(EDITED):
        assert entry["verdict"] == "INCONCLUSIVE"
        assert check(entry)["reasons"][0]["edited_count"] == 1
        assert (
            "1 of the baseline's 30 tasks has other content" in check(entry)["reason"]
        )


def test_a_run_whose_questions_are_all_edited_has_nothing_in_common(recorded):
    for entry in recorded([t._replace(question=t.question + "!") for t in TASKS]):
        assert entry["verdict"] == "INCONCLUSIVE"
        assert check(entry, "mean_reward")["reasons"][0]["type"] == "nothing_in_common"


def test_renamed_questions_are_paired_by_content_and_their_loss_is_seen(recorded):
    renamed = [
        t._replace(name=f"new-{i}", passes=False) for i, t in enumerate(TASKS[:9])
    ]
    kept = [t._replace(name=str(i + 9)) for i, t in enumerate(TASKS[9:])]
    entries = recorded([*renamed, *kept])
    assert "PASS" not in {entry["verdict"] for entry in entries}
    moved = "9 tasks moved to another id and are paired by content: 0 -> new-0, "
    assert moved in recorded.result.text


def test_an_update_with_an_edited_question_has_to_accept_its_loss(recorded):
    result, entries = recorded.run(EDITED, UPDATE, "-v")
    assert {entry["verdict"] for entry in entries} == {"INCONCLUSIVE"}
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE *it would drop tasks: *", f"  -> *{ACCEPT}"] * len(FORMATS)
    )
    _, entries = recorded.run(EDITED, UPDATE, ACCEPT)
    assert {entry["verdict"] for entry in entries} == {"PASS"}
    assert {entry["verdict"] for entry in recorded(EDITED)} == {"PASS"}


def test_tasks_of_the_same_content_keep_their_ids(project):
    twice = [Task("Again?", passes=i == 0) for i in range(3)] + TASKS
    run = Runs(project, "gym")
    assert run(twice, updates=True)[0]["verdict"] == "PASS"
    (entry,) = run([Task("First?", passes=True), *twice])
    assert entry["verdict"] == "PASS"
    assert check(entry, "mean_reward")["comparison"]["tasks"] == 33
    facts = check(run(twice)[0], "mean_reward")["comparison"]
    assert (facts["worse"], facts["better"]) == (0, 0)


@pytest.mark.parametrize("fields", ["", ", fields: {content: same}"])
def test_positions_without_content_are_paired_with_a_warning(project, fields):
    rows = [{"_ng_task_index": i, "reward": i % 2, "same": "Go on."} for i in range(3)]
    project.rows("runs.jsonl", rows)
    bench(
        project,
        f"rollouts: {{path: runs.jsonl{fields}}}\nmetrics: [mean_reward]\n"
        "baseline: {rollouts: runs.jsonl}",
    )
    result = evaluated(project)
    assert result.passed
    result.says("note: *paired by position alone*`fields: {content: KEY}`*")


def test_a_baseline_from_before_there_was_content(project):
    run = Runs(project, "gym")
    run(TASKS, updates=True)
    path = project.baseline("gym.bench/math.json")
    doc = json.loads(path.read_text())
    (agent,) = doc["agents"].values()
    assert len(agent.pop("content")) == 30
    assert agent.pop("ids") == "positions"
    write_stamped(path, doc)
    (entry,) = run(TASKS)
    assert check(entry, "mean_reward")["comparison"]["tasks"] == 30
    assert any(
        "the baseline holds no content of its tasks yet" in n for n in entry["notes"]
    )


def test_another_runs_rollouts_are_paired_by_content_too(project):
    project.write("main.json", gym(TASKS))
    bench(
        project,
        "rollouts: runs.json\nmetrics: [mean_reward]\nbaseline: {rollouts: main.json}",
    )
    for tasks, worse in ((TASKS, 0), (BROKEN, 10)):
        project.write("runs.json", gym([*tasks[1:], tasks[0]]))
        assert evaluated(project).passed is (worse == 0)
        assert project.checks()["mean_reward"]["comparison"]["worse"] == worse


@pytest.fixture
def against_report(project):
    """Benchmarks that are compared with the report of another run, of TASKS."""
    run = Runs(project, *FORMATS)
    run(TASKS, updates=True)
    assert evaluated(project, output="main/").passed
    for name in FORMATS:
        path = project.path / f"{name}.bench.yaml"
        against = "baseline: {report: main/report.json}"
        path.write_text(path.read_text().replace("baseline: true", against))
    return run


def test_another_runs_report_knows_the_content_of_its_tasks(against_report):
    moved = [*TASKS[1:], TASKS[0]]
    assert {entry["verdict"] for entry in against_report(moved)} == {"PASS"}
    for entry in against_report([t._replace(question=t.question + "!") for t in TASKS]):
        assert check(entry, "mean_reward")["reasons"][0]["type"] == "nothing_in_common"


def test_a_report_from_before_there_was_content_is_noted(against_report, project):
    report = project.path / "main/report.json"
    old = json.loads(report.read_text())
    for entry in old["benchmarks"]:
        for agent in entry["agents"]:
            assert len(agent.pop("task_content")) == len(TASKS)
    report.write_text(json.dumps(old))
    notes = [note for entry in against_report(TASKS) for note in entry["notes"]]
    lacking = "holds no content of its tasks yet; compare with a run that holds it"
    assert sum(lacking in note for note in notes) == len(FORMATS), notes


def asked(task, text, sample=0, **more):
    """Give a row whose question is a message."""
    question = {"input": [{"role": "user", "content": text, **more}]}
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": 1,
        "responses_create_params": question,
    }


def first_and_again(rows, *, other=True):
    """Give two rollouts of so many tasks; the second of task 1 has another question."""
    first = [asked(n, f"q{n}") for n in range(rows)]
    # messages have ids of their own, which are no part of a question
    again = [asked(n, f"q{n}", sample=1, id=f"msg_{n}") for n in range(rows)]
    if other:
        again[1] = asked(1, "another question", sample=1)
    return first, again


def notes_of_questions(project):
    (entry,) = project.report()["benchmarks"]
    return [note for note in entry["notes"] if "different questions" in note]


FEW_AND_MANY = pytest.mark.parametrize("rows", [2, 5000], ids=["few", "many"])


@FEW_AND_MANY
def test_rollouts_of_one_question_are_not_noted(project, rows):
    first, again = first_and_again(rows, other=False)
    project.rows("runs.jsonl", [*first, *again])
    bench(project, "rollouts: runs.jsonl\nmetrics: [mean_reward]")
    assert evaluated(project).passed
    assert notes_of_questions(project) == []


@FEW_AND_MANY
def test_two_questions_under_one_id_are_noted(project, rows):
    # as an environment deals each rollout a start
    first, again = first_and_again(rows)
    project.rows("runs.jsonl", [*first, *again])
    bench(project, "rollouts: runs.jsonl\nmetrics: [mean_reward]")
    assert evaluated(project).passed
    (note,) = notes_of_questions(project)
    assert note.startswith("1 task has rollouts of different questions, such as 1: ")


@FEW_AND_MANY
def test_two_questions_under_one_id_of_two_files_are_noted(project, rows):
    first, again = first_and_again(rows)
    project.rows("runs-1.jsonl", first)
    project.rows("runs-2.jsonl", again)
    bench(project, 'rollouts: "runs-*.jsonl"\nmetrics: [mean_reward]')
    assert evaluated(project).passed
    (note,) = notes_of_questions(project)
    assert note.startswith("1 task has rollouts of different questions, such as 1: ")


def test_two_questions_under_one_id_fail_where_the_file_says_what_a_question_is(
    project,
):
    first, again = first_and_again(2)
    project.rows("runs.jsonl", [*first, *again])
    content = "fields: {content: responses_create_params.input}"
    bench(project, f"rollouts: {{path: runs.jsonl, {content}}}\nmetrics: [mean_reward]")
    result = evaluated(project)
    assert not result.passed
    result.says("INCONCLUSIVE *the task 1 has rollouts of different questions")


def test_a_group_of_missing_rollouts_alone_is_left_out(project):
    rows = [{"_ng_task_index": i, "reward": 1.0, "lang": "de"} for i in range(40)]
    project.rows("runs.jsonl", [*rows, {"_ng_task_index": 40, "reward": None}])
    project.bench(
        "metrics: [mean_reward]\nbreakdown: [lang]\nexpect: {max_missing: 5%}\n"
        'thresholds: {mean_reward: ">= 0.5"}'
    )
    result = evaluated(project)
    assert result.passed
    result.says(
        "note: *breakdown: lang = (missing) is left out, because its only rollout has no reward"
    )


@pytest.mark.parametrize(
    ("level", "why", "note"),
    [
        (
            lambda task, _: 4 if task == 7 else 3,
            "19 of the baseline's 20 tasks *gone: 7",
            False,
        ),
        (
            lambda task, _: 3 if task < 5 else None,
            "5 of the baseline's 20 tasks *",
            True,
        ),
        (
            lambda _, sample: None if sample else 3,
            "50 % of the rewards are missing",
            True,
        ),
    ],
)
def test_a_group_keeps_the_rollouts_that_it_had_in_the_baseline(
    project, level, why, note
):
    def record(level):
        rows = []
        for task in range(20):
            for sample in range(2):
                value = level(task, sample)
                row = {"_ng_task_index": task, "_ng_rollout_index": sample}
                rows.append(row | {"reward": int(value == 3), "level": value})
        project.rows("runs.jsonl", rows)

    record(lambda *_: 3)
    project.bench(
        "metrics: [mean_reward]\nbreakdown: [level]\nkey_metrics: ['mean_reward[level=3]']\n"
        "expect: {tasks: 20}\nbaseline: true"
    )
    assert evaluated(project, updates=True).passed
    assert (
        '"0": {"reward": [1, 1], "level": ["3", "3"]}' in project.baseline().read_text()
    )
    assert evaluated(project).passed
    record(level)
    result = evaluated(project)
    result.says(f"INCONCLUSIVE *mean_reward[[]level=3] *: {why}")
    assert ("rollouts have no level, so that" in result.text) == note
