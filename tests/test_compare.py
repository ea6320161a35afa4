"""Runs compared without a benchmark file: against scipy and statsmodels, and what is printed."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from forked import completed
from scipy import stats as oracle
from statsmodels.stats.weightstats import ttost_paired

from pytest_evalmetrics.commands import main
from pytest_evalmetrics.stats import paired_score_p

RNG = np.random.default_rng(7)
BEFORE = (RNG.random((60, 4)) < 0.7).astype(float)
AFTER = np.where(RNG.random((60, 4)) < 0.25, 0.0, BEFORE)
NEARLY = np.where(RNG.random((60, 4)) < 0.03, 1 - BEFORE, BEFORE)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """Write three runs: the first one, a worse one, and one that is nearly the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, rewards in (("before", BEFORE), ("after", AFTER), ("nearly", NEARLY)):
        save(tmp_path / f"{name}.jsonl", rewards)
    return tmp_path


def save(path, rewards, **more):
    path.parent.mkdir(exist_ok=True)
    rows = [
        {"id": f"t{t}", "try": s, "ok": reward, "answer": f"{t} {reward}", **more}
        for t, task in enumerate(rewards.tolist())
        for s, reward in enumerate(task)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


ASKED = ("--task", "id", "--sample", "try", "--reward", "ok")


@pytest.fixture
def compared(capsys):
    """Let runs be compared; give each difference."""

    def compare(*args):
        capsys.readouterr()
        assert main(["compare", *args, "--format", "json"]) in (0, 1)
        return [
            SimpleNamespace(**d)
            for d in json.loads(capsys.readouterr().out)["differences"]
        ]

    return compare


def test_the_numbers_are_those_of_a_paired_t_test(compared):
    (difference,) = compared("before.jsonl", "after.jsonl", *ASKED, "--margin", "0.05")
    one, other = BEFORE.mean(axis=1), AFTER.mean(axis=1)
    theirs = oracle.ttest_rel(other, one)
    interval = theirs.confidence_interval(0.95)
    assert difference.change == pytest.approx((other - one).mean())
    assert (difference.low, difference.high) == pytest.approx(
        (interval.low, interval.high)
    )
    assert difference.p < 1e-6
    assert (difference.worse, difference.better) == (
        int((other < one).sum()),
        int((other > one).sum()),
    )
    assert (difference.verdict, difference.tasks, difference.equivalent) == (
        "FAIL",
        60,
        False,
    )
    assert difference.churn == pytest.approx((BEFORE != AFTER).mean())
    assert difference.worst[0] == f"t{(one - other).argmax()}"


def test_files_of_any_layout_are_guessed(compared):
    for name, rewards in (("old.json", BEFORE), ("new.json", AFTER)):
        cases = [
            {
                "question_id": f"q{t}",
                "answer": f"{t}",
                "verdict": "PASS" if task[0] else "FAIL",
            }
            for t, task in enumerate(rewards)
        ]
        with Path(name).open("w") as file:
            json.dump({"run": {"id": name}, "results": cases}, file)
    (difference,) = compared("old.json", "new.json")
    assert difference.change == pytest.approx((AFTER - BEFORE)[:, 0].mean())
    assert (difference.tasks, difference.verdict) == (60, "FAIL")


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.2])
def test_equivalence_is_that_of_statsmodels(compared, margin):
    (difference,) = compared(
        "before.jsonl", "nearly.jsonl", *ASKED, "--margin", str(margin)
    )
    p, *_ = ttost_paired(NEARLY.mean(axis=1), BEFORE.mean(axis=1), -margin, margin)
    assert difference.p_equivalent == pytest.approx(p)
    assert difference.equivalent == (p < 0.05)
    assert difference.verdict == "PASS"


BY_WER = (
    "old.jsonl",
    "new.jsonl",
    "--task",
    "id",
    "--sample",
    "try",
    "--reward",
    "wer",
)
# the score beside a reward, which is another column
MEAN_WER = (*BY_WER[:6], "--reward", "try", "--metric", "mean/wer")


