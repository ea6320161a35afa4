"""What is taken from a log of inspect_ai: whole rollouts, and its own numbers beside them."""

import io
import json
import math
import zipfile

import pytest
from rollouts.loaded import load_with

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_notes import (
    AggregatesAlone,
    OtherNumberStated,
    OtherReducers,
    UnfinishedRun,
)
from pytest_evalmetrics.rollouts.loaders.inspect_ai import InspectAi
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import Rollout, aggregate

EVAL = {"task": "arith", "model": "mock/m"}


def log_of(samples, **more):
    spec = {**EVAL, **more.pop("eval", {})}
    document = {"version": 2, "status": "success", "eval": spec, **more}
    if samples is not None:
        document["samples"] = samples
    return document


def load(folder, samples, *, fields=None, **more):
    folder.json(log_of(samples, **more), "log.json")
    return load_with(InspectAi, folder, "log.json", **(fields or {}))


def refused(folder, samples, **more):
    folder.json(log_of(samples, **more), "log.json")
    with pytest.raises(DataError) as caught:
        load_with(InspectAi, folder, "log.json")
    return caught.value


def sample(id_="a", value="C", **more):
    return {"id": id_, "epoch": 1, "scores": {"match": {"value": value}}, **more}


def only(folder, **more):
    (rollout,) = load(folder, [sample(**more)]).rollouts
    return rollout


def other_number(claim, stated, computed):
    return OtherNumberStated(
        file="log.json", claim=claim, stated=stated, computed=computed
    )


# -- a sample ----------------------------------------------------------------------------------


def test_a_sample_of_inspect(folder):
    one = sample(
        7,
        epoch=3,
        input="1 + 1?",
        target="2",
        model_usage={"mock/m": {"input_tokens": 5, "output_tokens": 2}},
        total_time=1.5,
        started_at="2026-08-25T03:00:01+00:00",
        uuid="u1",
        metadata={"level": 3},
    )
    loaded = load(folder, [one])
    assert loaded.rollouts == [
        Rollout(
            record={key: value for key, value in one.items() if key != "metadata"},
            name="log.json, sample 7, epoch 3",
            task=7,
            sample=2,
            agent="mock/m",
            scores={"match": 1},
            usage={"latency_s": 1.5, "prompt_tokens": 5, "completion_tokens": 2},
            started=1787626801.0,
            content=["1 + 1?", "2"],
            record_id="u1",
        )
    ]
    assert loaded.positional
    assert loaded.directions == {"match": "higher"}
    assert loaded.notes == []


def test_a_sample_of_inspect_is_kept_whole_where_a_field_is_named(folder):
    fields = {"scores": {"level": "metadata.level"}}
    one = sample(metadata={"level": 3}, attachments={})
    (rollout,) = load(folder, [one], fields=fields).rollouts
    assert rollout.record == one


def test_samples_of_inspect_with_names_are_no_positions(folder):
    assert not load(folder, [sample(1), sample("b")]).positional


def test_the_epoch_of_inspect_is_the_first_by_default(folder):
    one = sample()
    del one["epoch"]
    assert load(folder, [one]).rollouts[0].sample == 0


def test_the_time_of_a_sample_of_inspect_is_that_between_its_times(folder):
    rollout = only(
        folder,
        started_at="2026-08-25T03:00:01+00:00",
        completed_at="2026-08-25T03:00:03+00:00",
    )
    assert rollout.usage == {"latency_s": 2.0}


