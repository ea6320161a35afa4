"""Which fields of unknown rows may be the reward, what they are worth, and what is asked."""

import pytest

from pytest_evalmetrics.rollouts.guess.field_names import RewardName
from pytest_evalmetrics.rollouts.guess.rewards import (
    OPEN,
    RewardChoice,
    Sentinel,
    attempts_side_by_side,
    choose_reward,
)
from pytest_evalmetrics.rollouts.guess.seen_columns import seen_columns


def reward_of(rows, taken=()):
    return choose_reward(seen_columns(rows), taken)


def column(name, values):
    return [{name: value} for value in values]


def only(name, values):
    """Judge the only field of some rows."""
    choice = reward_of(column(name, values))
    (candidate,) = [choice.chosen, *choice.candidates][choice.chosen is None :]
    return candidate


# -- what is shown of a field ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("score", [0, 1, 1, 1], "score (0/1, 75 % are 1)"),
        ("score", [True, False, None, True], "score (0/1, 67 % are 1)"),
        ("score", [0.25, 1.5], "score (0.25..1.5)"),
        ("score", [0.5, 0.5], "score (always 0.5)"),
        ("score", [1, None, 0, None], "score (0/1, 50 % are 1, in 2 of 4 rows)"),
        ("score", [1, 0, 1, 0, 1, 0, 1, None, None, None], "score (0/1, 57 % are 1)"),
        ("score", ["85 %", "50 %"], "score (0.5..0.85)"),
        ("score", ["7/10", "9/10"], "score ('7/10' is read as 0.7)"),
        ("score", ["0/3", "1/3"], "score ('1/3' is read as 0.333)"),
        ("score", ["0/3", "3/3"], "score ('0/3' is read as 0)"),
        ("verdict", ["pass", "fail"], "verdict (pass, fail)"),
        (
            "verdict",
            ["pass", "fail", "tie", "n/a", "wrong", "pass"],
            "verdict (pass, fail, tie, n/a and 1 more)",
        ),
        ("scores", [[1, 0], [0, 0]], "scores (lists of verdicts)"),
        (
            "scores",
            [[1, 0.5], [0, 0]],
            "scores (lists of 2: attempts, or steps or criteria?)",
        ),
        (
            "scores",
            [[1, 0], [0], [1, 1, 1]],
            "scores (lists of 1 to 3: attempts, or steps or criteria?)",
        ),
    ],
)
def test_a_field_is_shown_with_its_values(name, values, shown):
    assert only(name, values).shown == shown


# -- numbers -----------------------------------------------------------------------------------


def test_the_words_for_no_verdict_among_numbers_are_missing():
    candidate = only("score", [0.5, "N/A", 1, None])
    assert candidate.missing == ("N/A",)
    assert candidate.values == [0.5, None, 1, None]


def test_other_words_among_numbers_are_of_unknown_meaning():
    candidate = only("score", [n / 16 for n in range(9)] + ["#DIV/0!", "n/a"])
    assert candidate.unknown == ("#DIV/0!",)
    assert candidate.missing == ("n/a",)
    assert candidate.values[-2:] == [None, None]


@pytest.mark.parametrize(
    ("values", "in_unit_range"),
    [([0, 0.5], True), ([0.5, 1], True), ([-0.5, 1], False), ([0.5, 1.5], False)],
)
def test_numbers_from_0_to_1_are_in_the_unit_range(values, in_unit_range):
    assert only("score", values).in_unit_range is in_unit_range


@pytest.mark.parametrize(
    ("values", "in_unit_range"),
    [
        ([[0, 1]], True),
        ([[0, 0.5], [1, 1]], True),
        ([[0, 2]], False),
        ([[-1, 1]], False),
    ],
)
def test_lists_of_numbers_from_0_to_1_are_in_the_unit_range(values, in_unit_range):
    assert only("scores", values).in_unit_range is in_unit_range