@pytest.fixture
def of_wer(runs):
    """Two runs with word error rates: the new one has only errors."""
    # two runs show nothing but a collapse: noise between runs is unknown
    for name, rates in (("old", 1 - BEFORE), ("new", np.ones_like(AFTER))):
        path = runs / f"{name}.jsonl"
        save(path, rates)
        path.write_text(path.read_text().replace('"ok"', '"wer"'))


COMMANDS = pytest.mark.parametrize("command", ["compare", "culprit"])


@pytest.mark.usefixtures("of_wer")
@COMMANDS
def test_a_reward_is_to_rise_whatever_it_is_called(command):
    assert main([command, *BY_WER]) == 0
    assert main([command, *BY_WER, "--direction", "higher"]) == 0


@pytest.mark.usefixtures("of_wer")
@COMMANDS
def test_a_score_of_which_less_is_better_is_named_so(command):
    assert main([command, *BY_WER, "--direction", "lower"]) == 1


@pytest.mark.usefixtures("of_wer")
def test_a_score_beside_the_reward_of_which_less_is_better_is_named_so():
    assert main(["compare", *MEAN_WER, "--direction", "lower"]) == 1


@pytest.mark.usefixtures("of_wer")
def test_two_runs_of_what_may_be_an_amount_show_no_worse_run(capsys):
    # such as seconds: runs of an unchanged system may differ by a factor
    assert main(["culprit", *MEAN_WER, "--direction", "lower"]) == 0
    assert "no run is worse than those before it (p = 0.11)" in capsys.readouterr().out


@pytest.mark.usefixtures("of_wer")
@COMMANDS
def test_a_score_of_which_nothing_says_which_way_is_better_is_refused(command, capsys):
    assert main([command, *MEAN_WER]) == 2
    said = "nothing says which way is better for mean/wer"
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("of_wer")
@pytest.mark.parametrize("margin", ["nan", "-1", "0"])
def test_a_margin_is_a_number_above_0(margin):
    with pytest.raises(SystemExit):
        main(["compare", *BY_WER, "--margin", margin])


def test_several_candidates_share_the_level_of_a_false_alarm(runs, compared):
    rewards = BEFORE.copy()
    rewards[:8] = rewards[:8] * 0.6
    save(runs / "less.jsonl", rewards)
    asked = ("before.jsonl", "less.jsonl", *ASKED, "--max-drop", "0.001")
    (alone,) = compared(*asked)
    assert alone.verdict == "FAIL"
    level = 0.01 / 10
    assert level < alone.p < 0.01
    assert compared(*asked[:2], *["nearly.jsonl"] * 9, *asked[2:])[0].verdict != "FAIL"


@pytest.mark.parametrize("columns", [60, 200])
def test_what_is_printed_fits_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ["before.jsonl", "after.jsonl", "nearly.jsonl"]
    assert main(["compare", *names, *ASKED, "--margin", "0.05"]) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= columns
    for part in (
        "against before.jsonl",
        "FAIL",
        "PASS",
        "within 0.05",
        "worse tasks: t",
    ):
        assert part in text
    assert "mean_reward fell from" in text


@pytest.fixture
def formatted(runs, capsys):
    """Compare three runs, of which one has a name with marks, in a format."""

    def compare(style):
        (runs / "a|b<i>").mkdir()
        save(runs / "a|b<i>" / "x.jsonl", NEARLY)
        names = ["before.jsonl", "a|b<i>", "after.jsonl"]
        assert main(["compare", *names, *ASKED, "--format", style]) == 1
        return capsys.readouterr().out

    return compare


def test_a_page_escapes_names_and_shows_the_failure(formatted):
    text = formatted("html")
    static = text.partition("<main")[2].partition("</main>")[0]
    assert "a|b&lt;i&gt;" in static
    assert static.count("<td>FAIL</td>") == 1
    assert '"id":"after.jsonl (2)"' in text


