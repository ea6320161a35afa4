"""`rows:`, `keyed:`, `lists:`, `where:`, `pivot:`, `join:` and `map:`: rows of any layout."""

import json
import math

import numpy as np
import pytest
from rollouts.layouts import BY_KEYS, LAYOUTS
from rollouts.recipes import RECIPES
from rollouts.tool_files import part, promptfoo, promptfoo_row

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError, DataError
from pytest_evalmetrics.reports.sentences.notes import note_texts


def spec_of(folder, rollouts):
    file = folder.write(
        f"benchmark:\n  name: x\n  rollouts: {rollouts}\n", "x.bench.yaml"
    )
    (benchmark,) = load_benchmarks(file, shown="x.bench.yaml")
    return benchmark.spec.rows


def read(folder, rollouts, **files):
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        folder.write(text, f"{stem}.{suffix}")
    return folder.load(spec=spec_of(folder, rollouts), scores=["reward"])


def rewards(table):
    of_tasks = {}
    for task, value in zip(
        table.task.tolist(), table.scores["reward"].tolist(), strict=True
    ):
        of_tasks.setdefault(table.tasks[task], []).append(
            None if math.isnan(value) else value
        )
    return of_tasks


NESTED = {
    "info": {"model": "m"},
    "runs": [{"t": "a", "r": 1}, {"t": "a", "r": 0}, {"t": "b", "r": None}],
}
STATS = [
    {
        "id": "a",
        "stats": [{"n": {"x": "em"}, "mean": 1.0}, {"n": {"x": "f1"}, "mean": 0.5}],
    },
    {"id": "b", "stats": [{"n": {"x": "em"}, "mean": 0.0}]},
]
REPORT = {
    "total": 4,
    "submitted_ids": ["a", "b", "c"],
    "resolved_ids": ["a"],
    "failed_ids": ["b"],
    "error_ids": ["c"],
    "containers": ["x"],
}
LINES = "".join(
    json.dumps(row) + "\n"
    for row in [
        {"spec": {"model": "m"}},
        {"id": "a", "type": "match", "data": {"verdict": "pass"}},
        {"id": "a", "type": "sampling", "data": {}},
        {"id": "b", "type": "match", "data": {"verdict": "tie"}},
    ]
)


@pytest.mark.parametrize(  # what no recipe of the documentation shows
    ("rollouts", "content", "expected"),
    [
        (
            "{rows: deep.runs, fields: {task: t, reward: r}}",
            {"deep": NESTED},
            {"a": [1, 0], "b": [None]},
        ),
        ("{keyed: t, fields: {reward: value}}", {"a": 1, "b": 0}, {"a": [1], "b": [0]}),
        (
            "{keyed: t, fields: {reward: r}}",
            {"a": [{"r": 1}], "b": []},
            {"a": [1], "b": [None]},
        ),
        (
            '{fields: {task: id, reward: p}, map: {reward: {"true": 1, "null": 0, "1.5": 0.5}}}',
            [{"id": "a", "p": True}, {"id": "b", "p": None}, {"id": "c", "p": 1.5}],
            {"a": [1], "b": [0], "c": [0.5]},
        ),
        (
            "{where: {split: [test, dev]}, fields: {task: id, reward: p}}",
            [
                {"id": n, "split": s, "p": 1}
                for n, s in (("a", "dev"), ("b", "no"), ("c", "test"))
            ],
            {"a": [1], "c": [1]},
        ),
    ],
)
def test_layouts(folder, rollouts, content, expected):
    table = read(folder, rollouts.replace("{", "{path: r.json, ", 1), r_json=content)
    assert rewards(table) == expected


def test_cells_of_csv(folder):
    table = read(
        folder,
        "{path: r.csv, where: {lang: [en]}, fields: {task: id, reward: v}, "
        "map: {reward: {pass: 1, fail: 0}}}",
        r_csv="id,lang,v\n007,en,pass\n008,en,fail\n9,de,pass\n10a,en,\n",
    )
    assert rewards(table) == {"007": [1], "008": [0], "10a": [None]}
    assert note_texts(table.notes) == (
        "r.csv: where: leaves out 1 of 4 rows, whose lang is not en; 1 task has no row left, such as '9'",
    )
    with pytest.raises(DataError, match=r"r\.csv:3: map: reward: no number for"):
        read(
            folder,
            "{path: r.csv, fields: {task: id, reward: v}, map: {reward: {pass: 1}}}",
        )


def test_enclosing_objects_and_scores_with_a_map_of_their_own(folder):
    runs = [{"t": "a", "v": "y"}, {"t": "b", "v": None, "w": "y"}]
    table = read(
        folder,
        "{path: r.json, rows: groups.*.runs, map: {reward: {y: 1}, lost: {y: 0}, kept: {y: 2}}, "
        "fields: {task: t, reward: v, agent: _parent._parent.info.model, sample: _parent.s, "
        "scores: {lost: v, kept: w}}}",
        r_json={"info": {"model": "m", "l": [1]}, "groups": [{"s": 3, "runs": runs}]},
    )
    assert (table.agents, table.sample.tolist()) == (("m",), [3, 3])
    assert rewards(table) == {"a": [1], "b": [None]}
    assert (table.scores["lost"].tolist()[0], table.scores["kept"].tolist()[1]) == (
        0,
        2,
    )