@pytest.mark.parametrize(
    ("spec", "agent"),
    [
        ({"model": "org/m", "solver": "s"}, "org/m"),
        ({"model": "none/none", "solver": "s"}, "s"),
        ({"model": "none", "solver": "s"}, "s"),
        ({"model": None, "solver": "s"}, "s"),
        ({"model": None}, None),
    ],
)
def test_the_agent_of_a_log_of_inspect(folder, spec, agent):
    assert load(folder, [sample()], eval=spec).rollouts[0].agent == agent


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        ("C", {"match": 1}),
        ("I", {"match": 0}),
        ("P", {"match": 0.5}),
        ("N", {"match": 0}),
        ("YES", {"match": 1}),
        ("no", {"match": 0}),
        ("True", {"match": 1}),
        ("false", {"match": 0}),
        ("0.25", {"match": 0.25}),
        ("blue", {"match": "blue"}),
        (0.5, {"match": 0.5}),
        ({"a": "C", "b": 2}, {"match.a": 1, "match.b": 2}),
        (["I", "x"], {"match.0": 0, "match.1": "x"}),
    ],
)
def test_the_value_of_a_score_of_inspect(folder, value, scores):
    assert only(folder, value=value).scores == scores


@pytest.mark.parametrize(
    ("value", "directions"),
    [
        *(("C", {"match": "higher"}), ("I", {"match": "higher"})),
        *(("P", {"match": "higher"}), ("N", {"match": "higher"})),
        *(("yes", {}), (0.5, {}), ({"a": "C"}, {})),
    ],
)
def test_a_score_of_inspect_by_letter_is_better_when_higher(folder, value, directions):
    assert load(folder, [sample(value=value)]).directions == directions


def test_a_score_of_an_early_inspect(folder):
    one = {"id": 1, "epoch": 1, "score": {"value": "C"}}
    loaded = load(folder, [one], version=1)
    assert loaded.rollouts[0].scores == {"score": 1}
    plain = {"id": 1, "epoch": 1, "score": 0.5, "scores": {"m": 0.25}}
    assert load(folder, [plain]).rollouts[0].scores == {"m": 0.25}


@pytest.mark.parametrize(
    ("input_", "target", "content"),
    [
        ("q", "t", ["q", "t"]),
        ("q", ["t", 5], ["q", "t", "5"]),
        ("q", None, ["q", "None"]),
        (None, "t", None),
        ("q" * 1001, "t" * 1001, ["q" * 1000, "t" * 1000]),
        (
            [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "q"},
                {"role": "user", "content": [{"type": "text", "text": "r"}, "v", {}]},
                "w",
            ],
            "t",
            ["q\nr\nv\nw", "t"],
        ),
    ],
)
def test_the_question_of_a_sample_of_inspect(folder, input_, target, content):
    assert only(folder, input=input_, target=target).content == content


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        ({"input_tokens": 10, "output_tokens": 2}, 10),
        ({"input_tokens": 10, "input_tokens_cache_read": 5}, 15),
        (
            {
                "input_tokens": 10,
                "input_tokens_cache_read": 5,
                "input_tokens_cache_write": 1,
            },
            16,
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 2,
                "total_tokens": 12,
                "input_tokens_cache_read": 5,
            },
            10,
        ),
        (
            {
                "input_tokens": 10,
                "output_tokens": 2,
                "total_tokens": 17,
                "input_tokens_cache_read": 5,
            },
            15,
        ),
        ({"input_tokens": 10, "total_tokens": 10, "input_tokens_cache_read": 5}, 15),
        ({"input_tokens_cache_read": 5}, None),
    ],
)
def test_the_prompt_of_a_model_of_inspect(folder, usage, prompt):
    rollout = only(folder, model_usage={"m": usage})
    assert rollout.usage.get("prompt_tokens") == prompt


def test_attachments_of_a_sample_of_inspect_are_put_back(folder):
    rollout = only(
        folder,
        input=[{"role": "user", "content": "attachment://1"}, "x attachment://1"],
        target=["attachment://2", "attachment://3"],
        attachments={"1": "long question", "2": "long answer"},
    )
    assert rollout.content == [
        "long question\nx attachment://1",
        "long answer",
        "attachment://3",
    ]


