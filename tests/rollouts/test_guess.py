"""What is taken as the rows, the reward and the task of an unknown file, and why."""

import json
import random

import pytest

from pytest_evalmetrics.config.yaml_reader import parse_yaml
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.guess import propose
from pytest_evalmetrics.rollouts.guess.draft import draft_lines
from pytest_evalmetrics.rollouts.guess.failed_rows import without_errors
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    TaskName,
    counts_tasks,
    reward_name,
    says_direction,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.layouts import (
    ListKind,
    is_table_by_columns,
    layouts,
)
from pytest_evalmetrics.rollouts.guess.pivots import pivot_of
from pytest_evalmetrics.rollouts.guess.rewards import OPEN, Sentinel, choose_reward
from pytest_evalmetrics.rollouts.guess.seen_columns import seen_columns
from pytest_evalmetrics.rollouts.guess.sketch import sketch
from pytest_evalmetrics.rollouts.guess.tasks import choose_task
from pytest_evalmetrics.rollouts.guess.verdict_words import meaning
from pytest_evalmetrics.spec import FieldMap


def reward_of(rows):
    return choose_reward(seen_columns(rows), ())


def task_of(rows, **options):
    return choose_task(
        seen_columns(rows), (), is_nested=False, lists=ListKind.NONE, **options
    )


# -- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("reward", RewardName.REWARD),
        ("reward_info.reward", RewardName.REWARD),
        ("isCorrect", RewardName.VERDICT),
        ("metrics.f1_macro", RewardName.VERDICT),
        ("scores.Facts", RewardName.VERDICT),
        ("fluency", RewardName.UNKNOWN),
        ("num_correct", RewardName.NEVER),
        ("score_id", RewardName.NEVER),
        ("usage.score", RewardName.NEVER),
        ("doc.use_logits", RewardName.NEVER),
        ("variance", RewardName.NEVER),
        ("status", RewardName.NEVER),
        ("created_at", RewardName.NEVER),
        ("completion_tokens", RewardName.NEVER),
    ],
)
def test_what_a_name_says_of_a_reward(path, name):
    assert reward_name(path) is name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("question_id", TaskName.OWN),
        ("user_task_id", TaskName.OWN),
        ("frage_id", TaskName.OWN),
        ("ticket_id", TaskName.OTHER_ID),
        ("id", TaskName.PLAIN_ID),
        ("inputs.question", TaskName.QUESTION),
        ("trial_id", TaskName.NEVER),
        ("trace_id", TaskName.NEVER),
        ("question_response_id", TaskName.NEVER),
        ("model_answer", TaskName.NEVER),
    ],
)
def test_what_a_name_says_of_a_task(path, name):
    assert task_name(path) is name


@pytest.mark.parametrize(
    ("word", "points"),
    [
        ("ja", 1),
        ("Nein", 0),
        ("✓", 1),
        ("✗", 0),
        ("PASS.", 1),
        ("tie", 0.5),
        ("n/a", None),
    ],
)
def test_words_of_a_verdict(word, points):
    known = meaning(word)
    assert known.is_known
    assert known.points == points


# -- the reward --------------------------------------------------------------------------------


def test_the_only_verdict_is_the_reward_and_its_evidence_is_shown():
    choice = reward_of([{"correct": n < 3, "tokens": n} for n in range(4)])
    assert choice.chosen.path == "correct"
    assert choice.reason == "reward: correct (0/1, 75 % are 1), by its name"


def test_two_verdicts_are_a_question():
    choice = reward_of([{"correct": n % 2, "score": n / 8} for n in range(4)])
    assert choice.chosen is None
    assert choice.question == "correct (0/1, 50 % are 1) or score (0..0.375)?"


def test_a_column_with_one_value_is_a_question():
    choice = reward_of([{"success": True}] * 3)
    assert choice.chosen is None
    assert choice.question == "success (always 1)?"


def test_of_equal_columns_the_verdict_is_taken():
    choice = reward_of(
        [{"score": float(n % 2), "passed": n % 2 == 1} for n in range(4)]
    )
    assert choice.chosen.path == "passed"


