"""A failing run in a terminal of 80 columns, line by line: what failed, is it real, what to do."""

import json
import os
import re
from functools import cache, partial

import pytest
from evaluated import evaluated
from msgspec import structs
from pseudo_terminal import LINK, lines_of, sent_to_terminal

from pytest_evalmetrics.model.results import RunReport
from pytest_evalmetrics.reports import terminal
from pytest_evalmetrics.reports.benchmark_lines import Reading
from pytest_evalmetrics.reports.failure_layout import shown_paragraph

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")

TASKS = 40


def rows(folder, name, lost, *, agent="", task="t{}", tasks=TASKS, **texts):
    """Write two rollouts a task, of which the first `lost` tasks fail."""
    found = [
        {
            "task": task.format(number),
            "sample": sample,
            "reward": float(number >= lost),
            **({"agent_ref": {"name": agent}} if agent else {}),
            "lang": "de" if number < tasks // 4 else "en",
            "expected": f"{number * 7}",
            "response": f"{number * 7}" if number >= lost else "no idea",
            **texts,
        }
        for number in range(tasks)
        for sample in range(2)
    ]
    with (folder / name).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in found)


FIELDS = "fields: {task: task, sample: sample, reward: reward}"


def entry(name, file="new.jsonl", keys=""):
    return f"- {{name: {name}, rollouts: {{path: {file}, {FIELDS}}}{keys}}}\n"


def benchmarks(project, *entries, metrics="[pass@1, pass^2]"):
    shared = f"{{metrics: {metrics}, baseline: {{rollouts: old.jsonl}}}}"
    project.write(
        "a.bench.yaml", f"defaults: {shared}\nbenchmarks:\n{''.join(entries)}"
    )


def seen(project, *flags, columns=80, **environ):
    return lines_of(sent_to_terminal(project.path, *flags, columns=columns, **environ))


def section(lines, title):
    """Return the lines below a rule with a title, up to the next rule of that kind."""
    begins = next(i for i, line in enumerate(lines) if f"= {title} =" in line)
    rest = lines[begins + 1 :]
    ends = next(i for i, line in enumerate(rest) if line.startswith("===="))
    return rest[:ends]


def lose_tasks(project):
    """Write a benchmark that lost 12 of its 40 tasks, with answers."""
    rows(project.path, "old.jsonl", 0)
    rows(project.path, "new.jsonl", 12)
    benchmarks(project, entry("math"))


@pytest.fixture
def regressed(project):
    lose_tasks(project)
    return project


@pytest.fixture(scope="module")
def sent(shared_project):
    """What a run of that benchmark sends to a terminal: one run serves all who ask alike."""
    lose_tasks(shared_project)
    return cache(partial(sent_to_terminal, shared_project.path))


def test_a_failing_benchmark_answers_five_questions_in_twelve_lines(sent):
    rule, *lines = section(lines_of(sent()), "FAILURES")
    assert rule.strip("_") == " math "
    assert lines == [
        # what failed, and over how much
        "FAIL  a.bench.yaml:1: worse than its baseline, 40 tasks x 2",
        # by how much, and is it real
        "verdict  metric          baseline  now     change   95% interval        p",
        "FAIL     pass@1, pass^2  1         0.7000  -0.3000  [-0.4484, -0.1516]  0.00012",
        "  pass@1  ├──────●─────┤      │  │ 0  ┊ gate: no drop >= 0.01 at p < 0.01",
        "  pass^2  ├──────●─────┤      │",
        # which tasks, what was said before and now
        "  t0  2/2 -> 0/2  expected 0  was 0  now no idea",
        "  t1  2/2 -> 0/2  expected 7  was 7  now no idea",
        "  t2  2/2 -> 0/2  expected 14  was 14  now no idea",
        "  in common: answer longer than 3 characters (12 of 12 worse; others 0 of 28)",
        "  ... 9 more: evalmetrics/report.html#/a.bench.yaml::math",
        # what do I do
        "  -> fix the regression; or, if the change is intended, compare with a newer run",
        "  again:  pytest a.bench.yaml::math",
        "changed: 12 tasks went from all passing to none: t0, t1, t2 and 9 more",
    ]


ACCEPT = '  accept: evalmetrics accept math.bench.yaml::math --reason "..."'