# -- samples that nobody judged ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "error", "scores"),
    [
        pytest.param(
            {"invalidation": {"reason": "leaked"}},
            RolloutError("invalidated", "leaked", voids=True),
            {"match": None},
            id="invalid",
        ),
        pytest.param(
            {"invalidation": True},
            RolloutError("invalidated", "", voids=True),
            {"match": None},
            id="invalid without a reason",
        ),
        pytest.param(
            {"error": {"message": "ValueError('no')"}},
            RolloutError("ValueError", "ValueError('no')"),
            {"match": 1},
            id="an error",
        ),
        pytest.param(
            {"error": "TimeoutError: late"},
            RolloutError("TimeoutError", "TimeoutError: late"),
            {"match": 1},
            id="an error as text",
        ),
        pytest.param(
            {"error": {}}, RolloutError("error", ""), {"match": 1}, id="no words"
        ),
        pytest.param({}, None, {"match": 1}, id="none"),
    ],
)
def test_an_error_of_a_sample_of_inspect(folder, more, error, scores):
    rollout = only(folder, **more)
    assert rollout.error == error
    assert rollout.scores == scores


def unscored(**more):
    return {"value": None, **more}


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        pytest.param(
            {"m": unscored(), "k": unscored(reason="failed", explanation="no grade")},
            RolloutError("k was not scored", "failed: no grade", of_grader=True),
            id="two words",
        ),
        pytest.param(
            {"m": unscored(explanation="no grade"), "k": unscored(reason="later")},
            RolloutError("m was not scored", "no grade", of_grader=True),
            id="the first",
        ),
        pytest.param({"m": unscored()}, None, id="none"),
        pytest.param({"m": unscored(reason="x"), "k": 0.5}, None, id="another score"),
        pytest.param(
            {"m": unscored(reason="x"), "k": {"value": "blue"}}, None, id="a text"
        ),
    ],
)
def test_the_words_of_a_scorer_of_inspect(folder, scores, error):
    one = {"id": "a", "epoch": 1, "scores": scores}
    assert load(folder, [one]).rollouts[0].error == error


def test_a_score_of_nan_of_inspect_is_none(folder):
    score = {"value": math.nan, "reason": "failed"}
    one = {"id": "a", "epoch": 1, "scores": {"m": score}}
    (rollout,) = load(folder, [one]).rollouts
    assert rollout.error == RolloutError("m was not scored", "failed", of_grader=True)


@pytest.mark.parametrize(
    ("id_", "epoch"),
    [(None, 1), (True, 1), (1.5, 1), ("a", 0), ("a", True), ("a", "1")],
)
def test_a_sample_of_inspect_without_an_id_or_an_epoch_is_refused(folder, id_, epoch):
    error = refused(folder, [sample(id_, epoch=epoch)])
    assert error.message == (
        f"a sample of this log has the id {id_!r} and the epoch {epoch!r}; expected text or a "
        "whole number, and a whole number from 1"
    )


# -- the plan ----------------------------------------------------------------------------------


def planned(ids, epochs=None):
    return {"dataset": {"sample_ids": ids}, "config": {"epochs": epochs}}


def test_samples_that_were_planned_and_are_not_in_the_log_are_missing(folder):
    loaded = load(
        folder,
        [sample("a")],
        eval=planned(["a", "b", True], 2),
        status="error",
        error={"message": "RuntimeError: no disk"},
    )
    assert [(one.task, one.sample) for one in loaded.rollouts] == [
        *(("a", 0), ("b", 0), ("a", 1), ("b", 1)),
    ]
    assert loaded.rollouts[1] == Rollout(
        record={"id": "b", "epoch": 1},
        name="log.json, sample 'b', epoch 1",
        task="b",
        sample=0,
        agent="mock/m",
        error=RolloutError(
            "planned and not in the log",
            "the eval's status is 'error': RuntimeError: no disk",
        ),
    )
    assert loaded.notes == [UnfinishedRun("log.json", "error")]


