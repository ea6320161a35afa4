"""All that is wrong with a benchmark, each problem at its key, without a call or a run."""

import json

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.pipeline.benchmark_check import all_problems
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

offer_scorers()
URL = "http://127.0.0.1:1/v1"
RECORDED = """\
benchmark:
  name: a
  rollouts: {path: rows.jsonl, fields: {task: id}}
  metrics: [mean_reward]
"""
SCORED = """\
benchmark:
  name: a
  rollouts: {path: rows.jsonl, fields: {task: id}}
  scorers:
    - {type: exact-match, reference: "{{ item.reference }}", candidate: "{{ item.answer }}"}
  metrics: [mean_reward]
"""
ONLINE = f"""\
benchmark:
  name: a
  dataset: {{path: rows.jsonl, fields: {{task: id}}}}
  model: {{url: "{URL}", name: m}}
  prompt_template: "{{{{ question }}}}"
  num_samples: 2
  scorers: [{{type: exact-match, reference: "{{{{ item.reference }}}}"}}]
  metrics: [mean_reward]
"""
JUDGED = f"""\
benchmark:
  name: a
  rollouts: {{path: rows.jsonl, fields: {{task: id}}}}
  scorers:
    - type: llm-judge
      model: {{url: "{URL}", name: NAME}}
      prompt_template: "{{{{ item.answer }}}}"
      scores: [{{name: quality}}]
  metrics: [mean_reward]
"""
ROWS = [
    {"id": at, "question": f"q{at}", "reference": "r", "answer": "a", "reward": 1.0}
    for at in range(4)
]


