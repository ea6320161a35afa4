"""The ruler of a benchmark: what measures it, described without secrets."""

import re
from types import SimpleNamespace

import pytest
from stages.making import benchmark

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.model.changes import SettingChange, UnderTestChanged
from pytest_evalmetrics.model.gate_notes import UnannouncedCode
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.measurement import (
    _answering_models,
    _flat,
    _of_judges,
    differing_keys,
    measurement_of,
    shown_setting,
    stated_by,
    unannounced_change,
    under_test_change,
    under_test_of,
)
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

offer_scorers()


def hide(text):
    return text.replace("s3cr3t", "***")


def asked(folder, text):
    path = folder / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (read,) = load_benchmarks(path, shown="a.bench.yaml")
    return read


def recorded(folder, keys="", bound=(), **settings):
    """Describe what measures recorded rollouts."""
    read = benchmark(folder, f"metrics: [mean_reward]\nbaseline: true\n{keys}")
    given = {"tools": {}, "hook": "", "hide": hide, **settings}
    return measurement_of(read.spec, plan_of(read), bound, **given)


# -- the reward ------------------------------------------------------------------------------


def test_a_reward_is_described_by_its_score_and_what_a_pass_is(tmp_path):
    keys = "pass_threshold: 0.5\npass_estimator: first_k"
    assert recorded(tmp_path, keys) == {
        "reward": {
            "score": "reward",
            "pass_threshold": 0.5,
            "pass_estimator": "first_k",
        }
    }


def rows_with(folder, rows):
    text = f"""\
benchmark:
  name: a
  rollouts: {rows}
  metrics: [mean_reward]
"""
    read = asked(folder, text)
    ruler = measurement_of(read.spec, plan_of(read), [], {}, hook="", hide=hide)
    return ruler["reward"]


def test_where_the_files_hold_the_reward_is_a_part_of_it(tmp_path):
    fields = "{task: id, reward: grade, scores: {tone: a.tone, kind: kind}}"
    reward = rows_with(tmp_path, f"{{path: x.jsonl, fields: {fields}}}")
    assert reward["fields: reward"] == "grade"
    assert reward["fields: tone"] == "a.tone"
    assert "fields: kind" not in reward


def test_which_rows_count_is_a_part_of_the_reward(tmp_path):
    reward = rows_with(
        tmp_path, "{path: x.jsonl, fields: {task: id}, where: {split: s3cr3t}}"
    )
    assert reward["where"] == '{"split":["***"]}'
    assert "pivot" not in reward


def test_a_hook_is_described_by_its_source(tmp_path):
    assert recorded(tmp_path, hook="abc")["hook compute_metrics"] == {"source": "abc"}


def test_a_metric_that_the_file_defines_is_described_as_it_is_written(tmp_path):
    defined = "{vote: {type: majority_vote, answer: said, k: 3}}"
    read = benchmark(tmp_path, f"metrics: [{defined}]\nbaseline: {{direction: higher}}")
    ruler = measurement_of(read.spec, plan_of(read), [], {}, hook="", hide=hide)
    assert ruler["metric vote"]["type"] == "majority_vote"
    assert ruler["metric vote"]["answer"] == "said"


# -- tools -----------------------------------------------------------------------------------

TOOLS = {
    "lm_eval": {
        "scores": ["acc", "f1"],
        "version": ["0.4", "0.5"],
        "api key": ["x"],
        "note": ["s3cr3t"],
    }
}
STATED = {"scores": ["acc", "f1"], "version": "0.4, 0.5", "note": "***"}


def test_what_tools_state_is_kept_without_keys(tmp_path):
    assert recorded(tmp_path, tools=TOOLS)["tool lm_eval"] == STATED


def stating(**entries):
    return SimpleNamespace(ruler={"lm_eval": entries})


def test_tools_of_other_rollouts_are_gathered_from_all_their_tables():
    tables = [
        stating(version=["0.4"], scores=["acc"]),
        stating(version=["0.5", "0.4"]),
    ]
    ruler = {"reward": {"score": "reward"}, "tool lm_eval": {"version": "0.6"}}
    assert stated_by(ruler, tables, hide) == {
        "reward": {"score": "reward"},
        "tool lm_eval": {"version": "0.4, 0.5", "scores": ["acc"]},
    }