@pytest.mark.parametrize("status", [None, "started"])
def test_a_log_of_inspect_without_a_status_was_started(folder, status):
    loaded = load(folder, [sample("a")], eval=planned(["a", "b"]), status=status)
    assert loaded.rollouts[1].error.message == "the eval's status is 'started'"
    assert loaded.notes == [UnfinishedRun("log.json", "started")]


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        pytest.param(planned(["b"]), {}, id="another plan"),
        pytest.param(planned(None), {}, id="no plan"),
        pytest.param(planned(["a", "b"], "two"), {}, id="no number of epochs"),
        pytest.param(
            planned(["a", "b"]),
            {"results": {"early_stopping": {"by": 1}}},
            id="stopped",
        ),
    ],
)
def test_samples_of_inspect_without_a_plan_are_those_of_the_log(folder, spec, more):
    loaded = load(folder, [sample("a")], eval=spec, **more)
    assert [rollout.task for rollout in loaded.rollouts] == ["a"]


def test_a_sample_of_inspect_that_was_run_again_counts_once(folder):
    loaded = load(folder, [sample(value="I"), sample(value="C")])
    assert [rollout.scores for rollout in loaded.rollouts] == [{"match": 1}]


def test_a_plan_of_inspect_of_twenty_million_rollouts_is_the_largest(folder):
    error = refused(folder, [sample("a")], eval=planned(["a", "b"], 10_000_001))
    assert error.message == "this log plans 10,000,001 epochs of 2 samples"


# -- the log -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_log_of_inspect_of_a_known_version(folder, version):
    assert len(load(folder, [sample()], version=version).rollouts) == 1


@pytest.mark.parametrize("version", [4, None])
def test_a_log_of_inspect_of_another_version_is_refused(folder, version):
    error = refused(folder, [sample()], version=version)
    assert error.message == (
        f"this is an inspect_ai log of version {version!r}; known are 1, 2, 3"
    )
    assert error.hint == (
        "update pytest-evalmetrics, or convert it with: inspect log convert"
    )


@pytest.mark.parametrize(
    ("samples", "status"), [([], "success"), (None, "error"), (None, "success")]
)
def test_a_log_of_inspect_without_samples_is_refused(folder, samples, status):
    error = refused(folder, samples, status=status)
    assert error.message == f"this log holds no samples (its status: {status})"
    assert error.hint == (
        "did the run fail? else run it without --no-log-samples, and give the whole log"
    )


def test_logs_of_two_tasks_of_inspect_are_refused(folder):
    folder.json(log_of([sample()]), "1.json")
    folder.json(log_of([sample()], eval={"task": "logic"}), "2.json")
    error = folder.refused("*.json", scores=["reward"])
    assert error.message == (
        "this log is of the inspect task 'logic', and 1.json is of 'arith'"
    )
    assert error.hint == (
        "write one benchmark for each, with paths that tell them apart"
    )


# -- archives ----------------------------------------------------------------------------------


def archive(folder, members, header="header.json", **more):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(header, json.dumps(log_of(None, **more)))
        for name, content in members.items():
            file.writestr(name, json.dumps(content))
    folder.write(packed.getvalue(), "log.eval")


def tasks_of(folder, **fields):
    loaded = load_with(InspectAi, folder, "log.eval", **fields)
    return [(rollout.task, rollout.scores) for rollout in loaded.rollouts]


SUMMARY = {"model_usage": {}, "total_time": 1.0}


@pytest.mark.parametrize("header", ["header.json", "_journal/start.json"])
def test_the_samples_of_an_archive_of_inspect(folder, header):
    members = {
        "samples/a_epoch_1.json": sample("a"),
        "samples/readme.txt": {},
        "other/b.json": sample("b"),
    }
    archive(folder, members, header)
    assert tasks_of(folder) == [("a", {"match": 1})]


@pytest.mark.parametrize(
    ("summaries", "value"),
    [
        pytest.param([sample("a", "I", **SUMMARY)], 0, id="enough"),
        pytest.param([sample("a", "I", total_time=1.0)], 1, id="without usage"),
        pytest.param([sample("a", "I", model_usage={})], 1, id="without a time"),
        pytest.param([], 1, id="too few"),
    ],
)
def test_the_summaries_of_an_archive_of_inspect(folder, summaries, value):
    archive(
        folder,
        {"samples/a_epoch_1.json": sample("a"), "summaries.json": summaries},
    )
    assert tasks_of(folder) == [("a", {"match": value})]