def test_seconds_since_1970_are_never_a_reward():
    assert reward_of(column("score", [9e8 + 1, 2e9])).question == (
        "no field looks like a reward: name its path"
    )
    assert reward_of(column("score", [1.0, 9e8])).chosen is not None


@pytest.mark.parametrize(
    ("name", "values", "may_be"),
    [
        pytest.param("fluency", range(11), False, id="eleven numbers"),
        pytest.param("fluency", range(10), True, id="ten numbers"),
        pytest.param("fluency", [n / 2 for n in range(11)], True, id="halves"),
        pytest.param("fluency", [*range(10), 9], True, id="one of them twice"),
        pytest.param("score", range(11), True, id="a telling name"),
    ],
)
def test_whole_numbers_of_single_rows_may_be_identifiers(name, values, may_be):
    assert (reward_of(column(name, values)).best < RewardName.NEVER) is may_be


@pytest.mark.parametrize(
    ("name", "values", "may_be_count"),
    [
        ("passed", [2, 0], True),
        ("passed", [1, 0], False),
        ("passed", [1.5, 3], False),
        ("score", [2, 0], False),
    ],
)
def test_whole_numbers_may_count_what_passed(name, values, may_be_count):
    candidate = only(name, values)
    assert candidate.may_be_count is may_be_count
    assert candidate.speaks_for_itself is not may_be_count


def test_booleans_are_verdicts_and_numbers_are_not():
    assert only("ok", [True, False]).is_verdict
    assert not only("ok", [True, 0]).is_verdict


def test_quotients_are_asked_about():
    assert reward_of(column("score", ["7/10", "9/10"])).chosen is None


@pytest.mark.parametrize(
    ("values", "sentinel"),
    [
        ([-1, 0, 0.5, -1], Sentinel(value=-1, count=2)),
        ([-999, 0, 1], Sentinel(value=-999, count=1)),
        ([-9, 3, 4], Sentinel(value=-9, count=1)),
        ([-99, 3, 4], Sentinel(value=-99, count=1)),
        ([-9999, 3, 4], Sentinel(value=-9999, count=1)),
        ([-1, -0.5, 1], None),
        ([-2, 0, 1], None),
        ([99, 19, 1], Sentinel(value=99, count=1)),
        ([99, 20, 1], None),
        ([999, 20, 1], Sentinel(value=999, count=1)),
        ([9999, 20, 1], Sentinel(value=9999, count=1)),
        ([99999, 20, 1], Sentinel(value=99999, count=1)),
        ([999, 200, 1], None),
        ([998, 1, 1], None),
        ([99, 99], None),
    ],
)
def test_a_number_far_from_the_others_may_mean_not_judged(values, sentinel):
    assert only("score", values).sentinel == sentinel


def test_words_have_no_sentinel():
    assert only("verdict", ["pass", "fail"]).sentinel is None


# -- words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "points"),
    [
        ("verdict", ["Pass", "fail"], {"Pass": 1, "fail": 0}),
        ("verdict", ["pass", None, "n/a"], {"n/a": None, "pass": 1}),
        ("verdict", ["fail", "meh"], {"fail": 0, "meh": OPEN}),
        ("verdict", ["yes", True, "no"], {"no": 0, "true": 1, "yes": 1}),
        ("failed", ["yes", "no"], {"no": 1, "yes": 0}),
        ("failed", ["passed", "yes"], {"passed": 1, "yes": 0}),
        ("failed", ["yes", "n/a"], {"n/a": None, "yes": 0}),
        ("grade", ["C", "I"], {"C": 1, "I": 0}),
        ("grade", ["A", "B", "C"], {"A": OPEN, "B": OPEN, "C": OPEN}),
        ("grade", ["A", "C", "fail"], {"A": OPEN, "C": OPEN, "fail": 0}),
        ("grade", ["C", "unclear"], {"C": 1, "unclear": OPEN}),
    ],
)
def test_what_the_words_of_a_field_are_worth(name, values, points):
    assert only(name, values).points == points


