"""Logs of inspect_ai."""

import io
import json
import zipfile

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

GENERATED = "formats/inspect_ai/generated_0.3.285"


def sample(task, epoch=1, score="C", **more):
    scores = {} if score is None else {"scores": {"match": {"value": score}}}
    return {"id": task, "epoch": epoch, "input": "?", "target": "!", **scores, **more}


def log(samples, **more):
    spec = {"task": "arith", "model": "mock/model", "dataset": {}, "config": {}}
    spec.update(more.pop("eval", {}))
    return {"version": 2, "status": "success", "eval": spec, "samples": samples, **more}


def write(folder, samples, **more):
    folder.json(log(samples, **more), "log.json")


def load(folder, samples, *, scores=("reward",), **more):
    write(folder, samples, **more)
    return folder.load("log.json", scores=scores)


def archive(samples, summaries=None):
    header = log(None)
    del header["samples"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_journal/start.json", json.dumps(header))
        for each in samples:
            file.writestr(
                f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each)
            )
        if summaries is not None:
            file.writestr("summaries.json", json.dumps(summaries))
        file.writestr("header.json", json.dumps(header))
    return packed.getvalue()


@pytest.mark.parametrize("kind", ["*.eval", "*.json"])
def test_a_log_of_today_zstd_members_and_all(real, kind):
    table = real.load(f"{GENERATED}/{kind}", scores=["reward"])
    (path,) = (real.path / GENERATED).glob("*.json")
    samples = json.loads(path.read_text())["samples"]
    expected = {
        (s["id"], s["epoch"] - 1): float(s["scores"]["match"]["value"] == "C")
        for s in samples
    }
    rows = zip(
        table.task.tolist(), table.sample.tolist(), table.scores["reward"], strict=True
    )
    assert {(table.tasks[task], n): value for task, n, value in rows} == expected
    assert table.agents == ("mockllm/model",)
    assert table.scores["prompt_tokens"].sum() == 108
    assert table.scores["completion_tokens"].sum() == 27
    assert table.scores["cost_usd"].sum() == pytest.approx(0.0018)
    assert np.isfinite(table.scores["latency_s"]).all()
    assert note_texts(table.notes) == ()  # its own accuracy is that of its samples


def test_a_log_that_was_never_scored_has_no_rewards_but_its_usage(real):
    table = real.load("formats/inspect_ai/*.eval", scores=["reward"])
    assert len(table) == 10
    assert np.isnan(table.scores["reward"]).all()
    # as its stats say
    assert table.scores["prompt_tokens"].sum() == 620
    assert table.scores["completion_tokens"].sum() == 20
    assert "not scored: 10 rollouts without a score" in note_texts(table.notes)[0]


def test_a_cancelled_log_that_has_all_its_samples_is_read_with_a_note(real):
    table = real.load("formats/inspect_ai/*.json", scores=["reward"])
    assert table.scores["match"].mean() == pytest.approx(2 / 3)
    assert table.scores["latency_s"].tolist() == [0.664, 1.775, 0.657]
    (note,) = note_texts(table.notes)
    assert "'cancelled'" in note


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *[
            ("C", 1),
            ("I", 0),
            ("P", 0.5),
            ("N", 0),
            ("yes", 1),
            ("False", 0),
            ("0.25", 0.25),
        ],
        *[(True, 1), (0.3, 0.3), (2, 2)],
    ],
)
def test_a_value_is_the_number_that_inspect_makes_of_it(folder, value, number):
    table = load(folder, [sample("a", score=value)])
    assert table.scores["reward"].tolist() == [number]


def test_objects_and_lists_are_scores_of_their_own(folder):
    rows = [sample(1, score={"tone": "P", "facts": 3}), sample(2, score={"tone": None})]
    table = load(folder, rows, scores=["match.tone"])
    np.testing.assert_equal(table.scores["match.tone"], [0.5, np.nan])
    np.testing.assert_equal(table.scores["match.facts"], [3, np.nan])
    write(folder, [sample(1, score="a long answer"), sample(2)])
    refused = folder.refused("log.json", scores=["match"])
    assert "the score 'match' is text: \"a long answer\"" in refused.message
    assert refused.file == "log.json, sample 1, epoch 1"
    table = load(folder, [sample(1, score=["C", 0.25])], scores=["match.1"])
    assert [table.scores[f"match.{i}"].tolist() for i in (0, 1)] == [[1], [0.25]]


