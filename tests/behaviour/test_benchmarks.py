"""`behaviour:` in benchmark files, from rows to what a run says."""

import json
import sys
from fnmatch import fnmatch
from textwrap import dedent

import numpy as np
import pytest
from behaviour.making import CITY, row, run, table_of
from evaluated import evaluated
from forked import completed
from msgspec import structs

from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.pipeline import behaving

BENCH = """
benchmark:
  name: agent
  rollouts: runs.jsonl
  num_samples: 4
  metrics: [mean_reward]
  baseline: {{rollouts: old.jsonl}}
  behaviour: {behaviour}
"""


def write_bench(project, text):
    project.write("agent.bench.yaml", dedent(text))


@pytest.fixture
def agent(project):
    def compared(before, now, behaviour="true"):
        project.rows("old.jsonl", before)
        project.rows("runs.jsonl", now)
        write_bench(project, BENCH.format(behaviour=behaviour))
        return evaluated(project)

    return compared


def test_an_unchanged_agent_has_no_line(agent):
    result = agent(run(1), run(2))
    assert result.passed
    assert "changed: behaviour" not in result.text


def test_a_changed_tool_is_named_beside_the_same_score_and_does_not_fail(project):
    project.rows("old.jsonl", run(1, searches=0.2))
    project.rows("runs.jsonl", run(2, searches=0.6))
    write_bench(project, BENCH.format(behaviour="true"))
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*changed: behaviour: same score; *`search` is called in * % of rollouts (*"]
    )


def test_a_score_that_only_seems_the_same_is_not_called_so(agent):
    now = run(2, searches=0.9)
    for one in now[:12]:
        one["reward"] = 0.0
    result = agent(run(1, searches=0.1), now)
    assert result.passed
    result.says("*changed: behaviour: no change of the score is shown; *")


def test_more_calls_come_first_and_are_not_said_again_as_steps(agent):
    result = agent(run(1, searches=0.2), run(2, searches=0.9, order=0.9))
    (line,) = [line for line in result.lines if "changed: behaviour" in line]
    assert "steps" not in line
    assert line.index("more tool calls") < line.index("`search` before `plan`")
    assert line.index("`search` before `plan`") < line.index("`search` is called")


def test_another_order_is_named_with_its_tasks(agent):
    result = agent(run(1, searches=1), run(2, searches=1, order=0.8))
    result.says(
        "*`search` before `plan` in * % of rollouts (0 % before), more often in 4? of 40*"
    )


def test_the_page_and_a_verbose_run_list_each_feature_with_its_tasks(project):
    project.rows("old.jsonl", run(1, searches=0.1))
    project.rows("runs.jsonl", run(2, searches=0.7))
    write_bench(project, BENCH.format(behaviour="true"))
    result = project.run("-v")
    page = (project.path / "evalmetrics/report.html").read_text(encoding="utf-8")
    assert "behaviour: `search` is called in" in page
    result.stdout.fnmatch_lines(
        ["*behaviour: `search` is called in *, p = *; most in * (0 to 1), *"]
    )


def test_the_report_holds_the_features_with_the_tasks_that_moved_most(agent, project):
    agent(run(1, searches=0.1), run(2, searches=0.7))
    (facts,) = project.report()["benchmarks"][0]["behaviour"]
    change = next(one for one in facts["changes"] if one["name"] == "search")
    assert change["kind"] == "tool"
    assert change["is_significant"]
    assert len(change["most"]) == 5
    assert change["rose"] > change["fell"]


def test_a_committed_baseline_keeps_behaviour(project):
    bench = BENCH.format(behaviour="true").replace("{rollouts: old.jsonl}", "true")
    write_bench(project, bench)
    project.rows("runs.jsonl", run(1, searches=0.2))
    project.run("--snapshot-update")
    baseline = project.baseline("agent.bench/agent.json")
    kept = json.loads(baseline.read_text(encoding="utf-8"))["agents"]
    (behaviour,) = [agent["behaviour"] for agent in kept.values()]
    assert behaviour["shapes"]["search"] == "search(city:text)"
    assert behaviour["summary"]["tool_calls"] == pytest.approx(2.2, abs=0.1)
    project.rows("runs.jsonl", run(2, searches=0.6))
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*behaviour: same score; *`search` is called in *"])


def test_an_older_baseline_without_behaviour_is_read_and_noted(project):
    bench = BENCH.format(behaviour="false").replace("{rollouts: old.jsonl}", "true")
    write_bench(project, bench)
    project.rows("runs.jsonl", run(1))
    evaluated(project, updates=True)
    write_bench(project, bench.replace("false", "true"))
    result = evaluated(project)
    assert result.passed
    result.says("*behaviour: the baseline holds none*--evalmetrics-update*")