def test_the_worth_of_each_row_is_that_of_its_word():
    assert only("verdict", ["pass", None, "fail"]).values == [1, None, 0]


@pytest.mark.parametrize(("count", "may_be"), [(10, True), (11, False)])
def test_ten_words_may_be_verdicts(count, may_be):
    words = ["pass", *(f"w{n}" for n in range(count - 1))]
    assert bool(reward_of(column("verdict", words)).chosen) is may_be


@pytest.mark.parametrize(("length", "may_be"), [(40, True), (41, False)])
def test_words_of_forty_characters_may_be_verdicts(length, may_be):
    words = ["pass", "x" * length]
    assert bool(reward_of(column("verdict", words)).chosen) is may_be


def test_unknown_words_twice_each_may_be_verdicts():
    assert reward_of(column("verdict", ["meh", "hm", "meh", "hm"])).chosen is not None
    assert reward_of(column("verdict", ["meh", "hm", "meh"])).chosen is None


def test_unknown_words_without_a_telling_name_are_none():
    assert reward_of(column("quality", ["meh", "hm"] * 2)).chosen is None


def test_words_of_one_worth_are_constant():
    assert only("verdict", ["pass", "yes", "n/a"]).is_constant
    assert not only("verdict", ["pass", "meh"]).is_constant


@pytest.mark.parametrize(
    ("name", "values", "chosen"),
    [
        pytest.param("status", ["success", "failed"], False, id="statuses"),
        pytest.param("status", ["passed", "failed"], True, id="verdicts"),
        pytest.param("state", ["passed", "error", "failed"], True, id="and errors"),
        pytest.param("flag", ["success", "failed"], False, id="statuses by any name"),
        pytest.param("result", ["success", "failed"], True, id="a telling name"),
        pytest.param("flag", ["passed", "failed"], True, id="verdicts by any name"),
    ],
)
def test_words_that_say_how_a_run_went_are_no_reward(name, values, chosen):
    assert (reward_of(column(name, values)).chosen is not None) is chosen


def test_words_that_say_how_a_run_went_are_asked_about_where_nothing_varies():
    choice = reward_of(column("status", ["success", "failed"]))
    assert choice.question == "status (success, failed)?"


def test_the_name_of_an_agent_is_no_verdict():
    assert reward_of(column("model", ["yes", "no"])).candidates == ()


# -- lists -------------------------------------------------------------------------------------


def test_lists_of_words_are_worth_what_their_words_are():
    candidate = only("verdicts", [["pass", "fail"], None, ["n/a", "pass"]])
    assert candidate.values == [[1, 0], None, [None, 1]]
    assert candidate.points == {"fail": 0, "n/a": None, "pass": 1}


def test_lists_of_words_of_several_lengths_may_be_parts():
    assert only("verdicts", [["pass", "fail"], ["pass"]]).may_be_parts
    assert not only("verdicts", [["pass", "fail"], ["pass", "pass"]]).may_be_parts


@pytest.mark.parametrize(
    ("values", "may_be_parts"),
    [
        ([[1, 0], [0, 0]], False),
        ([[1, 0], [0, None]], False),
        ([[1, 0], [0]], True),
        ([[0.5], [0.25]], False),
        ([[0.5, 1], [0.25, 1]], True),
    ],
)
def test_lists_of_several_lengths_or_grades_may_be_parts(values, may_be_parts):
    assert only("scores", values).may_be_parts is may_be_parts


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("embedding", [[0.5, 1], [0, 1]], id="an embedding"),
        pytest.param("tags", [["a", "b"], ["c", "d"]], id="texts"),
        pytest.param("scores", [[1, "a"], [0, "b"]], id="numbers and texts"),
        pytest.param("scores", [[None], [None]], id="nothing"),
        pytest.param("tokens", [[True, False], [True, True]], id="a count by its name"),
    ],
)
def test_other_lists_are_no_rewards(name, values):
    assert reward_of(column(name, values)).candidates == ()
    assert reward_of(column(name, values)).chosen is None