def test_summaries_of_inspect_are_not_read_where_a_field_is_named(folder):
    members = {
        "samples/a_epoch_1.json": sample("a", metadata={"level": 3}),
        "summaries.json": [sample("a", "I", **SUMMARY)],
    }
    archive(folder, members)
    ((task, scores),) = tasks_of(folder, sample="metadata.level")
    assert (task, scores) == ("a", {"match": 1})


def test_summaries_of_inspect_are_not_read_where_the_log_is_invalid(folder):
    members = {
        "samples/a_epoch_1.json": sample("a"),
        "summaries.json": [sample("a", "I", **SUMMARY)],
    }
    archive(folder, members, invalidated=True)
    assert tasks_of(folder) == [("a", {"match": 1})]


def test_attachments_in_an_archive_of_inspect_are_put_back(folder):
    one = sample("a", input="attachment://1", attachments={"1": "long"})
    archive(folder, {"samples/a_epoch_1.json": one})
    (rollout,) = load_with(InspectAi, folder, "log.eval").rollouts
    assert rollout.content == ["long", "None"]


def test_an_archive_of_inspect_without_samples_is_refused_where_it_should_have_some(
    folder,
):
    archive(folder, {}, results={"scores": [stated("match", 0.5)]})
    with pytest.raises(DataError, match="this log holds no samples"):
        load_with(InspectAi, folder, "log.eval")


def test_an_archive_of_inspect_that_was_to_hold_none_gives_its_means(folder):
    scores = [stated("match", 0.5)]
    spec = {"config": {"log_samples": False}}
    archive(folder, {}, results={"scores": scores}, eval=spec)
    assert tasks_of(folder)[0][1]["match"] == 0.5


@pytest.mark.parametrize(
    ("member", "header"),
    [
        pytest.param("samples/b_epoch_1.json", "header.json", id="a sample"),
        pytest.param("header.json", "_journal/start.json", id="the header"),
        pytest.param("summaries.json", "header.json", id="the summaries"),
    ],
)
def test_a_broken_member_of_an_archive_of_inspect_is_named(folder, member, header):
    archive(folder, {"samples/a_epoch_1.json": sample("a")}, header)
    with zipfile.ZipFile(folder.path / "log.eval", "a") as file:
        file.writestr(member, '{"id": ')
    with pytest.raises(DataError) as caught:
        load_with(InspectAi, folder, "log.eval")
    assert caught.value.message.startswith("this looks like an inspect_ai log, and ")
    assert caught.value.file == "log.eval"


def test_another_archive_is_refused(folder):
    archive(folder, {}, header="other.json")
    with pytest.raises(DataError) as caught:
        load_with(InspectAi, folder, "log.eval")
    assert caught.value.message == (
        "this archive is not an inspect_ai log: it has no header.json"
    )


def test_a_cut_archive_of_inspect_is_refused(folder):
    archive(folder, {"samples/a_epoch_1.json": sample("a")})
    whole = (folder.path / "log.eval").read_bytes()
    folder.write(whole[:-30], "log.eval")
    with pytest.raises(DataError) as caught:
        load_with(InspectAi, folder, "log.eval")
    assert caught.value.message == (
        "this looks like an inspect_ai archive, and its end is missing"
    )
    assert caught.value.hint == "was the run, its copy or its download interrupted?"


# -- the log's own numbers ---------------------------------------------------------------------


def stated(scorer, value, metric="accuracy", **more):
    return {
        "name": scorer,
        "scorer": scorer,
        "metrics": {metric: {"value": value}},
        **more,
    }


def epochs_of(task, values):
    return [sample(task, value, epoch=n) for n, value in enumerate(values, 1)]


