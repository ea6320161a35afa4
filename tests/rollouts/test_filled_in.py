"""What an open line proposes leads to a file that runs, when it is filled in."""

import json

import pytest
from rollouts.odd import lines

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.rollouts.survey import write_benchmark

TASKS = range(12)


def passes(task, attempt):
    return int((task * 7 + attempt * 5 + task * attempt) % 3 > 0)


def csv(header, cells):
    rows = [f"q{task},{cells(task)}" for task in TASKS]
    return f"id,{header}\n" + "\n".join(rows) + "\n"


def word(task, attempt):
    return ("fail", "pass")[passes(task, attempt)]


ATTEMPTS = {f"q{n}": [passes(n, 0), passes(n, 1)] for n in TASKS}
TENTHS = {f"q{n}": [n % 11 / 10] for n in TASKS}
# name -> file, content, what is filled in, and the rewards
FILLED = {
    "attempts side by side": (
        "r.csv",
        csv("run1,run2", lambda n: f"{passes(n, 0)},{passes(n, 1)}"),
        ("reward: ?", "reward: {attempts: [run1, run2]}"),
        ATTEMPTS,
    ),
    "attempts by their seeds": (
        "r.csv",
        csv("seed_17,seed_42", lambda n: f"{passes(n, 0)},{passes(n, 1)}"),
        ("reward: ?", "reward: {attempts: [seed_17, seed_42]}"),
        ATTEMPTS,
    ),
    "attempts by number in an object": (
        "r.jsonl",
        lines(
            {"id": f"q{n}", "runs": {"1": passes(n, 0), "2": passes(n, 1)}}
            for n in TASKS
        ),
        ("reward: ?", "reward: {attempts: [runs.1, runs.2]}"),
        ATTEMPTS,
    ),
    "one of the attempts": (
        "r.csv",
        csv("run1,run2", lambda n: f"{passes(n, 0)},{passes(n, 1)}"),
        ("reward: ?", "reward: run2"),
        {f"q{n}": [passes(n, 1)] for n in TASKS},
    ),
    "points of ten": (
        "r.csv",
        csv("score", lambda n: f"{n % 11}/10"),
        ("reward: ?", "reward: score"),
        TENTHS,
    ),
    "points of ten, in words": (
        "r.csv",
        csv("score", lambda n: f"{n % 11} of 10"),
        ("reward: ?  # score ('1 of 10' is read as 0.1)?", "reward: score"),
        TENTHS,
    ),
    "points of ten, in JSON": (
        "r.jsonl",
        lines({"id": f"q{n}", "score": f"{n % 11} / 10"} for n in TASKS),
        ("reward: ?", "reward: score"),
        TENTHS,
    ),
    "dots that separate thousands": (
        "r.csv",
        csv("score", lambda n: f"{n + 1}.100"),
        ("decimal: ?", 'decimal: ","'),
        {f"q{n}": [1000 * n + 1100] for n in TASKS},
    ),
    "rows beside errors": (
        "r.json",
        json.dumps(
            {
                "results": [{"id": f"q{n}", "score": n / 20} for n in range(9)],
                "errors": [{"id": f"q{n}"} for n in range(9, 12)],
            }
        ),
        ("rows: ?", "rows: results"),
        {f"q{n}": [n / 20 if n < 9 else None] for n in TASKS},
    ),
    "a number that is a sentinel": (
        "r.csv",
        csv("score", lambda n: "-1" if n == 3 else f"{n / 20}"),
        ("missing: ?", "missing: [-1]"),
        {f"q{n}": [None if n == 3 else n / 20] for n in TASKS},
    ),
    "a word of unknown worth": (
        "r.csv",
        csv("verdict", lambda n: ("pass", "fail", "meh")[n % 3]),
        ("meh: ?", "meh: 0.5"),
        {f"q{n}": [(1, 0, 0.5)[n % 3]] for n in TASKS},
    ),
}


def rewards_of(folder, path):
    (benchmark,) = load_benchmarks(path, shown=path.name)
    spec = benchmark.spec
    table = load(spec.rows, folder, scores=[spec.reward])
    rewards = {}
    column = table.scores[spec.reward].tolist()
    for task, reward in zip(table.task.tolist(), column, strict=True):
        value = None if reward != reward else reward  # noqa: PLR0124 - NaN
        rewards.setdefault(table.tasks[task], []).append(value)
    return rewards


def test_a_word_before_each_number_is_asked_about_with_its_reason(tmp_path):
    (tmp_path / "r.csv").write_text(csv("score", lambda n: f"Score: {n % 11}"))
    (line,) = write_benchmark("r.csv", tmp_path).open_lines
    assert "score holds texts such as 'Score: 0': write them as numbers" in line


@pytest.mark.parametrize("name", FILLED)
def test_an_open_line_that_is_filled_in_runs(tmp_path, name):
    file, content, (question, answer), rewards = FILLED[name]
    (tmp_path / file).write_text(content)
    path = write_benchmark(file, tmp_path).path
    text = path.read_text()
    assert question in text
    filled = [
        line.partition(question)[0] + answer if question in line else line
        for line in text.splitlines()
    ]
    path.write_text("\n".join(filled))
    assert rewards_of(tmp_path, path) == rewards


def test_words_of_attempts_side_by_side_get_a_map(folder):
    content = csv("run1,run2", lambda n: f"{word(n, 0)},{word(n, 1)}")
    folder.write(content, "r.csv")
    (folder.path / "r.bench.yaml").write_text(
        """\
benchmark:
  name: r
  rollouts:
    path: r.csv
    fields: {task: id, reward: {attempts: [run1, run2]}}
    map: {reward: {pass: 1, fail: 0}}
  metrics: [mean_reward]
"""
    )
    rewards = rewards_of(folder.path, folder.path / "r.bench.yaml")
    assert rewards == ATTEMPTS


def test_json_in_the_cells_of_a_table_is_read(tmp_path):
    cells = [f'q{n},"{{""score"": {n / 20}, ""note"": ""x""}}"' for n in TASKS]
    (tmp_path / "r.csv").write_text("id,result\n" + "\n".join(cells) + "\n")
    written = write_benchmark("r.csv", tmp_path)
    assert written.open_lines == ()
    assert "parse_json: [result]" in written.path.read_text()
    rewards = rewards_of(tmp_path, written.path)
    assert rewards == {f"q{n}": [n / 20] for n in TASKS}


def test_a_cell_that_is_no_json_is_refused_with_its_place(folder):
    folder.write('id,result\na,"{""score"": 1}"\nb,oops\n', "r.csv")
    error = folder.refused(
        "r.csv", parse_json=("result",), fields={"task": "id", "reward": "result.score"}
    )
    assert error.message == "r.csv:3: parse_json: 'result' is not JSON: 'oops'"