@pytest.mark.parametrize(
    ("ruler", "tables"),
    [
        ({"tool lm_eval": {"version": "0.6"}}, []),
        ({"reward": {}}, [stating(version=["0.4"])]),
        ({"reward": {}, "tool reference": {}}, [stating(version=["0.4"])]),
    ],
    ids=["no tool before", "no tool now", "the pinned system is no tool"],
)
def test_tools_that_one_side_alone_states_say_nothing(ruler, tables):
    assert stated_by(ruler, tables, hide) is None


# -- models that answer ----------------------------------------------------------------------


def judging(scores, name, answers):
    """Make a scorer of one judge whose answers name such models."""
    spending = SimpleNamespace(names=set(answers))
    model = SimpleNamespace(
        name=name, spending=spending, inference={}, system_prompt=None, end_token=None
    )
    judge = SimpleNamespace(model=model, versions={})
    return SimpleNamespace(type="llm-judge", scores=scores, judges=(judge,))


def test_the_models_that_answer_are_kept_with_the_scores_that_they_give():
    bound = [
        judging(("tone",), "gpt", ["gpt-2", "gpt-1"]),
        judging(("kind",), "gpt", ["s3cr3t"]),
        judging(("other",), "silent", []),
    ]
    assert _answering_models(bound, hide) == {
        "answers of gpt": {
            "scores": ["kind", "tone"],
            "model": ["***", "gpt-1", "gpt-2"],
        }
    }


# -- the system under test -------------------------------------------------------------------

ONLINE = """\
benchmark:
  name: a
  dataset: {path: x.jsonl, fields: {task: id}}
  model: MODEL
  prompt_template: "{{ question }}"
  params: PARAMS
  scorers: [{type: exact-match, reference: "{{ item.reference }}"}]
  metrics: [mean_reward]
"""


def under_test(folder, model="{url: 'http://h/v1', name: m}", params="{}"):
    text = ONLINE.replace("MODEL", model).replace("PARAMS", params)
    return under_test_of(asked(folder, text), hide)


def test_a_model_is_described_by_its_name_and_its_prompt(tmp_path):
    assert under_test(tmp_path) == {
        "model": "m",
        "prompt_template": "{{ question }}",
    }


def test_where_a_model_is_served_and_how_it_is_paid_is_no_part_of_it(tmp_path):
    model = "{url: 'http://h/v1', name: m, api_key_secret: K, timeout_seconds: 3}"
    assert under_test(tmp_path, model) == under_test(tmp_path)


def test_settings_of_the_model_win_over_those_of_the_benchmark(tmp_path):
    settings = under_test(
        tmp_path,
        model="{url: 'http://h/v1', name: m, inference: {temperature: 0.5}}",
        params="{inference: {temperature: 1.0, max_tokens: 9}, system_prompt: 'Be s3cr3t.'}",
    )
    assert settings["temperature"] == 0.5
    assert settings["max_tokens"] == 9
    assert settings["system_prompt"] == "Be ***."


def test_recorded_rollouts_have_nothing_under_test(tmp_path):
    assert under_test_of(benchmark(tmp_path, "metrics: [mean_reward]"), hide) == {}


def test_a_long_text_is_its_beginning_and_a_digest(tmp_path):
    text = ONLINE.replace("MODEL", "{url: 'http://h/v1', name: m}").replace(
        "PARAMS", "{}"
    )
    long = "Answer in one word, and give no reason.\\n" * 2
    settings = under_test_of(
        asked(tmp_path, text.replace("{{ question }}", f"{long}{{{{ question }}}}")),
        hide,
    )
    shown = settings["prompt_template"]
    assert re.fullmatch(
        r"Answer in one word, and give no\.\.\. \([0-9a-f]{12}\)", shown
    )


@pytest.mark.parametrize(("length", "is_whole"), [(60, True), (61, False)])
def test_sixty_characters_are_written_out(tmp_path, length, is_whole):
    params = f"{{system_prompt: '{'a' * length}'}}"
    shown = under_test(tmp_path, params=params)["system_prompt"]
    assert (shown == "a" * length) is is_whole


# -- changes of it ---------------------------------------------------------------------------


def test_what_is_under_test_changes_by_its_settings():
    before = {"model": "m1", "temperature": 0.5, "target source": "a"}
    now = {"model": "m2", "stream": True, "temperature": 0.5, "target source": "a"}
    assert under_test_change(before, now) == UnderTestChanged(
        (
            SettingChange(key="model", before="m1", now="m2"),
            SettingChange(key="stream", before="none", now="true"),
        )
    )