def test_a_stated_mean_of_a_list_is_no_rival_of_the_list():
    rows = [
        {"verdicts": [True, n > 1], "pass@1": 0.5 + 0.5 * (n > 1)} for n in range(4)
    ]
    assert reward_of(rows).chosen.path == "verdicts"


def test_an_unknown_word_of_a_verdict_is_open():
    choice = reward_of([{"verdict": word} for word in ("pass", "fail", "unclear")])
    assert choice.chosen.points == {"fail": 0, "pass": 1, "unclear": OPEN}


def test_a_status_is_no_reward():
    choice = reward_of([{"status": word} for word in ("success", "error", "success")])
    assert choice.chosen is None


def test_a_number_that_few_rows_have_is_a_question():
    rows = [{"score": n / 8} if n < 2 else {"score": None} for n in range(8)]
    assert reward_of(rows).question == "score (0..0.125, in 2 of 8 rows)?"


def test_words_are_named_before_a_number_that_is_as_likely():
    rows = [{"score": n / 8, "grade": ("pass", "fail")[n % 2]} for n in range(4)]
    assert reward_of(rows).question == "grade (pass, fail) or score (0..0.375)?"


def test_a_partial_pass_beside_an_error_of_a_mean_is_a_verdict():
    words = ("pass", "fail", "partially correct")
    rows = [{"verdict": word, "stderr": n / 8} for n, word in enumerate(words)]
    assert reward_of(rows).chosen.path == "verdict"


def test_unknown_words_that_recur_are_a_verdict_of_unknown_worth():
    choice = reward_of([{"verdict": word} for word in ("meh", "hm") * 2])
    assert choice.chosen.points == {"hm": OPEN, "meh": OPEN}


@pytest.mark.parametrize("words", [("meh", "hm", "so"), ("meh",) * 4])
def test_unknown_words_that_do_not_tell_rows_apart_are_no_verdict(words):
    choice = reward_of([{"verdict": word} for word in words])
    assert (choice.chosen, choice.candidates) == (None, ())


def test_words_under_the_name_of_a_score_may_be_of_unknown_worth():
    choice = reward_of([{"quality": word} for word in ("good", "bad", "fail", "meh")])
    assert choice.chosen.points["meh"] == OPEN


def test_words_without_the_name_of_a_score_are_no_verdict_with_an_unknown_one():
    choice = reward_of([{"language": word} for word in ("de", "no", "fr", "en")])
    assert choice.candidates == ()


def test_a_number_far_above_all_others_may_mean_not_judged():
    choice = reward_of([{"score": value} for value in (0.5, 999.0, 0.25, 0.75, 999.0)])
    assert choice.chosen.sentinel == Sentinel(value=999.0, count=2)


def test_a_number_that_is_all_there_is_is_no_sentinel():
    assert reward_of([{"score": 999.0}] * 3).candidates[0].sentinel is None


def test_a_mix_of_numbers_and_texts_is_no_example_of_texts():
    choice = reward_of([{"score": value} for value in (1, "very good", "rather bad")])
    assert choice.question == "no field looks like a reward: name its path"


def test_rewards_of_one_value_are_known_by_their_names():
    choice = reward_of([{"score": 1.0, "wer": 0.25, "fluency": 0.5}] * 3)
    assert choice.constants == ("score",)


def test_a_reward_that_varies_leaves_no_constant_ones():
    assert (
        reward_of([{"score": n / 8, "passed": True} for n in range(4)]).constants == ()
    )


def test_rewards_that_vary_are_not_constant_ones():
    choice = reward_of([{"score": n / 8, "correct": n % 2} for n in range(4)])
    assert choice.chosen is None
    assert choice.constants == ()


def test_a_reward_of_one_value_in_few_rows_is_no_constant_one():
    rows = [{"score": 1.0 if n < 2 else None, "note": "x"} for n in range(8)]
    assert reward_of(rows).constants == ()


def test_words_of_one_value_are_no_reward_without_a_name_of_one():
    choice = reward_of([{"flag": "pass"}] * 3)
    assert choice.question == "flag (pass)?"
    assert choice.constants == ()


def test_equal_rewards_of_one_value_are_one():
    assert reward_of([{"reward": 1, "passed": True}] * 3).constants == ("reward",)