ANSWERS = '{"id": "a", "answer": "x"}\n{"id": "b", "answer": "y"}\n'
JOIN = (
    "{path: r.jsonl, fields: {task: id, reward: ok}, join: {path: g.jsonl, on: id%s}}"
)


def test_join(folder):
    grades = '{"id": "b", "ok": 0}\n{"id": "a", "ok": 1}\n'
    table = read(folder, JOIN % "", r_jsonl=ANSWERS, g_jsonl=grades)
    assert rewards(table) == {"a": [1], "b": [0]}
    rows = list(folder.records(spec=spec_of(folder, JOIN % "")))
    assert rows[1] == ("r.jsonl:2", {"id": "b", "answer": "y", "ok": 0})


def test_join_of_rows_without_a_partner(folder):
    grades = '{"id": "a", "ok": 1}\n{"id": "c", "ok": 1}\n'
    with pytest.raises(
        DataError, match=r"1 row without the other half, the first at r.jsonl:2"
    ):
        read(folder, JOIN % "", r_jsonl=ANSWERS, g_jsonl=grades)
    kept = read(folder, JOIN % ", unmatched: keep")
    assert rewards(kept) == {"a": [1], "b": [None]}
    assert [note for note in note_texts(kept.notes) if note.startswith("join:")] == [
        "join: 1 row without the other half, the first at r.jsonl:2",
        "join: 1 row without the other half, the first at g.jsonl:2",
    ]
    assert rewards(read(folder, JOIN % ", unmatched: drop")) == {"a": [1]}
    with pytest.raises(DataError, match=r"the first at g\.jsonl:2"):
        read(folder, JOIN % "", r_jsonl=ANSWERS.splitlines()[0], g_jsonl=grades)


PIVOT = "{rows: '*.stats', pivot: {by: _parent.id, %s}}"


@pytest.mark.parametrize(
    ("rollouts", "content", "words"),
    [
        ("{rows: run, fields: {task: t}}", NESTED, "did you mean 'runs'"),
        ("{rows: info, fields: {task: t}}", NESTED, "no row has 't'"),
        (
            "{rows: info.model, fields: {task: t}}",
            NESTED,
            "row 1 is 'm'; expected an object",
        ),
        ("{rows: runs, fields: {task: tt}}", NESTED, "did you mean 't'"),
        ("{rows: stats, fields: {task: t}}", STATS, r"write \* for each value"),
        ("{keyed: t, rows: runs}", NESTED, "keyed: is for an object"),
        ("{keyed: t}", {"a": {"t": "b"}}, "a field 't' of its own, 'b'"),
        ("{lists: {resolved_id: 1}}", REPORT, "did you mean 'resolved_ids'"),
        (
            "{lists: {resolved_ids: 1, failed_ids: 0}}",
            REPORT,
            "submitted_ids has 1 id of no list",
        ),
        (
            "{lists: {resolved_ids: 1, submitted_ids: 0}}",
            REPORT,
            "'a' is in resolved_ids and in",
        ),
        ("{where: {kind: match}, fields: {task: id}}", LINES, "no row has 'kind'"),
        (
            "{where: {type: mach}, fields: {task: id}}",
            LINES,
            "there is 'null', 'match'",
        ),
        (
            (
                "{where: {type: match}, fields: {task: id, reward: data.verdict}, "
                "map: {reward: {pass: 1, fail: 0}}}"
            ),
            LINES,
            "r.json:4: map: reward: no number for 'tie'; it has: fail, pass",
        ),
        (
            "{rows: runs, fields: {task: t, reward: rr}, map: {reward: {pass: 1}}}",
            NESTED,
            "no row has a value at 'rr'",
        ),
        (
            PIVOT % "name: n.y, value: mean",
            STATS,
            "no row has 'n.y'; did you mean 'n.x'",
        ),
        (PIVOT % "name: n.x, value: men", STATS, "did you mean 'mean'"),
        (
            "{pivot: {by: t, name: n, value: v}}",
            [{"t": 1, "n": "a", "v": 1}, {"t": 1, "n": "a", "v": 0}],
            "'a' was there before for the same t, at r.json, row 1",
        ),
        (
            "{rows: data, fields: {task: a, reward: b}}",
            {"columns": ["a", "b"], "data": [["x", 1], ["y"]]},
            "row 2 has 1 cell, and the table 2 columns",
        ),
        (
            "{rows: runs, fields: {task: t, reward: r}}",
            '{"runs": [',
            "this is not JSON",
        ),
        (
            "{keyed: t, fields: {reward: value}}",
            '{"a": 1,\n"a": 0}',
            "'a' occurs twice",
        ),
        ("{format: harbor, rows: runs}", NESTED, "have a shape of their own"),
    ],
)
def test_misread_layouts_fail(folder, rollouts, content, words):
    with pytest.raises(DataError, match=words):
        read(folder, rollouts.replace("{", "{path: r.json, ", 1), r_json=content)