def test_a_committed_baseline_has_a_command_that_accepts_the_change(project):
    project.rollouts([[1.0, 1.0]] * TASKS)
    project.bench("metrics: [pass@1]\nbaseline: true")
    assert evaluated(project, updates=True).passed
    project.rollouts([[0.0, 0.0]] * 12 + [[1.0, 1.0]] * 28)
    lines = section(seen(project), "FAILURES")
    assert "  again:  pytest math.bench.yaml::math" in lines
    assert ACCEPT in lines


@pytest.fixture
def lost(project):
    """Tasks that pass now and then keep the rollouts that passed."""
    project.bench("metrics: [pass@1]\nexpect: {rollouts: any}\nbaseline: true")
    steady = [[1.0] * 4] * 40
    project.rollouts(steady + [[1.0, 0.0, 1.0, 0.0]] * 20)
    assert evaluated(project, updates=True).passed
    project.rollouts(steady + [[1.0]] * 20)
    return project


def test_rollouts_that_are_lost_where_it_fails_are_the_first_thing_said(lost):
    summary = section(seen(lost), "short test summary info")
    assert summary == [
        "FAILED math.bench.yaml::math - pass@1: more is missing than in the baseline...",
    ]


def test_a_cause_is_said_whole(lost):
    words = " ".join(" ".join(evaluated(lost).lines).split())
    assert "at their worst pass@1 would be 0.75 against 0.8333" in words


def test_a_task_that_broke_has_the_command_that_accepts_it(project):
    varied = [[1.0] * 5 + [0.0] * 5] * TASKS
    project.rollouts([[1.0] * 10, *varied])
    project.bench("metrics: [pass@1]\nbaseline: true\nindependent: true")
    assert evaluated(project, updates=True).passed
    project.rollouts([[0.0] * 10, *varied])
    evaluation = evaluated(project)
    evaluation.says("FAIL  math.bench.yaml:5: 1 of 41 tasks got worse*")
    assert ACCEPT in evaluation.lines


@pytest.mark.parametrize(
    ("columns", "flags"),
    [(80, ()), (80, ("-v",)), (80, ("-q",)), (80, ("-rA",)), (120, ())],
)
def test_no_line_is_wider_than_the_terminal(sent, columns, flags):
    lines = lines_of(sent(*flags, columns=columns))
    begins = next(i for i, line in enumerate(lines) if "= FAILURES =" in line)
    for line in lines[begins:]:
        assert len(line) <= columns, line


def test_no_word_is_broken(sent):
    narrow = " ".join(section(lines_of(sent()), "FAILURES")).split()
    wide = " ".join(section(lines_of(sent(columns=400)), "FAILURES")).split()
    strokes = set("├─●┤┊│_=")
    words = [word for word in narrow if not strokes & set(word)]
    assert [word for word in words if word not in wide and "..." not in word] == []


def few_tasks(project, count):
    """Write benchmarks that lost eight of ten tasks each."""
    rows(project.path, "old.jsonl", 0, tasks=10)
    rows(project.path, "new.jsonl", 8, tasks=10)
    benchmarks(project, *(entry(f"b{number:02}") for number in range(count)))


def test_twenty_failing_benchmarks_are_less_than_a_hundred_lines(project):
    few_tasks(project, 20)
    lines = seen(project)
    assert len(lines) <= 100
    # each is named with its reason where pytest names what failed
    failed = [line for line in lines if line.startswith("FAILED a.bench.yaml::b")]
    assert len(failed) == 20


def test_of_many_failing_benchmarks_the_surest_twenty_have_failed_lines(project):
    few_tasks(project, 22)
    lines = seen(project)
    assert sum(line.startswith("FAILED a.bench.yaml::b") for line in lines) == 20
    assert "2 more FAILED lines: -rf" in lines


def test_every_failed_line_is_there_where_it_is_asked_for(project):
    few_tasks(project, 22)
    lines = section(seen(project, "-rf"), "short test summary info")
    assert sum(line.startswith("FAILED a.bench.yaml::b") for line in lines) == 22