def test_a_limit_on_a_baseline_without_behaviour_is_inconclusive(project):
    bench = BENCH.format(behaviour="false").replace("{rollouts: old.jsonl}", "true")
    write_bench(project, bench)
    project.rows("runs.jsonl", run(1))
    evaluated(project, updates=True)
    write_bench(project, bench.replace("false", "{tool_calls: {max_rise: 20%}}"))
    result = evaluated(project)
    assert not result.passed
    result.says("*does not hold what its rollouts did*")


def test_a_rise_above_its_limit_fails(agent):
    result = agent(
        run(1, searches=0.1), run(2, searches=0.9), "{tool_calls: {max_rise: 20%}}"
    )
    assert not result.passed
    result.says("*% more tool calls (2.* to 2.*), p = *: more than the 20 % that are*")


def test_a_rise_within_its_limit_passes(agent):
    result = agent(
        run(1, searches=0.1), run(2, searches=0.9), "{tool_calls: {max_rise: 60%}}"
    )
    assert result.passed


def test_an_advisory_limit_warns(agent):
    result = agent(
        run(1, searches=0.1),
        run(2, searches=0.9),
        "{tool_calls: {max_rise: 20%}, tier: advisory}",
    )
    assert result.passed
    assert [result.verdict for result in result.results] == [Verdict.WARN]


def test_another_order_fails_where_it_has_to_be_the_same(agent):
    result = agent(run(1, searches=1), run(2, searches=1, order=0.8), "{order: same}")
    assert not result.passed
    result.says("*tools are called in another order: *")


def test_a_forbidden_tool_fails_with_the_count_and_the_tasks(agent):
    now = run(1)
    now[5] = row(1, 1, [("delete_user", CITY)])
    result = agent(run(1), now, "{tools: {forbid: [delete_*]}}")
    assert not result.passed
    result.says("*1 of 160 rollouts called `delete_*`, which is forbidden: 1*")


def test_a_share_of_rollouts_may_break_a_rule(agent):
    now = run(1)
    now[5] = row(1, 1, [("delete_user", CITY)])
    result = agent(run(1), now, "{tools: {forbid: [delete_*]}, allow: 1%}")
    assert result.passed


def test_a_required_sequence_fails_where_it_is_missing(agent):
    now = run(1)
    now[5] = row(1, 1, [("book", CITY), ("plan", CITY)])
    result = agent(run(1), now, "{sequences: {require: [[plan, book]]}}")
    assert not result.passed
    result.says("*1 of 160 rollouts did not call `plan`, then `book`*")


def test_a_loop_fails(agent):
    now = run(1)
    now[5] = row(1, 1, [("plan", CITY)] * 6)
    result = agent(run(1), now, "{repeats: {max: 3}}")
    assert not result.passed
    result.says("*1 of 160 rollouts had more than 3 repeats of one call*")


def test_a_budget_of_steps_needs_no_baseline(project):
    project.rows("runs.jsonl", [*run(1)[:-1], row(39, 3, [("plan", CITY)] * 30)])
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {steps: {max: 20}}
    """,
    )
    result = evaluated(project)
    assert not result.passed
    result.says("*:*: 1 of 160 rollouts had more than 20 steps: 39*")


def test_an_own_feature_is_compared_and_limited(project):
    project.write(
        "conftest.py",
        """
from pytest_evalmetrics import register_behaviour

@register_behaviour("exclamations")
def exclamations(turns):
    return turns[-1].text.count("!")
""",
    )
    rows = [row(task, 0, [("plan", CITY)]) for task in range(20)]
    rows[3] = row(3, 0, [("plan", CITY)], answer="Done!!")
    project.rows("runs.jsonl", rows)
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {limits: {exclamations: {max: 1}}}
    """,
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 of 20 rollouts had more than 1 exclamations: 3*"])


def test_a_feature_that_fails_names_the_row(project):
    project.write(
        "conftest.py",
        """
from pytest_evalmetrics import register_behaviour

@register_behaviour("broken")
def broken(turns):
    return turns[17].text
""",
    )
    project.rows("runs.jsonl", run(1))
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {features: [broken]}
    """,
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the behaviour 'broken' failed for runs.jsonl:1: IndexError*"]
    )
    assert "Traceback" not in result.stdout.str()


def test_an_unknown_feature_is_refused(project):
    project.rows("runs.jsonl", run(1))
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {features: [nothing]}
    """,
    )
    result = evaluated(project)
    assert not result.passed
    result.says("*there is no behaviour 'nothing'*")