def test_lists_of_booleans_may_be_rewards_by_any_name():
    assert only("checks", [[True, False], [True, True]]).path == "checks"


def test_lists_of_one_value_are_constant():
    assert only("scores", [[1, 1], [1, 1]]).is_constant
    assert not only("scores", [[1, 1], [1, 0]]).is_constant


def test_a_list_that_may_be_of_parts_gives_way_to_their_mean():
    rows = [{"scores": [n, n / 2], "score": 0.75 * n} for n in range(4)]
    assert reward_of(rows).chosen.path == "score"


def test_a_mean_is_that_of_a_list_to_three_digits():
    def rows(off):
        lists = ([1, 0], [1, 1], [0, 0])
        return [{"verdicts": v, "mean_score": sum(v) / 2 + off} for v in lists]

    assert reward_of(rows(0.0009)).chosen.path == "verdicts"
    assert reward_of(rows(0.0011)).chosen is None


# -- the choice --------------------------------------------------------------------------------


def test_a_field_that_is_taken_is_no_reward():
    rows = [{"score": n / 8, "rating": n / 4} for n in range(4)]
    assert reward_of(rows, {"rating"}).chosen.path == "score"


def test_a_telling_name_beats_others_and_the_others_are_shown():
    rows = [
        {"a": n / 8, "b": n / 9, "score": n / 4, "c": n / 7, "d": n / 6}
        for n in range(4)
    ]
    choice = reward_of(rows)
    assert choice.reason == "reward: score (0..0.75), by its name; or a, b, c"


def test_the_only_number_in_the_unit_range_is_chosen_by_its_values():
    rows = [{"a": n / 8, "b": n * 2} for n in range(4)]
    assert reward_of(rows).reason == "reward: a (0..0.375), by its values; or b"


def test_a_number_of_any_size_without_a_telling_name_is_asked_about():
    choice = reward_of(column("level_of_it", [1, 5]))
    assert choice.chosen is None
    choice = reward_of(column("fluency", [1, 5]))
    assert choice.reason == "reward: not clear, fluency (1..5)?"


def test_the_verdict_is_asked_about_first():
    rows = [{"score": n / 8, "passed": n > 2, "a": n / 9} for n in range(4)]
    assert reward_of(rows).question == ("passed (0/1, 25 % are 1) or score (0..0.375)?")


def test_four_candidates_are_shown_and_more_are_counted():
    rows = [{f"score{n}x": (k + n) / 16 for n in range(6)} for k in range(4)]
    assert reward_of(rows).question == (
        "score0x (0..0.1875) or score1x (0.0625..0.25) or score2x (0.125..0.3125) or "
        "score3x (0.1875..0.375), or one of 2 more?"
    )


def test_a_constant_verdict_is_as_likely_as_a_number_without_a_name():
    rows = [{"correct": True, "fluency": n / 8} for n in range(4)]
    assert reward_of(rows).question == ("correct (always 1) or fluency (0..0.375)?")


def test_a_constant_number_without_a_name_is_not():
    rows = [{"width": 1, "fluency": n / 8} for n in range(4)]
    assert reward_of(rows).chosen.path == "fluency"


def test_a_number_that_three_of_ten_rows_lack_is_chosen():
    values = [n / 8 for n in range(7)] + [None] * 3
    assert reward_of(column("score", values)).chosen is not None
    values = [n / 8 for n in range(6)] + [None] * 4
    assert reward_of(column("score", values)).chosen is None


def test_words_that_few_rows_have_are_chosen():
    values = ["pass", "fail", None, None, None]
    assert reward_of(column("verdict", values)).chosen is not None


def test_equal_fields_are_one_reward():
    rows = [{"score": n % 2, "accuracy": n % 2} for n in range(4)]
    choice = reward_of(rows)
    assert (choice.chosen.path, choice.candidates) == ("score", ())


