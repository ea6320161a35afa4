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


# -- the vocabulary ----------------------------------------------------------------------------

REWARDS = (
    "score scores success successful quality judgement mse rmse toxicity hallucination richtig "
    "punkte correcto puntuacion correto acertou ocena вердикт uitslag goed oikein relevancy "
    "relevance graded rating return rewards"
)
NO_REWARDS = (
    "id ids repeats sample tokens token timestamp date runtime walltime top max has enabled "
    "retries retry offset page gold target ts"
)
ANSWERS = "answer answers predicted pred choices guess label output risposta extracted options"
TASKS = "task problem puzzle exercise exercice q question"
ATTEMPTS = "trial trace log job dialogue thread project dataset submission uuid author rollout worker"
OUTPUTS = "answer answers predictions pred raw comment antwort respuesta date time contexts split"


@pytest.mark.parametrize("name", REWARDS.split())
def test_a_number_with_the_name_of_a_verdict_may_be_the_reward(name):
    assert field_names.reward_name(f"row.{name}") <= field_names.RewardName.VERDICT


@pytest.mark.parametrize(
    "holder",
    ["score", "metrics", "rewards", "grading", "evaluation", "evaluations", "eval"],
)
def test_a_number_in_an_object_of_verdicts_may_be_the_reward(holder):
    for path in (f"{holder}.tone", f"run.{holder}.tone", f"{holder}.of.tone"):
        assert field_names.reward_name(path) is field_names.RewardName.VERDICT


@pytest.mark.parametrize("name", [*NO_REWARDS.split(), *ANSWERS.split(), *"snkpti"])
def test_a_number_with_another_telling_name_is_no_reward(name):
    assert field_names.reward_name(f"row.{name}") is field_names.RewardName.NEVER


@pytest.mark.parametrize(
    "holder",
    [
        "usage",
        "config",
        "timing",
        "timings",
        "limits",
        "environment",
        "request",
        "tools",
    ],
)
def test_a_number_among_settings_is_no_reward(holder):
    name = field_names.reward_name(f"{holder}.score")
    assert name is field_names.RewardName.NEVER


@pytest.mark.parametrize("name", ["status", "state", "finish_it", "phase", "stage"])
def test_how_a_run_went_is_no_reward(name):
    assert field_names.reward_name(name) is field_names.RewardName.NEVER
    assert field_names.is_status(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "verdict",
            "judgement",
            "value",
            "winner",
            "preference",
            "correctness",
            "pass",
        ),
        *("esito", "wynik", "sonuç", "resultaat"),
    ],
)
def test_texts_by_such_a_name_may_be_verdicts(name):
    assert field_names.may_hold_a_verdict_in_words(name)


@pytest.mark.parametrize("name", ["passed", "won", "wins", "accepted", "correctes"])
def test_a_whole_number_by_such_a_name_may_count(name):
    assert field_names.may_be_a_count(name)


@pytest.mark.parametrize("name", ["max", "maximum", "possible", "available", "of", "n"])
def test_a_number_by_such_a_name_may_be_a_maximum(name):
    assert field_names.is_maximum(name)


@pytest.mark.parametrize("name", ["max_token", "max_tokens", "max_ms", "max_seconds"])
def test_the_most_of_a_cost_is_no_maximum(name):
    assert not field_names.is_maximum(name)


@pytest.mark.parametrize(
    "name", ["sem", "ci", "ci95", "acc_std_err", "standard_error", "std_error"]
)
def test_a_number_by_such_a_name_may_be_an_error_of_a_mean(name):
    assert field_names.is_error_of_a_mean(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *(("lower_is_better", True), ("higher_better", True), ("larger_better", True)),
        *(("smaller_better", True), ("maximize", True), ("minimise", True)),
        *(("direction", True), ("objective", True), ("better", False)),
    ],
)
def test_a_field_may_say_which_way_is_better(name, says):
    assert field_names.says_direction(name) is says


@pytest.mark.parametrize(
    "name", ["n_tasks", "num_effective", "number_original", "total_docs", "count_rows"]
)
def test_a_number_by_such_a_name_may_count_tasks(name):
    assert field_names.counts_tasks(name)