def test_the_failing_agent_its_slice_and_its_tasks_come_first(project):
    for agent, lost in (("alpha", 0), ("beta", 12), ("gamma", 0)):
        rows(project.path, "old.jsonl", 0, agent=agent)
        rows(project.path, "new.jsonl", lost, agent=agent)
    keys = ", breakdown: [lang]"
    benchmarks(project, entry("math", keys=keys), metrics="[pass@1]")
    text = (project.path / "a.bench.yaml").read_text()
    named = "reward: reward, agent: agent_ref.name"
    project.write("a.bench.yaml", text.replace("reward: reward", named))
    lines = seen(project)
    _, head, _, first, second, *_ = section(lines, "FAILURES")
    assert head == "FAIL  a.bench.yaml:3: beta is worse than its baseline, 40 tasks x 2"
    assert first.startswith("FAIL     pass@1[lang=de]  1  ")
    assert second.startswith("FAIL     pass@1 ")
    agents = section(lines, "benchmarks")[:3]
    assert agents == [
        "FAIL  a.bench.yaml::math  pass@1 (beta), slices (beta)",
        "      alpha: pass@1 1 (was 1)",
        "      gamma: pass@1 1 (was 1)",
    ]


def test_a_failed_line_fits_a_terminal_with_colours(project):
    rows(project.path, "old.jsonl", 0)
    rows(project.path, "new.jsonl", 12)
    name = "mathematics-of-the-second-year"
    benchmarks(project, entry(name))
    lines = section(seen(project), "short test summary info")
    assert lines == [f"FAILED a.bench.yaml::{name} - pass@1 fell from 1 to..."]


ARABIC = "\u0645\u0647\u0645\u0629"


def test_an_id_from_right_to_left_moves_nothing_beside_it(project):
    rows(project.path, "old.jsonl", 0, task=f"{ARABIC}-{{}}")
    rows(project.path, "new.jsonl", 12, task=f"{ARABIC}-{{}}")
    benchmarks(project, entry("math"))
    lines = section(seen(project), "FAILURES")
    tasks = [line for line in lines if ARABIC in line and "->" in line]
    assert (
        tasks[0]
        == f"  \u2068{ARABIC}-0\u2069  2/2 -> 0/2  expected 0  was 0  now no idea"
    )


HOSTILE = "\x1b[31m\x9b2J\x07\r\n::error::\x1b]8;;http://x\x1b\\{}\u202e"


def test_no_escape_sequence_of_a_file_reaches_the_terminal(project):
    answer = {"response": HOSTILE, "expected": HOSTILE}
    rows(project.path, "old.jsonl", 0, task=HOSTILE, **answer)
    rows(project.path, "new.jsonl", 12, task=HOSTILE, **answer)
    benchmarks(project, entry("math"))
    sent = sent_to_terminal(project.path, "-v")
    ours = re.sub(r"\x1b\[[\d;]*m", "", LINK.sub("", sent))
    assert not set("\x1b\x9b\x07\u202e") & set(ours)
    assert not any(line.startswith("::error") for line in lines_of(sent))
    assert all(
        address == "" or address.startswith("file:///")
        for address in LINK.findall(sent)
    )


def test_the_page_of_the_benchmark_is_a_link(sent, shared_project):
    page = (shared_project.path / "evalmetrics/report.html").as_uri()
    link = f"\x1b]8;;{page}#/a.bench.yaml::math\x1b\\evalmetrics/report.html#/"
    assert link in sent()


def test_a_long_address_of_the_page_is_in_the_link_alone(regressed):
    path = regressed.path / "a/long/folder/with/many/names/of/a/repository"
    path.mkdir(parents=True)
    for file in ("a.bench.yaml", "old.jsonl", "new.jsonl"):
        (regressed.path / file).rename(path / file)
    lines = section(seen(regressed), "FAILURES")
    assert "  ... 9 more: evalmetrics/report.html" in lines


def test_a_terminal_that_knows_no_links_gets_none(sent):
    text = sent(TERM="dumb")
    assert "\x1b]8;;" not in text
    assert "evalmetrics/report.html#/a.bench.yaml::math" in text


def test_an_encoding_without_lines_gets_others(sent):
    ascii_alone = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    lines = lines_of(sent(**ascii_alone))
    assert any(line.startswith("  pass@1  [------o-----]      |") for line in lines)


def test_what_could_not_be_judged_is_purple_and_has_its_own_word(project):
    project.rollouts([[1.0]] * 10)
    project.bench("metrics: [pass@1]\nbaseline: true")
    sent = sent_to_terminal(project.path)
    text = "INCONCLUSIVE  math.bench.yaml:5: there is no baseline yet to compare with"
    assert f"\x1b[35m{text}" in sent