def test_a_field_after_equal_ones_is_another_reward():
    rows = [{"score": n % 2, "accuracy": n % 2, "rating": n / 8} for n in range(4)]
    assert reward_of(rows).question == ("score (0/1, 50 % are 1) or rating (0..0.375)?")


@pytest.mark.parametrize(
    ("name", "values", "has_direction"),
    [
        ("score", [0, 1], True),
        ("wer", [0, 1], False),
        ("fluency", [0, 1], False),
        ("flag", ["passed", "failed"], True),
        ("failed", ["yes", "no"], True),
    ],
)
def test_which_way_is_better_is_said_by_a_name_or_by_words(name, values, has_direction):
    assert only(name, values).has_direction is has_direction


def test_a_candidate_is_found_by_its_path():
    choice = reward_of([{"score": n / 8, "fluency": n / 4} for n in range(4)])
    assert choice.at("score") is choice.chosen
    assert choice.at("fluency") is choice.candidates[0]
    assert choice.at("tone") is None
    assert RewardChoice(None, choice.candidates).at("fluency") is choice.candidates[0]


# -- what speaks against a score ---------------------------------------------------------------


def test_a_score_of_points_that_vary_is_asked_about():
    rows = [{"score": n, "max_score": 4 + n % 2} for n in range(4)]
    assert reward_of(rows).question.startswith(
        "score (of max_score, which varies: write their quotient)"
    )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"score": n, "max_score": 4} for n in range(4)], id="the same"),
        pytest.param(
            [{"score": n, "max_score": n / 2} for n in range(4)], id="less than it"
        ),
        pytest.param(
            [{"score": n / 8, "max_score": n + 2} for n in range(4)], id="a rate"
        ),
        pytest.param(
            [{"score": n, "of": {"max_score": n + 2}} for n in range(4)], id="elsewhere"
        ),
        pytest.param(
            [{"score": n, "max_tokens": n + 2} for n in range(4)], id="of tokens"
        ),
        pytest.param(
            [{"score": n > 1, "max_score": n + 2} for n in range(4)], id="a verdict"
        ),
        pytest.param(
            [{"score": n, "max_score": f"{n + 2} points"} for n in range(4)], id="texts"
        ),
    ],
)
def test_a_score_beside_another_maximum_is_not(rows):
    assert "which varies" not in reward_of(rows).question
    assert reward_of(rows).chosen.path == "score"


def test_points_may_be_as_many_as_there_are():
    rows = [{"run": {"score": n, "max_score": n + n % 2}} for n in range(4)]
    assert "of run.max_score, which varies" in reward_of(rows).question


def test_a_score_whose_direction_varies_is_asked_about():
    rows = [{"score": n / 8, "lower_is_better": n > 1} for n in range(4)]
    assert reward_of(rows).question == (
        "score (better as lower_is_better says, which varies: select rows with where:) or "
        "lower_is_better (0/1, 50 % are 1)?"
    )


def test_a_score_in_an_object_whose_direction_varies_is_asked_about():
    rows = [{"run": {"score": n / 8, "lower_is_better": n > 1}} for n in range(4)]
    assert "as run.lower_is_better says" in reward_of(rows).question


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param(lambda _: {"lower_is_better": True}, id="the same"),
        pytest.param(lambda n: {"of": {"lower_is_better": n > 1}}, id="elsewhere"),
    ],
)
def test_a_score_of_one_direction_is_not(beside):
    rows = [{"score": n / 8, **beside(n)} for n in range(4)]
    assert reward_of(rows).chosen.path == "score"