def test_rows_without_a_transcript_are_noted_and_gate_nothing_silently(project):
    project.rollouts([[1, 1], [0, 1]])
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {tools: {forbid: [delete_*]}}
    """,
    )
    result = evaluated(project)
    assert not result.passed
    result.says("*no rollout has a transcript that can be read*")


def test_a_loader_of_numbers_alone_has_no_transcripts(project):
    project.write(
        "conftest.py",
        """
import numpy as np

from pytest_evalmetrics.ext import Chunk, register_loader

@register_loader("numbers")
class Numbers:
    def __init__(self, request):
        pass

    def read(self, source):
        yield Chunk(
            places=np.arange(1, 5),
            task=["a", "b", "c", "d"],
            sample=[0] * 4,
            agent=[None] * 4,
            scores={"reward": np.ones(4)},
        )
""",
    )
    project.write("runs.txt", "1")
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: {path: runs.txt, format: numbers}
          behaviour: true
        """,
    )
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*behaviour: 4 of 4 rollouts have no transcript that can be read*"]
    )


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("{tool_call: {max: 3}}", "*did you mean*tool_calls*"),
        ("{tool_calls: {}}", "*expected max_rise, max_fall, max or min*"),
        ("{steps: {min: 5, max: 3}}", "*min 5 is above max 3: nothing can pass*"),
        ("{features: [steps]}", "*'steps' is built in*"),
        ("yes please", "*expected true, false, or a mapping with tool_calls*"),
        ("{sequences: {forbid: [[plan]]}}", "*sequences.forbid*"),
    ],
)
def test_wrong_keys_are_refused_with_their_line(project, behaviour, message):
    project.rows("runs.jsonl", run(1))
    write_bench(project, BENCH.format(behaviour=behaviour))
    with pytest.raises(ConfigError) as refused:
        evaluated(project)
    assert fnmatch(
        str(refused.value), f"*agent.bench.yaml:8: benchmark.behaviour{message}"
    )


def test_an_update_accepts_a_change_of_behaviour(project):
    bench = BENCH.format(behaviour="{order: same, tools: {forbid: [delete_*]}}")
    write_bench(project, bench.replace("{rollouts: old.jsonl}", "true"))
    project.rows("runs.jsonl", run(1, searches=1))
    assert evaluated(project, updates=True).passed
    project.rows("runs.jsonl", run(2, searches=1, order=0.8))
    assert not evaluated(project).passed
    assert evaluated(project, updates=True).passed
    assert evaluated(project).passed


def test_an_update_still_checks_the_rules(project):
    bench = BENCH.format(behaviour="{tools: {forbid: [search]}}")
    write_bench(project, bench.replace("{rollouts: old.jsonl}", "true"))
    project.rows("runs.jsonl", run(1, searches=1))
    assert not evaluated(project, updates=True).passed


# -- several runs of the baseline ------------------------------------------------------------

SEVERAL = BENCH.replace("{{rollouts: old.jsonl}}", "{{rollouts: {runs}}}")
# an agent whose runs differ as a whole, as where each starts another server
SHIFTS = (0.15, 0.45, 0.2, 0.5, 0.3)


def test_a_shift_as_large_as_those_between_earlier_runs_is_no_finding(project):
    for number, searches in enumerate(SHIFTS):
        project.rows(f"run{number}.jsonl", run(number, searches=searches))
    project.rows("runs.jsonl", run(9, searches=0.55))
    one = "[[run0.jsonl]]"
    write_bench(project, SEVERAL.format(runs=one, behaviour="true"))
    assert "`search` is called in" in evaluated(project).text
    all_runs = str([[f"run{number}.jsonl"] for number in range(len(SHIFTS))])
    write_bench(project, SEVERAL.format(runs=all_runs, behaviour="true"))
    result = evaluated(project)
    assert result.passed
    assert "changed: behaviour" not in result.text


@pytest.fixture
def several_runs(project):
    """A committed baseline of runs that differ as a whole."""
    bench = BENCH.format(behaviour="true").replace("{rollouts: old.jsonl}", "true")
    write_bench(project, bench)
    for number, searches in enumerate(SHIFTS):
        project.rows("runs.jsonl", run(number, searches=searches))
        evaluated(project, updates=True, adds_run=True)
    return project


def test_a_committed_baseline_keeps_the_behaviour_of_several_runs(several_runs):
    path = several_runs.baseline("agent.bench/agent.json")
    (agent,) = json.loads(path.read_text(encoding="utf-8"))["agents"].values()
    assert len(agent["behaviour"]["earlier"]) == len(SHIFTS) - 1
    several_runs.rows("runs.jsonl", run(9, searches=0.55))
    result = evaluated(several_runs)
    assert result.passed
    assert "changed: behaviour" not in result.text
    several_runs.rows("runs.jsonl", run(9, searches=0.2, order=1.0))
    evaluated(several_runs).says("*behaviour: same score; *`search` before `plan`*")