def test_rewards_that_all_agents_lack_name_every_agent(project):
    for agent in ("alpha", "beta", "gamma"):
        rows(project.path, "new.jsonl", 0, agent=agent, reward=None)
    named = "reward: reward, agent: agent_ref.name"
    text = entry("lost").replace("reward: reward", named)
    project.write("a.bench.yaml", f"benchmarks:\n{text}")
    lines = section(seen(project), "FAILURES")
    assert lines[1].startswith(
        "FAIL  a.bench.yaml:2: alpha, beta, gamma: 80 rollouts have no finite reward"
    )


# -- benchmarks that pass ---------------------------------------------------------------------


def test_a_pass_says_what_it_was_held_against_and_what_it_would_see(project):
    rows(project.path, "old.jsonl", 4)
    rows(project.path, "new.jsonl", 5)
    benchmarks(project, entry("math"), metrics="[pass@1]")
    assert section(seen(project), "benchmarks")[:2] == [
        "PASS  a.bench.yaml::math  pass@1 0.8750 (was 0.9000, -0.0250, p 0.25;",
        "      drop NOT PROVEN), 40 tasks, 80 rollouts, sees losses from 0.15 on",
    ]


def test_a_drop_that_would_matter_if_it_were_real_stands_out(project):
    rows(project.path, "old.jsonl", 0)
    rows(project.path, "new.jsonl", 3)
    benchmarks(project, entry("math"), metrics="[pass@1]")
    sent = sent_to_terminal(project.path)
    line = "PASS  a.bench.yaml::math  pass@1 0.9250 (was 1, -0.0750, p 0.062;"
    assert f"\x1b[33m{line}" in sent
    assert "      drop NOT PROVEN), 40 tasks, 80 rollouts" in "\n".join(lines_of(sent))


def test_quiet_runs_have_a_line_for_each_benchmark(regressed):
    rows(regressed.path, "same.jsonl", 0)
    benchmarks(regressed, entry("math"), entry("sums", "same.jsonl"))
    assert section(seen(regressed, "-q"), "benchmarks")[:3] == [
        "FAIL  a.bench.yaml::math  pass@1 0.7000 (was 1, p 0.00012)",
        "PASS  a.bench.yaml::sums  pass@1 1 (was 1), pass^2 1 (was 1), 40 tasks...",
        "2 benchmarks: 1 PASS, 1 FAIL",
    ]


def test_nothing_gated_is_said_and_a_first_recording_is_not_called_so(project):
    project.rollouts([[1.0]] * 10 + [[0.0]] * 10)
    project.bench("metrics: [pass@1]\nbaseline: true\nexpect: {tasks: 20}")
    assert "1 benchmark: 1 PASS" in seen(project, "-q", "--snapshot-update")
    project.bench("metrics: [pass@1]\nexpect: {tasks: 20}")
    assert "1 benchmark: 1 PASS (1 with nothing gated)" in seen(project, "-q")


def test_a_warning_under_w_error_is_a_failure_at_the_gate_s_line(project):
    rows(project.path, "old.jsonl", 0)
    rows(project.path, "new.jsonl", 5)
    benchmarks(project, entry("math"), metrics="[pass@1]")
    assert "WARN" in "\n".join(seen(project, "-q"))
    lines = seen(project, "-W", "error")
    _, why, reason, *_ = section(lines, "FAILURES")
    assert why == "a warning, which fails here because of -W error:"
    assert reason.startswith("WARN  a.bench.yaml:1: pass@1 fell from 1 to 0.875")
    assert not any("pytest_evalmetrics/" in line for line in lines)
    assert not any("was not evaluated" in line for line in lines)


def test_a_hundred_benchmarks_are_a_screen_or_two(project):
    rows(project.path, "old.jsonl", 0, tasks=20)
    rows(project.path, "new.jsonl", 0, tasks=20)
    benchmarks(project, entry("b"), metrics="[pass@1]")
    (result,) = evaluated(project).results
    results = tuple(
        structs.replace(result, id=f"{result.id}{n:04}") for n in range(100)
    )
    report = RunReport(benchmarks=results)
    written = terminal.section(report, [], Reading(width=80))
    lines = shown_paragraph([line for line, _ in written], 80)
    assert len(lines) < 50
    assert all(len(line) <= 80 for line in lines)
    assert "... and 70 more that pass (-v shows them)" in lines