@pytest.fixture
def check(tmp_path):
    """Check the only benchmark of a file; return its problems."""

    def problems(text, *, rows=ROWS, hooked=False, replays=False):
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
        path = tmp_path / "a.bench.yaml"
        path.write_text(text, encoding="utf-8")
        (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
        return list(all_problems(benchmark, hooked=hooked, replays=replays))

    return problems


def problem(line, path, message):
    return [Problem(line, f"benchmark.{path}", message)]


@pytest.mark.parametrize("text", [RECORDED, SCORED, ONLINE])
def test_a_benchmark_that_can_be_judged_has_no_problem(check, text):
    assert check(text) == []


def test_a_benchmark_that_reads_from_a_server_is_not_opened(check):
    url = '"https://example.invalid/rows.jsonl"'
    text = RECORDED.replace("rows.jsonl", url)
    assert check(text) == []


# -- metrics ---------------------------------------------------------------------------------


def test_an_unknown_metric_is_a_problem_beside_the_others(check):
    text = RECORDED.replace("[mean_reward]", "[mean_rewrd, pass@3]")
    unknown, too_few = check(text)
    assert unknown.line == 4
    assert unknown.path == "benchmark.metrics[0]"
    assert unknown.message.startswith(
        "there is no metric 'mean_rewrd': did you mean 'mean_reward'?"
    )
    assert too_few.path == "benchmark.metrics[1]"
    assert too_few.message.startswith("metric 'pass@3' needs 3 rollouts of each task")


def test_an_unknown_metric_of_a_threshold_leaves_the_rest_to_be_checked(check):
    text = f"{RECORDED}  thresholds: {{mean_rewrd: '>= 0', pass@3: '>= 0'}}\n"
    problems = check(text)
    assert [problem.path for problem in problems] == [
        "benchmark.thresholds.mean_rewrd",
        "benchmark.thresholds.pass@3",
    ]


def test_a_metric_that_a_hook_computes_is_no_problem_of_a_threshold(check):
    text = f"{RECORDED}  thresholds: {{own: '>= 0'}}\n"
    (unknown,) = check(text)
    assert unknown.path == "benchmark.thresholds.own"
    assert check(text, hooked=True) == []


def test_a_metric_that_recorded_rollouts_are_too_few_for_is_a_problem(check):
    (too_few,) = check(RECORDED.replace("mean_reward", "pass@2"))
    assert too_few.line == 4
    assert too_few.path == "benchmark.metrics[0]"


# -- counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [RECORDED, SCORED, ONLINE])
def test_tasks_that_are_expected_and_lacking_are_a_problem(check, text):
    (lacking,) = check(f"{text}  expect: {{tasks: 9}}\n")
    assert lacking.path == "benchmark.expect.tasks"
    assert lacking.message == "5 of 9 tasks are missing: 4 were found"


def test_some_rows_of_a_data_set_are_no_lack_of_tasks(check):
    text = f"{ONLINE}  params: {{limit_samples: 2}}\n  expect: {{tasks: 4}}\n"
    assert check(text) == []


def test_a_sample_of_the_tasks_is_no_lack_of_tasks(check):
    text = f"{ONLINE}  sample: {{tasks: 2, seed: 1}}\n  expect: {{tasks: 4}}\n"
    assert check(text) == []


# -- files -----------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_a_problem_of_its_key(check):
    text = RECORDED.replace("rows.jsonl", "none.jsonl")
    (missing,) = check(text)
    assert missing.line == 3
    assert missing.path == "benchmark.rollouts"
    assert missing.message.startswith("there is no file 'none.jsonl'")


def test_a_data_set_that_is_not_there_is_a_problem_of_its_key(check):
    (missing,) = check(ONLINE.replace("rows.jsonl", "none.jsonl"))
    assert missing.path == "benchmark.dataset"


def test_words_of_a_score_that_no_row_has_are_a_problem_of_their_key(check):
    text = RECORDED.replace("fields:", "map: {quality: {good: 1}}, fields:")
    text = text.replace("task: id", "task: id, scores: {quality: grade}")
    (lacking,) = check(text)
    assert lacking.line == 3
    assert lacking.path == "benchmark.rollouts.map.quality"


def test_a_pattern_of_files_that_matches_none_is_a_problem(check):
    text = f"{RECORDED}  depends: ['*.bench.yaml', 'src/*.py']\n"
    assert check(text) == problem(5, "depends[1]", "no file matches 'src/*.py'")


# -- behaviour -------------------------------------------------------------------------------


def test_an_unknown_feature_of_behaviour_is_a_problem(check):
    (unknown,) = check(f"{RECORDED}  behaviour: {{features: [nonsense]}}\n")
    assert unknown.line == 5
    assert unknown.path == "benchmark.behaviour"
    assert "'nonsense'" in unknown.message


def test_behaviour_that_is_built_in_is_no_problem(check):
    assert check(f"{RECORDED}  behaviour: {{steps: {{max: 3}}}}\n") == []


# -- scorers and models ----------------------------------------------------------------------


def test_a_template_that_no_row_can_fill_in_is_a_problem(check):
    (unfilled,) = check(SCORED.replace("item.answer", "item.anser"))
    assert unfilled.line == 5
    assert unfilled.path == "benchmark.scorers[0].candidate"
    assert unfilled.message.startswith("no row can fill in this template: ")


@pytest.mark.parametrize(
    "name",
    [
        "<model>",
        "...",
        "your-model",
        "my_model_name",
        "YOUR MODEL NAME",
        "todo",
        "xxx",
        "xxxxx",
        "changeme",
    ],
)
def test_the_name_of_a_template_is_no_model(check, name):
    text = ONLINE.replace("name: m}", f'name: "{name}"}}')
    message = (
        f"{name!r} is a placeholder: write the name of a model that the url serves"
    )
    assert check(text) == problem(4, "model.name", message)


@pytest.mark.parametrize("name", ["m", "gpt-4o", "xx", "todo-solver", "your-models"])
def test_any_other_name_is_one(check, name):
    assert check(ONLINE.replace("name: m}", f'name: "{name}"}}')) == []


def test_a_judge_may_have_the_name_of_a_template_too(check):
    (found,) = check(JUDGED.replace("NAME", '"<model>"'))
    assert found.line == 6
    assert found.path == "benchmark.scorers[0].model.name"


def test_a_judge_of_a_panel_may_have_the_name_of_a_template_too(check):
    judges = f'[{{url: "{URL}", name: j}}, {{url: "{URL}", name: todo}}]'
    text = JUDGED.replace(f'model: {{url: "{URL}", name: NAME}}', f"judges: {judges}")
    (found,) = check(text)
    assert found.path == "benchmark.scorers[0].judges[1].name"


def test_the_name_of_a_score_is_no_name_of_a_model(check):
    text = JUDGED.replace("NAME", "j").replace("quality", "todo")
    assert check(text) == []


def test_a_secret_that_is_not_set_is_a_problem_beside_the_others(check, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    text = ONLINE.replace("name: m}", "name: m, api_key_secret: NO_SUCH_KEY}")
    secret, unfilled = check(text.replace("{{ question }}", "{{ quetion }}"))
    assert secret.line == 4
    assert secret.path == "benchmark.model"
    assert "NO_SUCH_KEY" in secret.message
    assert unfilled.path == "benchmark.prompt_template"


def test_a_secret_of_a_judge_is_a_problem_of_its_scorer(check, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    text = JUDGED.replace("name: NAME", "name: j, api_key_secret: NO_SUCH_KEY")
    (secret,) = check(text)
    assert secret.line == 5
    assert secret.path == "benchmark.scorers[0]"


@pytest.mark.parametrize("text", [ONLINE, JUDGED])
def test_answers_of_the_journal_need_no_secret(check, monkeypatch, text):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    text = text.replace("name: m}", "name: m, api_key_secret: NO_SUCH_KEY}")
    text = text.replace("name: NAME", "name: j, api_key_secret: NO_SUCH_KEY")
    assert check(text, replays=True) == []


def test_a_scorer_that_cannot_be_made_ends_the_check_of_its_rows(check):
    scorer = '{type: python, function: "no_such_module:score", scores: [reward]}'
    text = RECORDED.replace("  metrics:", f"  scorers: [{scorer}]\n  metrics:")
    (broken,) = check(f"{text}  expect: {{tasks: 9}}\n")
    assert broken.line == 4
    assert broken.path == "benchmark.scorers[0]"
    assert "no_such_module" in broken.message


def test_a_target_that_cannot_be_made_is_a_problem_of_its_key(check):
    text = ONLINE.replace(
        f'  model: {{url: "{URL}", name: m}}\n  prompt_template: "{{{{ question }}}}"\n',
        '  target: {function: "no_such_module:answer", version: "1"}\n',
    )
    (broken,) = check(text)
    assert broken.line == 4
    assert broken.path == "benchmark.target"