def test_a_table_in_markdown_escapes_names(formatted):
    head, line, *rows = formatted("markdown").split("\n\n")[1].splitlines()
    assert head.count("|") == line.count("|") == rows[1].count("|")
    assert "a\\|b\\<i\\>" in rows[0]


def test_reports_are_compared_by_benchmark_and_agent(project, compared, capsys):
    fields = "{task: id, sample: try, agent: agent, reward: ok}"
    project.write(
        "math.bench.yaml",
        f"benchmark: {{name: math, rollouts: {{path: runs/*.jsonl, fields: {fields}}}}}",
    )
    for name, of_a, of_b in (("main", BEFORE, BEFORE), ("branch", AFTER, NEARLY)):
        save(project.path / "runs" / "a.jsonl", of_a, agent="a")
        save(project.path / "runs" / "b.jsonl", of_b, agent="b")
        assert project.run("--evalmetrics-output", f"{name}/").ret == 0
    by_agent = {d.agent: d for d in compared("main", "branch/report.json")}
    assert {agent: d.verdict for agent, d in by_agent.items()} == {
        "a": "FAIL",
        "b": "PASS",
    }
    assert by_agent["a"].change == pytest.approx((AFTER - BEFORE).mean())
    assert by_agent["a"].benchmark == "math"
    path = project.path / "branch" / "report.json"
    renamed = path.read_text().replace('"math"', '"maths"')
    path.write_text(renamed)
    path.with_name("run.json").unlink()
    assert main(["compare", "main", "branch"]) == 1
    assert "holds no benchmark named 'math'" in capsys.readouterr().out


def test_runs_of_other_tasks_are_inconclusive(runs, capsys):
    save(runs / "fewer.jsonl", BEFORE[:50])
    assert main(["compare", "before.jsonl", "fewer.jsonl", *ASKED]) == 1
    text = capsys.readouterr().out
    assert "INCONCLUSIVE" in text
    assert "50 of the baseline's 60 tasks can be compared" in text


@pytest.mark.parametrize(
    ("names", "more", "expected"),
    [
        (
            ["before.jsonl", "gone.jsonl"],
            ASKED,
            "there is no file or folder gone.jsonl",
        ),
        (["before.jsonl", "main"], ASKED, "some are rollouts"),
        (
            ["before.jsonl", "after.jsonl"],
            [*ASKED, "--metric", "pas@1"],
            "did you mean",
        ),
        (
            ["before.jsonl", "after.jsonl"],
            ["--task", "idd"],
            "--task, --sample, --agent and --rew",
        ),
        (
            ["before.jsonl", "after.jsonl"],
            [],
            "sample: try, which tells the rows of a task apart",
        ),
        (["slips.jsonl", "slips.jsonl"], [], "--direction"),
        (["main", "main"], [], "not the report of a run"),
        (["empty.jsonl", "after.jsonl"], ASKED, "empty"),
    ],
)
def test_an_invalid_comparison_is_an_error_of_one_line(
    runs, capsys, names, more, expected
):
    (runs / "main").mkdir()
    (runs / "main" / "report.json").write_text("{}")
    (runs / "empty.jsonl").write_text("")
    (runs / "slips.jsonl").write_text('{"id": 1, "wer": 0.5}\n{"id": 2, "wer": 1.5}\n')
    assert main(["compare", *names, *more]) in (1, 2)
    out, err = capsys.readouterr()
    assert expected in out + err
    assert "Traceback" not in out + err


def test_the_commands(runs, project):
    names = ["before.jsonl", "after.jsonl"]
    command = [
        sys.executable,
        "-m",
        "pytest_evalmetrics",
        "compare",
        *names,
        *ASKED,
    ]
    done = completed(command, runs)
    assert (done.returncode, done.stderr) == (1, "")
    project.rollouts(BEFORE.tolist(), "a/x.jsonl")
    project.rollouts(NEARLY.tolist(), "b/x.jsonl")
    result = project.run("--evalmetrics-compare", "a", "b")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["against a", "PASS *b *mean_reward*"])