@pytest.mark.parametrize("name", TASKS.split())
def test_an_id_by_such_a_name_is_a_task_s(name):
    assert field_names.task_name(f"{name}_id") is field_names.TaskName.OWN


@pytest.mark.parametrize(
    "name", ["qid", "tid", "taskid", "testcase", "aufgabe", "case"]
)
def test_a_field_by_such_a_name_is_the_task(name):
    assert field_names.task_name(name) is field_names.TaskName.OWN


@pytest.mark.parametrize("name", ATTEMPTS.split())
def test_an_id_by_such_a_name_is_no_task_s(name):
    assert field_names.task_name(f"{name}_id") is field_names.TaskName.NEVER


@pytest.mark.parametrize(
    "name", ["id", "ids", "index", "idx", "key", "no", "nr", "uid"]
)
def test_a_number_by_such_a_name_is_an_id(name):
    assert field_names.task_name(f"task_{name}") is field_names.TaskName.OWN


@pytest.mark.parametrize(
    ("name", "judged"),
    [
        ("ticket_id", "OTHER_ID"),
        ("ticket_key", "OTHER_ID"),
        ("ticket_no", "UNKNOWN"),
        ("id", "PLAIN_ID"),
        ("key", "PLAIN_ID"),
        ("question", "QUESTION"),
        ("pergunta", "QUESTION"),
        ("name", "TITLE"),
        ("label", "TITLE"),
    ],
)
def test_how_much_a_name_says_for_a_task(name, judged):
    assert field_names.task_name(name) is field_names.TaskName[judged]


@pytest.mark.parametrize("name", OUTPUTS.split())
def test_a_text_by_such_a_name_came_of_an_attempt(name):
    assert field_names.is_output(name)
    assert field_names.task_name(name) is field_names.TaskName.NEVER


@pytest.mark.parametrize("name", ["sample", "attempt", "seed", "try", "iteration", "k"])
def test_a_number_by_such_a_name_is_that_of_an_attempt(name):
    assert field_names.is_sample(name)


@pytest.mark.parametrize("name", ["step", "timestep", "turn", "frame", "move"])
def test_a_number_by_such_a_name_is_that_of_a_step(name):
    assert field_names.is_step_number(name)


@pytest.mark.parametrize("name", ["model", "agent", "engine", "modell"])
def test_a_text_by_such_a_name_is_the_agent(name):
    assert field_names.is_agent(name)


@pytest.mark.parametrize(
    "name", ["subset", "split", "suite", "benchmark", "topic", "sprache", "turn"]
)
def test_a_field_by_such_a_name_is_a_part_of_a_benchmark(name):
    assert field_names.is_group(name)


@pytest.mark.parametrize("name", ["difficulty", "size", "length", "style", "version"])
def test_a_field_by_such_a_name_describes_a_task(name):
    assert field_names.describes_task(name)


@pytest.mark.parametrize("name", ["by", "per", "pro", "nach"])
def test_an_object_by_such_a_name_has_parts_as_keys(name):
    assert field_names.is_by_subset(f"{name}_subject")


@pytest.mark.parametrize(
    "name", ["metric", "scorer", "name", "judge", "criterion", "dimension"]
)
def test_a_text_by_such_a_name_is_that_of_a_score(name):
    assert field_names.is_metric(name)


PARTS = "message logs log passage passages trajectory action actions files checks check components"
OF_ATTEMPTS = "attempts generations completions epochs tries predictions"
OF_TASKS = "tasks tests testcases prompts entries fragen"
OF_SUBSETS = "suites subjects groups domains datasets classes"
OF_RUNS = "runs iterations models systems"


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (PARTS, field_names.lists_parts),
        (OF_ATTEMPTS, field_names.lists_attempts),
        (OF_TASKS, field_names.lists_tasks),
        (OF_SUBSETS, field_names.lists_subsets),
        (OF_RUNS, field_names.lists_runs),
    ],
)
def test_what_a_list_holds_by_its_name(names, says):
    assert [name for name in names.split() if not says(name)] == []


@pytest.mark.parametrize("name", ["score_1", "rating_2", "outcome_3", "ok_1", "trial1"])
def test_a_numbered_verdict_is_an_attempt(name):
    assert field_names.stem_of_attempts(name) is not None