def notes_of(folder, *scores, tasks=("CCCI", "CIII")):
    samples = [
        one
        for id_, values in zip("ab", tasks, strict=False)
        for one in epochs_of(id_, values)
    ]
    return load(folder, samples, results={"scores": list(scores)}).notes


@pytest.mark.parametrize("metric", ["accuracy", "mean", "inspect_ai/mean"])
def test_a_mean_of_a_log_of_inspect_is_compared(folder, metric):
    assert notes_of(folder, stated("match", 0.5, metric)) == []
    assert notes_of(folder, stated("match", 0.25, metric)) == [
        other_number(f"{metric} of match in the log", 0.25, 0.5)
    ]


def test_other_metrics_of_a_log_of_inspect_are_not(folder):
    assert notes_of(folder, stated("match", 0.25, "stderr")) == []


def test_a_mean_over_the_samples_of_inspect_as_they_are_is_right_too(folder):
    tasks = ("CC", "I")  # 1/2 over tasks, 2/3 over samples
    assert notes_of(folder, stated("match", 2 / 3), tasks=tasks) == []
    assert notes_of(folder, stated("match", 0.5), tasks=tasks) == []
    note = notes_of(folder, stated("match", 2 / 3, reducer="mean"), tasks=tasks)
    assert note == [other_number("accuracy of match in the log", 2 / 3, 0.5)]


@pytest.mark.parametrize(
    ("reducer", "value"),
    [
        ("median", 0.5),  # of 1 1 1 0 and 1 0 0 0: 1 and 0
        ("max", 1.0),
        ("at_least_1", 1.0),
        ("at_least_2", 0.5),
        ("pass_at_1", 0.5),
        ("pass_at_2", 0.75),  # 1 - 0 / 6 and 1 - 3 / 6
        ("pass_at_5", None),
        ("mode", None),
        ("at_least_02", None),
    ],
)
def test_epochs_of_inspect_by_another_reducer_are_noted(folder, reducer, value):
    wrong = 0.125
    reduced = OtherReducers("match", (reducer,))
    notes = notes_of(folder, stated("match", wrong, reducer=reducer))
    if value is None:
        assert notes == [reduced]
    else:
        claim = "accuracy of match in the log"
        assert notes == [other_number(claim, wrong, value), reduced]


def test_epochs_of_inspect_by_the_mean_as_well_are_not_noted(folder):
    both = (stated("match", 1.0, reducer="max"), stated("match", 0.5, reducer="mean"))
    assert notes_of(folder, *both) == []
    assert notes_of(folder, stated("match", 1.0, reducer="max"), tasks=("C", "C")) == []


def test_reducers_of_inspect_are_noted_in_order(folder):
    both = (
        stated("match", 1.0, reducer="max"),
        stated("match", 0.5, reducer="at_least_2"),
    )
    assert notes_of(folder, *both) == [OtherReducers("match", ("at_least_2", "max"))]


def test_the_scores_of_an_object_of_inspect_are_compared_by_their_names(folder):
    one = sample(value={"tone": 1.0})
    scores = [{"name": "tone", "scorer": "match", "metrics": {"mean": {"value": 0.5}}}]
    assert load(folder, [one], results={"scores": scores}).notes == [
        other_number("mean of match.tone in the log", 0.5, 1.0)
    ]


def test_the_mean_of_an_early_log_of_inspect_is_compared(folder):
    results = {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 0.25}}}
    assert load(folder, [sample()], results=results, version=1).notes == [
        other_number("accuracy of match in the log", 0.25, 1)
    ]


def test_the_scores_of_a_log_of_inspect_come_before_that_of_early_logs(folder):
    results = {
        "scorer": {"name": "match"},
        "metrics": {"accuracy": {"value": 0.25}},
        "scores": [stated("match", 1)],
    }
    assert load(folder, [sample()], results=results).notes == []