def test_a_setting_that_is_gone_is_a_change():
    change = under_test_change(
        {"target source": "a", "seed": 1}, {"target source": "a"}
    )
    assert change == UnderTestChanged(
        (SettingChange(key="seed", before="1", now="none"),)
    )


def test_the_same_system_is_no_change():
    assert under_test_change({"model": "m"}, {"model": "m"}) is None


def test_an_older_baseline_without_a_source_is_no_change():
    assert (
        under_test_change({"model": "m"}, {"model": "m", "target source": "b"}) is None
    )


def test_another_source_is_a_change():
    change = under_test_change({"target source": "a"}, {"target source": "b"})
    assert change == UnderTestChanged(
        (SettingChange(key="target source", before="a", now="b"),)
    )


@pytest.mark.parametrize(
    ("before", "now", "note"),
    [
        (
            {"target version": 2, "target source": "a"},
            {"target version": 2, "target source": "b"},
            UnannouncedCode("2"),
        ),
        (
            {"target version": 1, "target source": "a"},
            {"target version": 2, "target source": "b"},
            None,
        ),
        (
            {"target version": 2, "target source": "a"},
            {"target version": 2, "target source": "a"},
            None,
        ),
        ({"target version": 2}, {"target version": 2, "target source": "b"}, None),
        ({"target source": "a"}, {"target source": "b"}, None),
    ],
    ids=[
        "the same version",
        "another version",
        "the same code",
        "an older baseline",
        "no version",
    ],
)
def test_code_that_changed_under_the_same_version_is_noted(before, now, note):
    assert unannounced_change(before, now) == note


def test_keys_that_differ_are_those_of_now_and_then_those_that_are_gone():
    before = {"gone": 1, "same": 2, "other": 3}
    now = {"new": 1, "same": 2, "other": 4}
    assert list(differing_keys(before, now)) == ["new", "other", "gone"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (1.5, "1.5"), (["a", 2], "a, 2"), ("A", "A")],
)
def test_a_setting_is_written_as_in_the_file(value, text):
    assert shown_setting(value) == text


# -- judges ----------------------------------------------------------------------------------


def asking(name, **settings):
    """Make a judge's model with some settings."""
    known = {"inference": {}, "system_prompt": None, "end_token": None, **settings}
    versions = known.pop("versions", {})
    return SimpleNamespace(model=SimpleNamespace(name=name, **known), versions=versions)


def judged_by(*judges):
    return dict(_of_judges(SimpleNamespace(judges=judges)))


def test_a_judge_is_described_by_all_that_shapes_its_answers():
    judge = asking(
        "j",
        inference={"temperature": 0.5},
        system_prompt="Be fair.",
        end_token="<end>",  # noqa: S106 - no password
        versions={"rubric": "7"},
    )
    assert judged_by(judge) == {
        "judge": "j",
        "judge rubric": "7",
        "judge temperature": 0.5,
        "judge system_prompt": "Be fair.",
        "judge end_token": "<end>",
    }


def test_what_a_judge_leaves_to_its_default_is_not_described():
    assert judged_by(asking("j")) == {"judge": "j"}


def test_judges_of_a_panel_are_numbered():
    assert judged_by(asking("j"), asking("k")) == {"judge 1": "j", "judge 2": "k"}


# -- nested settings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        ({"parser": {"json_path": "$.a"}}, {"parser json_path": "$.a"}),
        ({"url": "https://h.example/v1?x=1"}, {"url": "h.example/v1"}),
        ({"url": "http://localhost:8000/v1"}, {"url": "/v1"}),
        ({"url": "http://127.0.0.1:1/v1"}, {"url": "/v1"}),
        ({"url": "http://[::1]:1/v1"}, {"url": "/v1"}),
        ({"url": 5}, {"url": 5}),
        ({"api_key": "x", "Authorization": "y", "key": "z", "keys": 1}, {"keys": 1}),
        ({"max_tokens": 9, "token": "x"}, {"max_tokens": 9}),
        ({"headers": {"x-secret": "x", "accept": "y"}}, {"headers accept": "y"}),
    ],
)
def test_settings_are_taken_apart_without_keys_and_ports(value, flat):
    assert dict(_flat("", value)) == flat


def test_a_setting_of_its_own_has_its_name():
    assert dict(_flat("prompt", "Why?")) == {"prompt": "Why?"}
