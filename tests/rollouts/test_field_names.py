"""What the name of a field or a list tells of what it holds."""

import pytest

from pytest_evalmetrics.rollouts.guess import field_names


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("response", True),
        ("output.text", True),
        ("modelAnswer", True),
        ("answer_id", False),
        ("question", False),
        ("answer.topic", False),
    ],
)
def test_what_came_of_an_attempt(path, says):
    assert field_names.is_output(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("question", True),
        ("row.prompt", True),
        ("test_input", True),
        ("frage", True),
        ("question_id", False),
        ("answer_to_question", False),
        ("topic", False),
    ],
)
def test_the_question_of_a_task(path, says):
    assert field_names.is_question(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("seed", True),
        ("attempt_id", True),
        ("run.sample_index", True),
        ("sampleNo", True),
        ("id", False),
        ("seed_text", False),
        ("attempt.topic", False),
    ],
)
def test_the_number_of_an_attempt(path, says):
    assert field_names.is_sample(path) is says


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("attempt_0", True),
        ("run 2", True),
        ("seed42", True),
        (" Trial-1 ", True),
        ("samples_3", True),
        ("attempt", False),
        ("k1", False),
        ("question_1", False),
        ("run_2_final", False),
    ],
)
def test_the_name_of_a_numbered_attempt(name, says):
    assert field_names.is_numbered_attempt(name) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("step", True),
        ("turn_no", True),
        ("row.round", True),
        ("stepwise", False),
        ("12", False),
        ("_", False),
    ],
)
def test_the_number_of_a_part_of_an_attempt(path, says):
    assert field_names.is_step_number(path) is says


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("run1", "run"),
        ("score_2", "score"),
        ("row.run 3", "row.run"),
        ("correct#1", "correct"),
        ("runs.1", "runs."),
        ("evaluation.results.0", "evaluation.results."),
        ("run", None),
        ("model_1", None),
        ("1", None),
        ("settings.1", None),
        ("pass_at_1_of_it", None),
    ],
)
def test_what_the_fields_of_several_attempts_share(path, stem):
    assert field_names.stem_of_attempts(path) == stem


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("model", True),
        ("agent_name", True),
        ("run.system", True),
        ("modelId", True),
        ("model_size", False),
        ("model.size", False),
        ("name", False),
    ],
)
def test_the_name_of_an_agent(path, says):
    assert field_names.is_agent(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("subset", True),
        ("source_language", True),
        ("meta.category_name", True),
        ("category_score", False),
        ("category.text", False),
        ("id", False),
    ],
)
def test_the_part_of_a_benchmark(path, says):
    assert field_names.is_group(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("difficulty", True),
        ("answer_type", True),
        ("tags", True),
        ("difficulty.text", False),
        ("rep", False),
    ],
)
def test_the_kind_of_a_task(path, says):
    assert field_names.describes_task(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("metric", True),
        ("row.metric_name", True),
        ("judgeName", True),
        ("the_metric", False),
        ("metric.value", False),
        ("_", False),
    ],
)
def test_the_name_of_a_score(path, says):
    assert field_names.is_metric(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("status", True),
        ("finishReason", True),
        ("run.state", True),
        ("status.score", False),
        ("score", False),
    ],
)
def test_how_a_run_went(path, says):
    assert field_names.is_status(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("verdict", True),
        ("judge.final_outcome", True),
        ("verdict.reason", False),
        ("language", False),
    ],
)
def test_a_verdict_in_words(path, says):
    assert field_names.may_hold_a_verdict_in_words(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("passed", True),
        ("tests.num_passed", True),
        ("score", False),
        ("passed.score", False),
    ],
)
def test_a_whole_number_that_may_count(path, says):
    assert field_names.may_be_a_count(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("max_score", True),
        ("points.total", True),
        ("max_tokens", False),
        ("total_cost", False),
        ("max.score", False),
    ],
)
def test_the_most_that_a_score_can_be(path, says):
    assert field_names.is_maximum(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("stderr", True),
        ("acc_stderr", True),
        ("score.std_err", True),
        ("standardError", True),
        ("error", False),
        ("stderr.text", False),
    ],
)
def test_the_standard_error_of_a_mean(path, says):
    assert field_names.is_error_of_a_mean(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("n", True),
        ("support", True),
        ("effective", True),
        ("sample_len", True),
        ("num_questions", True),
        ("total_docs", True),
        ("questions", False),
        ("num_tokens", False),
        ("question_count", False),
    ],
)
def test_the_number_of_the_tasks_of_a_mean(path, says):
    assert field_names.counts_tasks(path) is says


# -- lists -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("messages", True),
        ("row.tool_calls", True),
        ("results", False),
        ("messages.results", False),
        ("_", False),
    ],
)
def test_a_list_of_the_parts_of_an_attempt(path, says):
    assert field_names.lists_parts(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("attempts", True),
        ("row.all_rollouts", True),
        ("tasks", False),
        ("attempts.tasks", False),
        ("_", False),
    ],
)
def test_a_list_of_attempts(path, says):
    assert field_names.lists_attempts(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("tasks", True),
        ("suite.testCases", True),
        ("attempts", False),
        ("tasks.attempts", False),
        ("_", False),
    ],
)
def test_a_list_of_tasks(path, says):
    assert field_names.lists_tasks(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("suites", True),
        ("all.test_suites", True),
        ("runs", False),
        ("suites.runs", False),
        ("_", False),
    ],
)
def test_a_list_of_the_parts_of_a_benchmark(path, says):
    assert field_names.lists_subsets(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("runs", True),
        ("all.training_epochs", True),
        ("suites", False),
        ("runs.suites", False),
        ("_", False),
    ],
)
def test_a_list_of_runs(path, says):
    assert field_names.lists_runs(path) is says


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("by_subject", True),
        ("results.scores_per_category", True),
        ("subject", False),
        ("by_model", False),
        ("all_subject", False),
        ("by", False),
    ],
)
def test_an_object_by_the_parts_of_a_benchmark(path, says):
    assert field_names.is_by_subset(path) is says


# -- rewards and tasks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["answer", "model.prediction", "k", "usage.reward", "state", "run_time", ""]
)
def test_what_is_never_a_reward(path):
    assert field_names.reward_name(path) is field_names.RewardName.NEVER


@pytest.mark.parametrize(
    "path", ["answer_correct", "status_ok", "reward_total", "scores.tone", "f1"]
)
def test_what_is_a_verdict_by_its_name(path):
    assert field_names.reward_name(path) is field_names.RewardName.VERDICT


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("task", field_names.TaskName.OWN),
        ("task_name", field_names.TaskName.OWN),
        ("taskId", field_names.TaskName.OWN),
        ("order_key", field_names.TaskName.OTHER_ID),
        ("model_id", field_names.TaskName.NEVER),
        ("index", field_names.TaskName.PLAIN_ID),
        ("no", field_names.TaskName.UNKNOWN),
        ("title", field_names.TaskName.TITLE),
        ("job_title", field_names.TaskName.UNKNOWN),
        ("question_text", field_names.TaskName.NEVER),
        ("_", field_names.TaskName.NEVER),
    ],
)
def test_how_likely_a_name_is_that_of_a_task(path, name):
    assert field_names.task_name(path) is name