def test_the_scorers_of_a_log_of_inspect_are_what_measures(folder):
    one = {
        "id": "a",
        "epoch": 1,
        "scores": {"match": 1, "match1": 0, "judge": {"value": {"a\nb": 1}}},
    }
    spec = {
        "task_version": 2,
        "model_roles": {"grader": {"model": "g"}},
        "scorers": [{"name": "pkg/match", "options": {"ignore": "case"}}],
    }
    results = {
        "scores": [{"scorer": "judge", "params": {"t": 1}, "metadata": {"v": 3}}]
    }
    assert load(folder, [one], eval=spec, results=results).ruler == {
        ("inspect_ai match", "scores", "match"),
        ("inspect_ai match", "scores", "match1"),
        ("inspect_ai match", "task_version", "2"),
        ("inspect_ai match", "grader model", "g"),
        ("inspect_ai match", "options ignore", "case"),
        ("inspect_ai judge", "scores", "judge.a\nb"),
        ("inspect_ai judge", "task_version", "2"),
        ("inspect_ai judge", "grader model", "g"),
        ("inspect_ai judge", "options t", "1"),
        ("inspect_ai judge", "metadata v", "3"),
    }


# -- logs without samples ----------------------------------------------------------------------


def whole(folder, *scores, spec=None, **results):
    loaded = load(folder, None, eval=spec or {}, results={"scores": scores, **results})
    assert loaded.notes == [AggregatesAlone("log.json")]
    (rollout,) = loaded.rollouts
    return rollout


def test_the_means_of_a_log_of_inspect_without_samples(folder):
    score = stated("match", 0.5, scored_samples=4, unscored_samples=1)
    score["metrics"]["stderr"] = {"value": 0.1}
    tone = {"name": "tone", "scorer": "judge", "metrics": {"mean": {"value": 0.25}}}
    none = stated("match", 0.5, "stderr")
    assert whole(folder, score, tone, none, total_samples=5, completed_samples=3) == (
        Rollout(
            record={"task": "arith"},
            name="log.json",
            task="arith",
            sample=0,
            agent="mock/m",
            scores={
                **aggregate("match", 0.5, error=0.1, samples=4, documents=5),
                **aggregate("judge.tone", 0.25, error=None, samples=3, documents=5),
            },
            rewards=["match", "judge.tone"],
        )
    )


@pytest.mark.parametrize(
    ("reducer", "name"),
    [(None, "match"), ("mean", "match"), ("max", "match,max")],
)
def test_a_mean_of_another_reducer_of_inspect_has_its_name(folder, reducer, name):
    assert whole(folder, stated("match", 0.5, reducer=reducer)).rewards == [name]


@pytest.mark.parametrize(
    ("counts", "plan", "over"),
    [
        pytest.param((4, 0), (2, 10), (4, 5), id="reduced epochs"),
        pytest.param((4, 1), (2, 10), (4, 5), id="all of the data set"),
        pytest.param((5, 1), (2, 10), (5, 10), id="more than the data set"),
        pytest.param((4, None), (2, 10), (4, 5), id="none unscored"),
        pytest.param((4, 0), (None, 10), (4, 10), id="no epochs"),
        pytest.param((4, 0), (0.5, 10), (4, 10), id="half an epoch"),
        pytest.param((4, 0), (1, 10), (4, 10), id="one epoch"),
        pytest.param((4, 0), (2, None), (4, None), id="no plan"),
        pytest.param((None, 0), (2, 10), (7, 10), id="completed samples"),
    ],
)
def test_what_a_mean_of_inspect_is_over(folder, counts, plan, over):
    scored, unscored = counts
    epochs, total = plan
    rollout = whole(
        folder,
        stated("match", 0.5, scored_samples=scored, unscored_samples=unscored),
        spec={"config": {"epochs": epochs}},
        total_samples=total,
        completed_samples=7,
    )
    samples, documents = over
    assert rollout.scores == aggregate(
        "match", 0.5, error=None, samples=samples, documents=documents
    )


def test_the_header_of_a_log_of_inspect_may_lack_a_version(folder):
    loaded = load(folder, None, version=None, results={"scores": [stated("m", 0.5)]})
    assert loaded.rollouts[0].rewards == ["m"]