def test_two_ways_to_read_an_object_are_refused(folder):
    with pytest.raises(ConfigError, match="choose one"):
        spec_of(folder, "{path: r.json, keyed: t, lists: {a: 1}}")
    with pytest.raises(ConfigError, match="a number, or null for missing"):
        spec_of(folder, "{path: r.json, map: {reward: {a: yes}}}")


def test_a_run_names_the_line_of_the_key(project):
    project.write(
        "r.json", json.dumps({"runs": [{"t": "a", "v": "pass"}, {"t": "b", "v": "?"}]})
    )
    bench = (
        "benchmark:\n  name: x\n  rollouts:\n    path: r.json\n    rows: runs\n"
        "    fields: {task: t, reward: v}\n    map:\n      reward: {pass: 1, fail: 0}\n"
        "  thresholds: {mean_reward: '>= 0.5'}\n"
    )
    project.write("x.bench.yaml", bench)
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*x.bench.yaml:8*r.json, row 2: map: reward: no number for '[?]'*"]
    )


@pytest.mark.parametrize("name", sorted({*LAYOUTS, *RECIPES}))
def test_recipes_of_the_documentation(folder, name):
    layout = LAYOUTS[name]
    recipe = {**BY_KEYS, **RECIPES}[name]
    assert len(recipe.splitlines()) <= 8
    for file, content in {layout.file: layout.data(), **layout.beside}.items():
        folder.write(content, file)
    (benchmark,) = load_benchmarks(
        folder.write(recipe, "x.bench.yaml"), shown="x.bench.yaml"
    )
    assert (
        rewards(folder.load(spec=benchmark.spec.rows, scores=["reward"]))
        == layout.rewards
    )
    key = layout.key.encode()
    folder.write(layout.data().replace(key, b"x" * len(key)), layout.file)
    folder.refused(spec=benchmark.spec.rows, scores=["reward"])


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("openai-evals", lambda lines: lines[-1]["final_report"]["accuracy"]),
        ("simple-evals", lambda lines: lines[0]["score"]),
    ],
)
def test_the_number_that_a_tool_states_in_its_file_is_ours(name, stated):
    layout = LAYOUTS[name]
    lines = [json.loads(line) for line in layout.data().decode().splitlines()]
    values = [value for task in layout.rewards.values() for value in task]
    assert sum(values) / len(values) == pytest.approx(stated(lines))


def test_the_published_win_rate_of_alpaca_eval():
    values = [
        value
        for (value,) in LAYOUTS["alpaca-eval"].rewards.values()
        if value is not None
    ]
    assert sum(values) / len(values) * 100 == pytest.approx(95.27950310559004)


def test_the_published_reliability_of_tau_bench(project):
    layout = LAYOUTS["tau-bench"]
    project.write(layout.file, layout.data().decode())
    project.write("tau.bench.yaml", RECIPES["tau-bench"])
    project.run().assert_outcomes(passed=1)
    estimates = project.report()["benchmarks"][0]["agents"][0]["estimates"]
    published = [0.420, 0.273, 0.220, 0.200]  # the project's README
    assert [round(estimates[f"pass^{k}"]["value"], 3) for k in range(1, 5)] == published


def test_words_of_a_tools_own_scores_are_mapped(folder):
    results = promptfoo(
        promptfoo_row("a", [part(1)]),
        promptfoo_row("b", [part(0)]),
    )
    folder.json(results, "r.json")
    spec = spec_of(
        folder,
        "{path: r.json, fields: {reward: success}, "
        'map: {reward: {"true": 1, "false": 0.25}}}',
    )
    table = folder.load(spec=spec, scores=["reward"])
    assert table.scores["reward"].tolist() == [1, 0.25]
    assert "map reward" in table.ruler


def test_a_tools_own_scores_that_mean_not_judged_are_missing(folder):
    results = promptfoo(
        promptfoo_row("a", [part(1)]),
        promptfoo_row("b", [part(0)]),
    )
    folder.json(results, "r.json")
    spec = spec_of(
        folder, "{path: r.json, fields: {reward: score}, missing: {reward: [0]}}"
    )
    table = folder.load(spec=spec, scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [1, np.nan])


def test_a_word_of_a_tools_score_that_map_does_not_name_is_an_error(folder):
    folder.json(promptfoo(promptfoo_row("a", [part(1)])), "r.json")
    spec = spec_of(
        folder, '{path: r.json, fields: {reward: success}, map: {reward: {"1": 1}}}'
    )
    refused = folder.refused(spec=spec, scores=["reward"])
    assert "no number for 'true'" in refused.message