@pytest.mark.parametrize(
    ("score", "beside"),
    [
        pytest.param(lambda n: n / 8, {"stderr": "x"}, id="a text"),
        pytest.param(lambda n: n, {"stderr": 0.1}, id="whole scores"),
        pytest.param(lambda n: n > 1, {"stderr": 0.1}, id="verdicts"),
        pytest.param(lambda n: n / 8, {"n_samples": 1}, id="of one task"),
        pytest.param(lambda n: n / 8, {"n_samples": 1.5}, id="no number of tasks"),
        pytest.param(lambda n: n / 8, {"samples": 9}, id="no count"),
    ],
)
def test_a_score_beside_something_else_is_no_mean(score, beside):
    rows = [{"score": score(n), **beside} for n in range(1, 5)]
    assert reward_of(rows).chosen.path == "score"


@pytest.mark.parametrize(("given", "is_mean"), [(7, True), (6, False)])
def test_seven_of_ten_rows_have_the_number_of_tasks_of_a_mean(given, is_mean):
    rows = [{"score": n / 16, "n_samples": 2 if n < given else None} for n in range(10)]
    assert (reward_of(rows).chosen is None) is is_mean


# -- attempts side by side ---------------------------------------------------------------------


def test_attempts_side_by_side_are_asked_about():
    rows = [{"run1": n % 2, "run2": n // 2 % 2, "score": n % 2} for n in range(4)]
    assert attempts_side_by_side(seen_columns(rows)) == ("run1", "run2")


def test_the_question_joins_the_attempts():
    choice = reward_of([{"run1": n % 2, "run2": n // 2 % 2} for n in range(4)])
    assert choice.chosen is None
    assert choice.question == (
        "{attempts: [run1, run2]} if they are attempts at each task, or one of them?"
    )


def test_an_attempt_that_is_likeliest_is_asked_about_first():
    rows = [{"score_1": n / 8, "score_2": n * 1.0} for n in range(4)]
    choice = reward_of(rows)
    assert {c.path for c in choice.candidates} == {"score_1", "score_2"}
    assert choice.attempts == ("score_1", "score_2")


def test_a_reward_beside_attempts_is_chosen():
    rows = [{"run1": n * 3, "run2": n * 2, "score": n / 8} for n in range(4)]
    choice = reward_of(rows)
    assert choice.chosen.path == "score"
    assert choice.attempts == ()


@pytest.mark.parametrize(
    ("row", "attempts"),
    [
        pytest.param({"run1": 1}, (), id="one attempt"),
        pytest.param({"run1": 1, "trial1": 0}, (), id="two names"),
        pytest.param({"run1": "a", "run2": "b"}, (), id="texts"),
        pytest.param({"run1": 2e9, "run2": 2e9}, (), id="times"),
        pytest.param({"run1": "pass", "run2": "ok"}, ("run1", "run2"), id="words"),
        pytest.param(
            {"run1": 1, "run2": 0, "run3": 1, "seed1": 1, "seed2": 1},
            ("run1", "run2", "run3"),
            id="the most",
        ),
    ],
)
def test_numbers_and_verdicts_by_numbered_names_are_attempts(row, attempts):
    assert attempts_side_by_side(seen_columns([row, row])) == attempts


# -- hints -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "question"),
    [
        (
            ['{"ok": true}', '{"ok": false}'],
            "verdict holds JSON as text: write what it holds as fields",
        ),
        (
            ["7 or 8", "9 or so"],
            "verdict holds texts such as '7 or 8': write them as numbers",
        ),
        (
            ["x" * 40, "zz"],
            f"verdict holds texts such as '{'x' * 40}': write them as numbers",
        ),
        (["x" * 41, "zz"], "no field looks like a reward: name its path"),
    ],
)
def test_texts_that_may_hold_the_reward_are_named(values, question):
    rows = [{"note": "so", "verdict": value} for value in values]
    assert reward_of(rows).question == question


def test_texts_of_a_field_that_is_taken_or_of_no_score_are_not():
    rows = column("verdict", ["7 or 8", "9 or so"])
    nothing = "no field looks like a reward: name its path"
    assert reward_of(rows, {"verdict"}).question == nothing
    assert reward_of(column("note", ["7 or 8", "9 or so"])).question == nothing