def test_several_scorers_need_a_name(folder):
    both = {"match": {"value": "C"}, "judge": {"value": 0.5}}
    scorers = [{"name": name, "options": {"model": "judge"}} for name in both]
    rows = [sample(1, score=None, scores=both, metadata={"level": 3})]
    write(folder, rows, eval={"scorers": scorers})
    refused = folder.refused("log.json", scores=["reward"])
    assert "several scores could be the reward: match, judge" in refused.message
    assert "`reward: match`" in str(refused.hint)
    assert folder.load("log.json", scores=["judge"]).scores["judge"].tolist() == [0.5]
    fields = {"reward": "judge", "scores": {"level": "metadata.level"}}
    table = folder.load("log.json", scores=["reward"], fields=fields)
    assert (table.scores["reward"].tolist(), table.scores["level"].tolist()) == (
        [0.5],
        [3],
    )
    assert table.ruler == {  # any of them may have measured what lies elsewhere
        "inspect_ai judge": {
            "options model": ["judge"],
            "scores": ["judge", "level", "reward"],
        },
        "inspect_ai match": {"options model": ["judge"], "scores": ["level", "match"]},
    }


def test_logs_of_early_versions(folder):
    early = {**sample(1, score=None), "score": {"value": "C"}}
    results = {"scorer": {"name": "score"}, "metrics": {"accuracy": {"value": 0.25}}}
    table = load(folder, [early], version=1, results=results)
    assert table.scores["score"].tolist() == [1]
    assert (
        "accuracy of score in the log is 0.25, and the rollouts give 1"
        in note_texts(table.notes)[0]
    )


@pytest.mark.parametrize(
    ("used", "prompt"),
    [
        ({"input_tokens_cache_read": 5}, 15),
        ({"input_tokens_cache_read": 5, "total_tokens": 12}, 10),
        ({"input_tokens_cache_write": 4}, 14),
    ],
)
def test_the_prompt_counts_cached_tokens_once(folder, used, prompt):
    usage = {"input_tokens": 10, "output_tokens": 2, **used}
    other = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    scores = load(folder, [sample(1, model_usage={"a/b": usage, "c/d": other})]).scores
    assert scores["prompt_tokens"].tolist() == [prompt + 1]
    assert scores["completion_tokens"].tolist() == [3]


def test_errors_are_missing_unless_they_were_graded(folder):
    error = {"message": "RuntimeError('the sandbox is gone')", "traceback": "..."}
    rows = [
        sample("a", score=None, error=error, model_usage={"m": {"input_tokens": 7}}),
        sample("b", score=None, error=error),
        sample("c", score="C", error=error),
        sample("c", score="I", error=error),  # run again: the last one counts
        sample("d", score="C", limit={"type": "token"}),
        sample("e", score=float("nan")),
    ]
    table = load(folder, rows)
    np.testing.assert_equal(table.scores["reward"], [np.nan, np.nan, 0, 1, np.nan])
    np.testing.assert_equal(table.scores["prompt_tokens"], [7] + [np.nan] * 4)
    (unscored,) = [note for note in note_texts(table.notes) if "NaN" in note]
    assert "sample 'e', epoch 1" in unscored
    missing, graded, nan = [
        note for note in note_texts(table.notes) if note != unscored
    ]
    assert missing.startswith(
        "RuntimeError: 2 rollouts without a score, which is missing (first "
    )
    assert (
        "log.json, sample 'a', epoch 1: RuntimeError('the sandbox is gone')" in missing
    )
    assert graded.startswith("RuntimeError: 1 rollout graded all the same")
    assert nan.startswith("not scored: 1 rollout")