def test_a_field_that_is_named_keeps_what_the_first_run_suggests(runs, capsys):
    for name, values in (("a", (1, 2, 3)), ("b", (2, 3, 4))):
        rows = [
            {"key": f"q{n}", "question": f"what is {n}", "wer": value / 10}
            for n, value in enumerate(values)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (runs / f"{name}.jsonl").write_text(text)
    main(["compare", "a.jsonl", "b.jsonl", "--task", "key", "--direction", "lower"])
    out, err = capsys.readouterr()
    assert "reward: wer" in err
    assert "+0.1" in out


def test_identical_single_passes_of_a_few_tasks_are_not_shown_to_be_equivalent(
    runs, compared
):
    ones = np.ones((5, 1))
    save(runs / "five.jsonl", ones)
    save(runs / "again.jsonl", ones)
    asked = ("five.jsonl", "again.jsonl", *ASKED, "--margin")
    (difference,) = compared(*asked, "0.001")
    assert difference.p_equivalent > 0.9


def test_single_passes_are_tested_by_their_score(runs, compared):
    """The t-test would be surer of one task in 60 than so few tasks allow."""
    before = np.ones((60, 1))
    after = before.copy()
    after[0] = 0
    save(runs / "sixty.jsonl", before)
    save(runs / "one less.jsonl", after)
    (difference,) = compared(
        "sixty.jsonl", "one less.jsonl", *ASKED, "--margin", "0.05"
    )
    p, *_ = ttost_paired(after[:, 0], before[:, 0], -0.05, 0.05)
    assert difference.p_equivalent == pytest.approx(paired_score_p(1, 0, 60, 0.05))
    assert difference.p_equivalent > p


def test_single_passes_of_many_tasks_are_shown_to_be_equivalent(runs, compared):
    ones = np.ones((400, 1))
    save(runs / "many.jsonl", ones)
    save(runs / "again.jsonl", ones)
    (difference,) = compared("many.jsonl", "again.jsonl", *ASKED, "--margin", "0.02")
    assert difference.p_equivalent < 0.05


def test_the_benchmarks_of_two_reports_share_the_level_of_a_false_alarm(
    project, compared
):
    fields = "{task: id, sample: try, reward: ok}"
    rollouts = f"{{path: runs.jsonl, fields: {fields}}}"
    names = [f"math{number}" for number in range(10)]
    entries = [f"- {{name: {name}, rollouts: {rollouts}}}" for name in names]
    project.write("math.bench.yaml", "benchmarks:\n" + "\n".join(entries))
    less = BEFORE.copy()
    less[:8] = less[:8] * 0.6
    for name, rewards in (("main", BEFORE), ("branch", less)):
        save(project.path / "runs.jsonl", rewards)
        assert project.run("--evalmetrics-output", f"{name}/").ret == 0
    differences = compared("main", "branch/report.json", "--max-drop", "0.001")
    assert len(differences) == 10
    assert 0.01 / 10 < differences[0].p < 0.01
    assert {difference.verdict for difference in differences} == {"WARN"}


def test_markdown_is_a_table_that_fits_github_s_column(capsys):
    names = ["before.jsonl", "after.jsonl"]
    assert main(["compare", *names, *ASKED, "--format", "markdown"]) == 1
    title, table, *_ = capsys.readouterr().out.split("\n\n")
    assert title == "Against before.jsonl:"
    head, _, row = table.splitlines()
    assert (
        head
        == "|  | run | metric | before -> now | change | p | worse / better | churn |"
    )
    assert row.startswith("| ❌ | after.jsonl | mean\\_reward | ")
    assert len(row.replace("\\", "")) < 120


def test_the_changes_are_drawn_on_one_scale(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["before.jsonl", "after.jsonl", "nearly.jsonl"]
    assert main(["compare", *names, *ASKED]) == 1
    lines = capsys.readouterr().out.splitlines()
    drawn = [line for line in lines if "●" in line]
    assert [line.split()[0] for line in drawn] == ["after.jsonl", "nearly.jsonl"]
    zero = {line.index("│") for line in drawn if "│" in line}
    assert len(zero) == 1
    assert drawn[0].endswith("  │ no change")


def test_the_mark_of_no_change_is_explained_below_where_there_is_no_room(
    capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "60")
    main(["compare", "before.jsonl", "after.jsonl", *ASKED])
    assert "│ no change" in capsys.readouterr().out.splitlines()


def test_tasks_that_the_first_run_lacks_are_named_and_causes_follow_the_loss(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    old = [{"task": f"t{n}", "reward": 1, "lang": "en"} for n in range(40)]
    new = [
        {"task": f"t{n}", "reward": int(n >= 15), "lang": ["en", "ja"][n < 15]}
        for n in range(41)
    ]
    for name, rows in (("old.jsonl", old), ("new.jsonl", new)):
        lines = [json.dumps(row) for row in rows]
        (tmp_path / name).write_text("\n".join(lines))
    arguments = ["--task", "task", "--reward", "reward"]
    assert main(["compare", "old.jsonl", "new.jsonl", *arguments]) == 1
    text = capsys.readouterr().out
    assert "new.jsonl tasks: 1 new task not in the baseline: t40 (reward 1)" in text
    assert text.index("in common: lang ja") > text.index("mean_reward fell from 1")


def test_the_files_of_a_folder_that_are_not_read_are_named(runs, capsys):
    (runs / "bare").mkdir()
    save(runs / "bare" / "x.jsonl", BEFORE)
    (runs / "bare" / "meta.json").write_text('{"meta": 1}')
    assert main(["compare", "bare", "bare"]) == 0
    assert "not read of bare: meta.json" in capsys.readouterr().err


def test_folders_below_a_folder_are_read(runs, capsys):
    (runs / "deep" / "a").mkdir(parents=True)
    save(runs / "deep" / "a" / "x.jsonl", BEFORE)
    assert main(["compare", "deep", "deep"]) == 0
    assert " 60 " in capsys.readouterr().out


def save_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


JUDGED = [{"id": number, "score": 5 + number % 3} for number in range(30)]
SOME_UNJUDGED = [{**row, "score": -1} if row["id"] in (1, 2) else row for row in JUDGED]


def test_a_number_that_may_mean_not_judged_is_asked_about(runs, capsys):
    save_rows(runs / "new.jsonl", SOME_UNJUDGED)
    save_rows(runs / "old.jsonl", JUDGED)
    assert main(["compare", "old.jsonl", "new.jsonl"]) == 2
    error = capsys.readouterr().err
    assert (
        "new.jsonl: a value may mean that nobody judged: [-1] if -1, in 2 of" in error
    )
    assert "--missing VALUE, or --missing none" in error


@pytest.mark.parametrize(("value", "missing"), [("-1", True), ("none", False)])
def test_missing_says_what_such_a_number_means(runs, capsys, value, missing):
    save_rows(runs / "new.jsonl", SOME_UNJUDGED)
    save_rows(runs / "old.jsonl", JUDGED)
    main(["compare", "old.jsonl", "new.jsonl", "--missing", value])
    assert ("2 rollouts have no finite reward" in capsys.readouterr().out) is missing


def save_tasks(path, lost, **fields):
    """Write a run of 40 tasks, `task 1` to `task 40`; the odd ones are written by hand."""
    rows = []
    for number in range(1, 41):
        kind = "hand" if number % 2 else "generated"
        reward = 0 if number in lost else 1
        row = {"id": f"task {number}", "kind": kind, "ok": reward, **fields}
        rows.append(json.dumps(row) + "\n")
    with path.open("a") as file:
        file.writelines(rows)


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_what_the_worse_tasks_have_in_common_is_said(runs, capsys, style):
    save_tasks(runs / "old.jsonl", lost=[])
    save_tasks(runs / "new.jsonl", lost=range(1, 31, 2))
    names = ["old.jsonl", "new.jsonl", "--task", "id", "--reward", "ok"]
    assert main(["compare", *names, "--format", style]) == 1
    text = capsys.readouterr().out.replace("\\", "")
    assert "in common: kind hand (15 of 20 worse; others 0 of 20)" in text


def test_worse_tasks_are_named_in_natural_order(runs, compared):
    save_tasks(runs / "old.jsonl", lost=[])
    save_tasks(runs / "new.jsonl", lost=range(1, 31))
    names = ["old.jsonl", "new.jsonl", "--task", "id", "--reward", "ok"]
    (difference,) = compared(*names)
    assert difference.worst == ["task 1", "task 2", "task 3", "task 4", "task 5"]


def test_the_sentence_of_a_change_names_its_metric_once(runs, capsys):
    save_tasks(runs / "old.jsonl", lost=[])
    save_tasks(runs / "new.jsonl", lost=range(1, 31))
    names = ["old.jsonl", "new.jsonl", "--task", "id", "--reward", "ok"]
    assert main(["compare", *names]) == 1
    text = capsys.readouterr().out
    assert "new.jsonl: mean_reward fell from 1 to 0.25" in text


def test_an_agent_that_the_other_report_lacks_is_inconclusive(project, compared):
    fields = "{task: id, agent: agent, reward: ok}"
    project.write(
        "math.bench.yaml",
        f"benchmark: {{name: math, rollouts: {{path: run.jsonl, fields: {fields}}}}}",
    )
    run = project.path / "run.jsonl"
    save_tasks(run, lost=[], agent="a")
    save_tasks(run, lost=[], agent="b")
    save_tasks(run, lost=[], agent="c")
    assert project.run("--evalmetrics-output", "main/").ret == 0
    run.unlink()
    save_tasks(run, lost=[], agent="a")
    save_tasks(run, lost=[], agent="b")
    assert project.run("--evalmetrics-output", "branch/").ret == 0
    verdicts = {d.agent: d.verdict for d in compared("main", "branch")}
    assert verdicts == {"a": "PASS", "b": "PASS", "c": "INCONCLUSIVE"}


def write_run(name, rewards, field="reward"):
    rows = [{"id": f"t{n}", field: reward} for n, reward in enumerate(rewards)]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("field", ["reward", "score", "correct"])
def test_a_first_run_in_which_all_tasks_pass_is_compared(compared, field):
    write_run("all.jsonl", [1] * 40, field)
    write_run("half.jsonl", [1, 0] * 20, field)
    (difference,) = compared("all.jsonl", "half.jsonl")
    assert difference.baseline == 1
    assert difference.value == 0.5
    assert difference.verdict == "FAIL"


def test_the_words_of_a_first_run_in_which_all_tasks_pass_are_read(compared):
    write_run("all.jsonl", ["pass"] * 40, "verdict")
    write_run("half.jsonl", ["pass", "fail"] * 20, "verdict")
    (difference,) = compared("all.jsonl", "half.jsonl")
    assert (difference.baseline, difference.value) == (1, 0.5)


def test_two_runs_in_which_all_tasks_pass_do_not_differ(compared):
    write_run("all.jsonl", [1] * 40)
    write_run("again.jsonl", [1] * 40)
    (difference,) = compared("all.jsonl", "again.jsonl")
    assert (difference.verdict, difference.change) == ("PASS", 0)


def test_the_shared_reward_of_constant_runs_is_said(capsys):
    write_run("all.jsonl", [1] * 40)
    write_run("half.jsonl", [1, 0] * 20)
    assert main(["compare", "all.jsonl", "half.jsonl"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "reward: reward, by its name, which all runs share" in said


def test_a_constant_number_that_the_other_run_lacks_is_asked_about(capsys):
    write_run("all.jsonl", [1] * 40, "score")
    write_run("other.jsonl", [1, 0] * 20, "grade")
    assert main(["compare", "all.jsonl", "other.jsonl"]) == 2
    assert "the reward is not clear: score (always 1)" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--alpha", "--max-drop"])
def test_an_option_with_a_wrong_value_is_named_as_an_option(option, capsys):
    asked = ("before.jsonl", "after.jsonl", *ASKED)
    assert main(["compare", *asked, option, "-7"]) == 2
    error = capsys.readouterr().err
    key = option.removeprefix("--").replace("-", "_")
    assert error.startswith(f"evalmetrics compare: {key}: ")
    assert "baseline" not in error


def test_of_fields_that_are_named_nothing_is_said(capsys):
    main(["compare", "before.jsonl", "after.jsonl", *ASKED])
    assert capsys.readouterr().err == ""


# -- how many answers are others -------------------------------------------------------------


def answers(name, texts, field="answer", agent=None):
    """Append a rollout a task, all of which pass, with these answers."""
    with Path(name).open("a") as file:
        for task, text in enumerate(texts):
            row = {"id": f"t{task}", "try": 0, "ok": 1.0, field: text}
            if agent is not None:
                row["agent"] = agent
            file.write(json.dumps(row) + "\n")


def test_the_share_of_other_answers_is_that_of_the_tasks_in_both_runs(compared):
    answers("old.jsonl", ["a", "b", "c", "d", "left out"])
    answers("new.jsonl", ["a", "b", "c", "x"])
    differences = compared("old.jsonl", "new.jsonl", *ASKED)
    assert {one.churn for one in differences} == {0.25}


@pytest.mark.parametrize("field", ["output_text", "response", "output"])
def test_answers_are_looked_for_in_the_usual_fields(compared, field):
    answers("old.jsonl", ["a", "b", "c", "d"], field)
    answers("new.jsonl", ["a", "b", "x", "x"], field)
    (difference,) = compared("old.jsonl", "new.jsonl", *ASKED)
    assert difference.churn == 0.5


def test_answers_in_another_field_are_named(compared):
    answers("old.jsonl", ["a", "b"], "said")
    answers("new.jsonl", ["a", "x"], "said")
    (unnamed,) = compared("old.jsonl", "new.jsonl", *ASKED)
    (named,) = compared("old.jsonl", "new.jsonl", *ASKED, "--answer", "said")
    assert (unnamed.churn, named.churn) == (None, 0.5)


def test_each_agent_has_its_own_share_of_other_answers(compared):
    answers("old.jsonl", ["a", "b"], agent="x")
    answers("old.jsonl", ["a", "b"], agent="y")
    answers("new.jsonl", ["a", "b"], agent="x")
    answers("new.jsonl", ["a", "c"], agent="y")
    differences = compared("old.jsonl", "new.jsonl", *ASKED, "--agent", "agent")
    assert {one.agent: one.churn for one in differences} == {"x": 0.0, "y": 0.5}


# -- equivalence -----------------------------------------------------------------------------


def rewards(name, values):
    with Path(name).open("w") as file:
        file.writelines(
            json.dumps({"id": f"t{task}", "try": 0, "ok": value}) + "\n"
            for task, value in enumerate(values)
        )


def test_two_tasks_are_the_fewest_that_can_be_equivalent(compared):
    rewards("old.jsonl", [0.50, 0.60])
    rewards("new.jsonl", [0.52, 0.61])
    (difference,) = compared("old.jsonl", "new.jsonl", *ASKED, "--margin", "0.5")
    theirs, *_ = ttost_paired(np.array([0.52, 0.61]), np.array([0.50, 0.60]), -0.5, 0.5)
    assert difference.p_equivalent == pytest.approx(theirs)
    assert difference.equivalent


def test_one_task_shows_no_equivalence(compared):
    rewards("old.jsonl", [0.5])
    rewards("new.jsonl", [0.5])
    (difference,) = compared("old.jsonl", "new.jsonl", *ASKED, "--margin", "0.5")
    assert not difference.equivalent