def test_answers_that_differ_as_those_of_earlier_runs_are_no_churn(project):
    words = [
        ["the", "flight", "is", "booked", "for", "you", "now"],
        ["your", "seat", "has", "been", "reserved", "as", "requested"],
        ["everything", "went", "well", "and", "tickets", "were", "sent"],
        ["we", "found", "one", "flight", "which", "suits", "them"],
        ["it", "leaves", "at", "nine", "from", "gate", "two"],
    ]
    for number in range(4):
        project.rows(f"run{number}.jsonl", run(number, answer=words[number]))
    project.rows("runs.jsonl", run(9, answer=words[4]))
    all_runs = str([[f"run{number}.jsonl"] for number in range(4)])
    write_bench(project, SEVERAL.format(runs="[[run0.jsonl]]", behaviour="true"))
    assert "of answers changed" in evaluated(project).text
    write_bench(project, SEVERAL.format(runs=all_runs, behaviour="true"))
    assert "of answers changed" not in evaluated(project).text


# -- without a benchmark file ----------------------------------------------------------------


def test_compare_says_what_another_run_does_otherwise(project):
    project.rows("old.jsonl", run(1, searches=0.2))
    project.rows("new.jsonl", run(2, searches=0.7))
    command = [sys.executable, "-m", "pytest_evalmetrics", "compare"]
    files = ["old.jsonl", "new.jsonl"]
    plain = completed([*command, *files], project.path)
    assert plain.returncode == 0
    assert "behaviour" not in plain.stdout
    asked = completed([*command, *files, "--behaviour"], project.path)
    assert asked.returncode == 0
    words = " ".join(asked.stdout.split())
    assert "new.jsonl: behaviour: same score; " in words
    assert "`search` is called in" in words


# -- very many rollouts ----------------------------------------------------------------------


@pytest.fixture
def few_are_many(monkeypatch):
    """Let 600 rollouts, and the answers of 300, be the most that are compared."""
    monkeypatch.setattr(behaving, "_MOST", 600)
    monkeypatch.setattr(behaving, "_MOST_ANSWERS", 300)


@pytest.mark.usefixtures("few_are_many")
def test_very_many_rollouts_are_compared_in_the_same_part_of_their_tasks(
    agent, project
):
    result = agent(run(1, tasks=300, searches=0.2), run(2, tasks=300, searches=0.3))
    assert result.passed
    (facts,) = project.report()["benchmarks"][0]["behaviour"]
    # half of 300, by a hash: three standard deviations are 26
    assert 124 <= facts["tasks"] <= 176
    assert {
        change["tasks"] for change in facts["changes"] if change["kind"] == "tool"
    } == {facts["tasks"]}
    assert facts["churn"]["tasks"] > 10
    result.says("*of 300 tasks are compared, chosen by a hash*")


@pytest.mark.usefixtures("few_are_many")
def test_a_small_agent_beside_a_large_one_is_compared_in_all_its_tasks(agent, project):
    def of_both(seed, searches):
        large = run(seed, tasks=200)
        small = run(seed, tasks=20, searches=searches)
        return [
            *({**one, "agent_ref": {"name": "large"}} for one in large),
            *({**one, "agent_ref": {"name": "small"}} for one in small),
        ]

    result = agent(of_both(1, 0.0), of_both(2, 1.0), "{order: same}")
    assert result.passed
    large, small = project.report()["benchmarks"][0]["behaviour"]
    assert large["tasks"] < large["of_tasks"] == 200
    assert small["tasks"] == small["of_tasks"] == 20
    result.says("*changed: small: behaviour: *`search` is called in*")


@pytest.mark.usefixtures("few_are_many")
def test_rules_see_every_one_of_very_many_rollouts(project):
    rows = run(1, tasks=300)
    for task in range(0, 300, 100):
        rows[4 * task] = row(task, 0, [("delete_user", CITY)])
    project.rows("runs.jsonl", rows)
    write_bench(
        project,
        """
        benchmark:
          name: agent
          rollouts: runs.jsonl
          behaviour: {tools: {forbid: [delete_*]}}
        """,
    )
    result = evaluated(project)
    assert not result.passed
    result.says("*3 of 1200 rollouts called `delete_*`*")


def test_tasks_are_chosen_by_their_content_where_there_is_some():
    table, _ = table_of(run(1, tasks=400, samples=1))
    content = np.array([f"{number:012x}" for number in range(400)], dtype="S12")
    before = structs.replace(table, content=content)
    now = structs.replace(table, content=content[::-1].copy())
    chosen = behaving._chosen(before, 100, of=400)
    assert 60 < chosen.sum() < 140
    np.testing.assert_array_equal(behaving._chosen(now, 100, of=400), chosen[::-1])