def test_what_was_planned_and_never_run_is_missing(folder):
    spec = {"dataset": {"sample_ids": ["a", "b"]}, "config": {"epochs": 2}}
    rows = [sample("a"), sample("b"), sample("a", 2)]
    table = load(folder, rows, eval=spec, status="cancelled")
    np.testing.assert_equal(table.scores["reward"], [1, 1, 1, np.nan])
    assert any(
        "planned and not in the log: 1 rollout" in note
        for note in note_texts(table.notes)
    )
    several_logs = [sample("a"), sample("a", 3)]
    assert len(load(folder, several_logs, eval=spec)) == 2
    stopped = {"early_stopping": {"manager": "m"}}  # these were left out on purpose
    assert len(load(folder, [sample("a")], eval=spec, results=stopped)) == 1
    spec["config"]["epochs"] = 10**9
    write(folder, [sample("a")], eval=spec)
    refused = folder.refused("log.json", scores=["reward"]).message
    assert refused == "this log plans 1,000,000,000 epochs of 2 samples"


def test_an_invalidated_sample_is_missing(folder):
    spoilt = sample("a", invalidation={"reason": "leaked answer"})
    folder.write(archive([spoilt, sample("b")]), "log.eval")
    table = folder.load("log.eval", scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 1])
    assert "invalidated: 1 rollout" in note_texts(table.notes)[0]
    assert "leaked answer" in note_texts(table.notes)[0]
    folder.write(
        archive([spoilt], [sample("a", model_usage={}, total_time=1.0)]), "log.eval"
    )
    assert folder.load("log.eval", scores=["reward"]).scores["reward"].tolist() == [1]


@pytest.mark.parametrize(
    ("reducer", "value"),
    [
        # three of four, and one of four
        *[
            ("mean", 0.5),
            ("median", 0.5),
            ("max", 1.0),
            ("pass_at_1", 0.5),
            ("at_least_3", 0.5),
        ],
        ("pass_at_2", (1 + 0.5) / 2),
    ],
)
def test_each_reducer_is_compared_with_its_own(folder, reducer, value):
    scores = {"a": "CCCI", "b": "CIII"}
    samples = [
        sample(t, n, s) for t, each in scores.items() for n, s in enumerate(each, 1)
    ]
    samples.append(sample("b", 5, float("nan")))  # which reducers leave out

    def differences(reducer, value, *others):
        stated = {"name": "match", "scorer": "match", "reducer": reducer}
        stated["metrics"] = {"accuracy": {"value": value}}
        scores = [{**stated, "reducer": each} for each in (reducer, *others)]
        notes = note_texts(load(folder, samples, results={"scores": scores}).notes)
        of_all = ["match: the log's own numbers reduce" in note for note in notes]
        assert any(of_all) is ("mean" not in (reducer, *others))
        return [note for note in notes if "in the log is" in note]

    assert differences(reducer, value) == []
    (note,) = differences(reducer, value - 0.01)
    assert f" {value - 0.01:g}, " in note
    assert differences("mode", value - 0.01) == []  # another aggregate
    assert differences("mode", 0.5, "mean") == []


def test_summaries_are_enough_unless_they_are_fewer(folder):
    usage = {"model_usage": {}, "total_time": 2.0}
    both = [
        sample("a", metadata={"level": "hard"}, **usage),
        sample("b", score="I", **usage),
    ]
    folder.write(
        archive([{"id": "a", "epoch": 1}, {"id": "b", "epoch": 1}], both), "log.eval"
    )
    assert folder.load("log.eval", scores=["reward"]).scores["reward"].tolist() == [
        1,
        0,
    ]
    folder.write(archive(both, [sample("a", **usage)]), "log.eval")
    table = folder.load("log.eval", scores=["reward"], categories=["metadata.level"])
    assert table.scores["reward"].tolist() == [1, 0]
    assert table.categories["metadata.level"].labels == ("hard", "(missing)")


def test_two_inspect_tasks_are_two_benchmarks(folder):
    for task in ("arith", "logic"):
        spec = {"task": task, "model": f"x/{task}"}
        folder.json(log([sample(1)], eval=spec), f"{task}.json")
    assert folder.load("logic.json").agents == ("x/logic",)
    refused = folder.refused("*.json", scores=["reward"])
    assert refused.file == "logic.json"
    assert "'logic', and arith.json is of 'arith'" in refused.message