@pytest.mark.parametrize(
    ("path", "says"),
    [("higher_is_better", True), ("better", False), ("higher", False)],
)
def test_what_says_which_way_a_score_is_better(path, says):
    assert says_direction(path) is says


@pytest.mark.parametrize("error", ["stderr", "n_samples"])
def test_a_score_beside_its_error_or_its_tasks_may_be_a_mean(error):
    rows = [{"score": n / 8, error: n + 2} for n in range(1, 5)]
    question = f"score (with {error}: a mean over several tasks?)?"
    assert reward_of(rows).question == question


@pytest.mark.parametrize("error", ["stderr", "n_samples"])
def test_an_error_in_another_object_says_nothing_of_a_score(error):
    rows = [{"score": n / 8, "load": {error: n + 2}} for n in range(1, 5)]
    assert reward_of(rows).chosen.path == "score"


@pytest.mark.parametrize(
    ("path", "counts"),
    [("n", True), ("n_samples", True), ("samples", False), ("load_samples", False)],
)
def test_what_counts_the_tasks_of_a_mean(path, counts):
    assert counts_tasks(path) is counts


# -- the task ----------------------------------------------------------------------------------


def test_the_own_id_of_a_question_is_the_task():
    rows = [
        {"trace_id": f"t{n}", "question_id": n // 2, "seed": n % 2} for n in range(8)
    ]
    choice = task_of(rows)
    assert choice.paths == ("question_id",)
    assert choice.sample == "seed"


def test_an_id_that_is_unique_within_its_subset_takes_the_subset():
    rows = [{"lang": lang, "id": n} for lang in ("de", "fr") for n in range(3)]
    assert task_of(rows).paths == ("lang", "id")


def test_an_id_of_several_models_is_no_part_of_an_id():
    rows = [{"model": model, "id": n} for model in ("a", "b") for n in range(3)]
    choice = task_of(rows)
    assert (choice.paths, choice.agent) == (("id",), "model")


def test_a_question_that_recurs_beats_an_id_of_its_row():
    rows = [{"id": n, "question": f"q{n // 2}"} for n in range(8)]
    assert task_of(rows).paths == ("question",)


def test_an_id_with_several_questions_is_a_question_to_the_user():
    rows = [{"id": n % 4, "question": f"q{n}", "answer": n} for n in range(8)]
    choice = task_of(rows)
    assert choice.paths == ()
    assert choice.question == "id (not unique) or question?"


def test_random_ids_alone_are_no_task():
    ids = [f"{n:08x}-1111-4222-8333-{n:012x}" for n in range(4)]
    assert task_of([{"id": id_} for id_ in ids]).paths == ()


def test_a_label_that_recurs_is_a_task_of_several_runs_alone():
    rows = [{"place": ("Bonn", "Oslo")[n % 2]} for n in range(4)]
    assert task_of(rows).paths == ()
    assert task_of(rows, are_runs=True).paths == ("place",)


def test_a_text_of_which_some_rows_have_the_same_is_no_task():
    notes = [f"It has to be {n % 5} by the rule of the house" for n in range(8)]
    assert task_of([{"riddle": note} for note in notes]).paths == ()


def test_a_text_that_equally_many_rows_have_is_a_task():
    notes = [f"It has to be {n % 4} by the rule of the house" for n in range(8)]
    assert task_of([{"riddle": note} for note in notes]).paths == ("riddle",)


@pytest.mark.parametrize(
    "value",
    [lambda n: f"{n:08x}-1111-4222-8333-{n:012x}", lambda n: f"2026-05-0{n + 1}"],
)
def test_random_ids_and_times_under_any_name_are_no_task(value):
    assert task_of([{"blob": value(n)} for n in range(4)]).paths == ()


def test_labels_under_any_name_that_each_row_has_alone_are_the_task():
    assert task_of([{"blob": f"b{n}"} for n in range(4)]).paths == ("blob",)


def test_a_field_that_goes_through_few_values_is_shown_in_its_order():
    rows = [{"id": n, "rep": ("z", "b", "a")[n % 3]} for n in range(12)]
    reason = task_of(rows).reason
    assert "id is unique in every row, and rep goes through z, b, a again" in reason


def test_a_setting_in_prose_numbers_no_attempts():
    rules = [f"Answer by the rule number {n} of the house" for n in range(3)]
    rows = [{"id": n, "rule": rules[n % 3]} for n in range(12)]
    assert task_of(rows).paths == ("id",)


def test_the_times_of_two_runs_are_no_part_of_a_task():
    days = ("2026-05-01", "2026-05-02")
    rows = [{"question_id": f"q{n // 2}", "day": days[n % 2]} for n in range(8)]
    assert task_of(rows).paths == ("question_id",)


def test_the_id_of_a_sample_that_is_the_task_is_no_attempt():
    choice = task_of([{"sample_id": n, "ok": n % 2} for n in range(4)])
    assert (choice.paths, choice.sample) == (("sample_id",), None)


def test_two_fields_that_name_the_task_are_its_parts():
    rows = [{"task": "ab"[n // 3], "question_id": f"q{n % 3}"} for n in range(6)]
    assert task_of(rows).paths == ("task", "question_id")


def rows_below_titles(ids):
    return [
        {"_parent": {"title": title}, "id": id_}
        for title, ids_of_title in zip(("one", "two"), ids, strict=True)
        for id_ in ids_of_title
    ]


def test_the_same_ids_below_several_titles_are_a_question():
    rows = rows_below_titles(["abc", "abc"])
    choice = choose_task(
        seen_columns(rows), (), is_nested=False, lists=ListKind.UNKNOWN
    )
    assert (choice.paths, choice.is_open) == ((), True)
    assert choice.question == (
        "[_parent.title, id], or id if each _parent.title is an attempt?"
    )


def test_ids_of_their_own_below_several_titles_are_the_task():
    rows = rows_below_titles(["abc", "def"])
    choice = choose_task(
        seen_columns(rows), (), is_nested=False, lists=ListKind.UNKNOWN
    )
    assert choice.paths == ("id",)


# -- the rows ----------------------------------------------------------------------------------


def test_the_outermost_rows_come_first():
    rows = [{"id": n, "messages": [{"role": "user"}]} for n in range(3)]
    found = list(layouts({"results": rows}, is_row=False))
    assert [(layout.rows, layout.level) for layout in found] == [
        (None, 0),
        ("results", 1),
        ("results.*.messages", 2),
    ]


def test_a_list_in_rows_is_no_list_beside_others():
    rows = [{"id": n, "messages": [{"role": "user"}]} for n in range(3)]
    found = list(layouts({"results": rows}, is_row=False))
    assert [layout.rows for layout in found if layout.is_list] == ["results"]


def test_lists_in_rows_by_key_name_the_layout_of_those_rows():
    row = {"ok": True, "messages": [{"role": "user"}]}
    document = {"results": {"q0": row, "q1": row}}
    inner = [layout for layout in layouts(document, is_row=False) if layout.is_inner]
    assert [layout.outer for layout in inner] == [("results", "id")]


def test_rows_by_key_at_the_top_have_no_path():
    row = {"ok": True, "note": "x"}
    keyed = [one for one in layouts({"q0": row, "q1": row}, is_row=False) if one.keyed]
    assert [(layout.rows, layout.keyed) for layout in keyed] == [(None, "id")]


def test_lists_of_rows_with_other_fields_are_no_group():
    answers = [{"id": "a", "ok": True}, {"id": "b", "ok": False}]
    prices = [{"id": "x", "price": 1}, {"id": "y", "price": 2}]
    document = {"answers": answers, "prices": prices}
    kinds = {layout.kind for layout in layouts(document, is_row=False)}
    assert kinds == {GroupKind.NONE}


def test_lists_of_the_same_tasks_are_runs_and_others_are_subsets():
    def kind(first, second):
        lists = {"a": [{"id": i} for i in first], "b": [{"id": i} for i in second]}
        return next(
            layout.kind
            for layout in layouts(lists, is_row=False)
            if layout.kind is not GroupKind.NONE
        )

    assert kind(["x", "y"], ["x", "y"]) is GroupKind.RUNS
    assert kind(["x", "y"], ["v", "w"]) is GroupKind.SUBSETS
    assert kind([0, 1], [0, 1]) is GroupKind.SUBSETS


def test_more_lists_than_there_may_be_runs_are_tasks_with_their_attempts():
    attempts = [{"id": "one", "ok": True}, {"id": "two", "ok": False}]

    def kinds(count):
        lists = {f"q{n}": attempts for n in range(count)}
        return {layout.kind for layout in layouts(lists, is_row=False)}

    assert GroupKind.SUBSETS in kinds(20)
    assert kinds(21) == {GroupKind.NONE}


def test_rows_that_are_mostly_errors_are_all_kept():
    rows = [{"id": 1, "score": 1}, {"error": "timeout"}, {"error": "timeout"}]
    assert without_errors(rows) == rows


def test_a_few_errors_are_left_out_of_rows():
    rows = [{"id": n, "score": 1} for n in range(4)]
    assert without_errors([*rows, {"error": "timeout"}]) == rows


def test_two_rows_of_a_file_are_rows_with_their_lists(tmp_path):
    attempts = [{"passed": True}, {"passed": False}]
    rows = [{"task_id": task, "attempts": attempts} for task in ("a", "b")]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "r.jsonl").write_text(text)
    reasons = propose("r.jsonl", tmp_path).reasons
    assert reasons[0] == "rows: the objects of the lists at 'attempts'"


def test_columns_by_number_are_a_table():
    assert is_table_by_columns({"id": {"0": "a", "1": "b"}, "ok": {"0": 1, "1": 0}})


def test_numbered_objects_of_several_lengths_are_no_table():
    document = {"q0": {"0": 1, "1": 0}, "q1": {"0": 1}}
    assert not is_table_by_columns(document)


def test_empty_objects_are_no_table():
    assert not is_table_by_columns({"q0": {}, "q1": {}})


@pytest.mark.parametrize(
    "document", [{"ok": {"0": 1, "1": 0}}, [{"0": 1, "1": 0}, {"0": 1, "1": 0}]]
)
def test_one_column_and_a_list_of_rows_are_no_table(document):
    assert not is_table_by_columns(document)


def test_a_table_without_a_header_is_refused_with_its_first_line(tmp_path):
    lines = [f"{n},{n % 2}.5" for n in range(1, 20)]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError) as refused:
        propose("r.csv", tmp_path, FieldMap(task="1", reward="1.5"))
    assert refused.value.message == (
        "the first line is '1,1.5': values, in place of the names of the columns"
    )
    assert refused.value.line == 1


def test_random_ids_in_subsets_are_asked_about(tmp_path):
    ids = random.Random(1)  # noqa: S311 - ids, no secrets
    document = {"easy": [], "hard": [], "mid": []}
    for rows in document.values():
        for place in range(6):
            name = f"{ids.getrandbits(64):016x}"
            rows.append({"id": name, "score": place / 8})
    (tmp_path / "r.json").write_text(json.dumps(document))
    proposal = propose("r.json", tmp_path)
    assert proposal.spec.fields.task is None
    assert proposal.questions == {
        "fields.task": (
            "id if the next run has the same, _parent._key if each is one task?"
        )
    }


def test_lists_of_ids_by_their_verdicts_are_a_layout():
    found = layouts({"passed": ["a"], "failed": ["b"]}, is_row=False)
    assert {"passed": 1.0, "failed": 0.0} in [layout.lists for layout in found]


def test_lists_of_objects_are_no_lists_of_ids():
    found = layouts({"passed": [{"id": "a"}], "failed": [{"id": "b"}]}, is_row=False)
    assert {layout.lists for layout in found} == {None}


def test_one_list_is_no_group():
    found = layouts({"a": [{"id": "x"}, {"id": "y"}]}, is_row=False)
    assert {layout.kind for layout in found} == {GroupKind.NONE}


def test_two_rows_are_enough_for_a_proposal(tmp_path):
    (tmp_path / "r.jsonl").write_text(
        '{"id": "a", "score": 0.5}\n{"id": "b", "score": 1}\n'
    )
    proposal = propose("r.jsonl", tmp_path)
    assert (proposal.spec.fields.task, proposal.reward) == ("id", "score")


def test_random_ids_beside_a_question_s_own_are_no_task(tmp_path):
    subsets = {
        subset: [
            {
                "id": f"{place}{n}00aaaa-1111-4222-8333-{n:012x}",
                "question_id": f"{subset}-{n}",
                "score": n / 8,
            }
            for n in range(3)
        ]
        for place, subset in enumerate(("sums", "roots"))
    }
    (tmp_path / "r.json").write_text(json.dumps(subsets))
    assert propose("r.json", tmp_path).spec.fields.task == "question_id"


def test_one_row_is_enough_where_its_fields_are_named(tmp_path):
    (tmp_path / "r.json").write_text('{"model": "m", "accuracy": 0.5}')
    named = FieldMap(task="model", reward="accuracy")
    fields = propose("r.json", tmp_path, named).spec.fields
    assert (fields.task, fields.reward) == ("model", "accuracy")


@pytest.mark.parametrize(
    "named", [FieldMap(), FieldMap(task="model"), FieldMap(reward="accuracy")]
)
def test_one_row_is_refused_otherwise(tmp_path, named):
    (tmp_path / "r.json").write_text('{"model": "m", "accuracy": 0.5}')
    with pytest.raises(DataError, match="there is one row"):
        propose("r.json", tmp_path, named)


# -- lines with one score each -----------------------------------------------------------------


def lines_with_scores(**fields):
    """Write two lines, of a verdict and of a cost, for each of 2 rollouts of 8 tasks."""
    rows = []
    for number in range(16):
        rollout = {"rollout_id": f"r{number}", "question_id": f"q{number // 2}"}
        for name, value in fields.items():
            rollout[name] = value(number)
        rows.append({**rollout, "metric": "correct", "value": number % 3 % 2})
        rows.append({**rollout, "metric": "cost", "value": number * 10})
    return rows


def fields_of(tmp_path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "r.jsonl").write_text(text)
    return propose("r.jsonl", tmp_path).spec.fields


def test_names_of_single_lines_are_no_scores_of_a_task():
    rows = [{"group": "ab"[n % 2], "metric": f"m{n}", "value": n} for n in range(6)]
    assert pivot_of(seen_columns(rows)) is None


def test_the_attempt_of_lines_with_scores_tells_rollouts_apart(tmp_path):
    fields = fields_of(tmp_path, lines_with_scores(attempt=lambda n: n % 2))
    assert fields.task == "_line.question_id"
    assert fields.sample == "_line.attempt"


def test_the_model_of_lines_with_scores_is_the_agent(tmp_path):
    fields = fields_of(tmp_path, lines_with_scores(model=lambda n: "ab"[n % 2]))
    assert fields.agent == "_line.model"


def test_the_question_of_lines_with_scores_is_the_content(tmp_path):
    fields = fields_of(tmp_path, lines_with_scores(question=lambda n: f"Why {n // 2}?"))
    assert fields.content == ("_line.question",)


def test_objects_by_id_may_hold_some_errors():
    answers = {f"q{n}": {"score": n} for n in range(9)}
    found = list(layouts({**answers, "q9": {"error": "timeout"}}, is_row=False))
    assert any(layout.keyed == "id" for layout in found)


# -- messages ----------------------------------------------------------------------------------


def test_the_first_levels_of_a_document():
    document = {"meta": {"model": "m"}, "rows": [{"a": {"b": {"c": {"d": 1}}}}] * 3}
    assert sketch(document) == "{meta: {model}, rows: [{a: {b: {...}}}, of 3 values]}"


def test_many_keys_are_counted():
    shown = sketch({f"q{n}": n for n in range(9)})
    assert shown == "{q0, q1, q2, q3, q4, q5, and 3 more keys}"


# -- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["unclear", "a: ?", "#", "it's", 'say "no"'])
def test_an_open_word_is_an_open_line_whatever_it_is(word):
    content = {"map": {"reward": {word: OPEN, "pass": 1}}}
    lines = draft_lines(content, {}, {word: "its worth"})
    problems = parse_yaml("\n".join(lines)).problems
    assert [problem.line for problem in problems] == [3]
    assert "this is left open" in problems[0].message


def test_numbers_that_no_float_holds_count_as_missing():
    rows = [{"score": value} for value in (10**400, float("nan"), 0.5, 1.0)]
    assert seen_columns(rows)["score"].values == [None, None, 0.5, 1.0]