def test_a_truncated_and_a_damaged_archive(folder):
    whole = bytearray(archive([sample(n) for n in range(20)]))
    folder.write(bytes(whole[: len(whole) // 2]), "log.eval")
    assert "its end is missing" in folder.refused("log.eval", scores=["reward"]).message
    start = whole.index(b"samples/0_epoch_1.json") + len("samples/0_epoch_1.json")
    whole[start + 8 : start + 24] = bytes(16)
    folder.write(bytes(whole), "log.eval")
    assert "is damaged" in folder.refused("log.eval", scores=["reward"]).message


def test_another_zip_archive_is_none_of_ours(folder):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("word/document.xml", "<x/>")
    folder.write(packed.getvalue(), "log.eval")
    assert "this is a zip archive" in folder.refused("log.eval").message
    assert "no header.json" in folder.refused("log.eval", format="inspect_ai").message


# -- logs without samples --------------------------------------------------------------------


def mean_of(scorer, value, *, reducer=None, scored=3, unscored=1):
    """Make an entry of the results, as inspect_ai 0.3.285 writes it."""
    return {
        "name": scorer,
        "scorer": scorer,
        "reducer": reducer,
        "scored_samples": scored,
        "unscored_samples": unscored,
        "metrics": {"accuracy": {"value": value}, "stderr": {"value": 0.1}},
    }


def without_samples(*scores, epochs=2):
    header = log(None, results={"total_samples": 8, "scores": list(scores)})
    header["eval"]["config"] = {"epochs": epochs, "log_samples": False}
    header["eval"]["dataset"] = {"samples": 4, "sample_ids": ["a", "b", "c", "d"]}
    return header


def test_a_mean_over_reduced_epochs_counts_each_sample_once(folder):
    folder.json(without_samples(mean_of("match", 0.5)), "log.json")
    table = folder.load("log.json", scores=["match"])
    assert table.scores["(samples) match"].tolist() == [3]
    assert table.scores["(samples in all) match"].tolist() == [4]


def test_means_by_other_reducers_have_names_of_their_own(folder):
    means = [
        mean_of("match", 0.5, reducer="mean"),
        mean_of("match", 0.75, reducer="max"),
    ]
    folder.json(without_samples(*means), "log.json")
    table = folder.load("log.json", scores=["match"])
    assert table.scores["match"].tolist() == [0.5]
    assert table.scores["match,max"].tolist() == [0.75]


def test_an_archive_that_was_to_hold_no_samples_gives_its_means(folder):
    packed = io.BytesIO()
    header = without_samples(mean_of("match", 0.5))
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("summaries.json", "[]")
        file.writestr("header.json", json.dumps(header))
    folder.write(packed.getvalue(), "log.eval")
    assert folder.load("log.eval", scores=["match"]).scores["match"].tolist() == [0.5]


def test_a_score_of_nan_is_missing_with_the_words_of_the_grader(folder):
    unscored = {
        "value": float("nan"),
        "reason": "grader_failed",
        "explanation": "Grade not found in model output: hm",
    }
    samples = [sample("a"), sample("b", score=None, scores={"match": unscored})]
    table = load(folder, samples, scores=["match"])
    np.testing.assert_equal(table.scores["match"], [1, np.nan])
    words = "match was not scored: 1 rollout without a score"
    (note,) = [note for note in note_texts(table.notes) if words in note]
    assert "grader_failed: Grade not found in model output: hm" in note


def contents_of(folder, *samples):
    """Load logs of one sample each; give the content of their tasks."""
    return [load(folder, [one]).content[0] for one in samples]


def test_a_task_is_known_by_its_question_and_its_target(folder):
    asked = sample(1) | {"input": [{"role": "user", "content": "2 + 3?"}]}
    renamed = {**asked, "id": 2}
    edited = asked | {"input": [{"role": "user", "content": "2 + 4?"}]}
    regraded = asked | {"target": "6"}
    first, same, *others = contents_of(folder, asked, renamed, edited, regraded)
    assert first
    assert same == first
    assert first not in others
