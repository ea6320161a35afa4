"""What a calibration prints of each benchmark in place of a run, and the page it leaves."""

from pathlib import Path

import pytest

from pytest_evalmetrics.items.calibration import calibration_lines

RUNS = ([1, 0, 1, 1] * 5, [1, 0, 0, 1] * 5, [1, 1, 0, 1] * 5)
NOISY = """\
benchmark:
  name: noisy
  rollouts: r0.jsonl
  baseline: {rollouts: [[r0.jsonl], [r1.jsonl], [r2.jsonl]]}
  thresholds: {mean_reward: ">= 0.74"}
"""
ONE_RUN = """\
benchmark: {name: once, rollouts: r0.jsonl, baseline: {rollouts: [[r0.jsonl]]}}
"""
TITLE = "settings that fit it, as a patch: git apply takes what is printed from here on"


@pytest.fixture
def calibrated(pytester):
    """Calibrate benchmark files, by their names; give the lines and whether all is well."""

    def calibrate(**files):
        for number, rewards in enumerate(RUNS):
            rows = (
                f'{{"_ng_task_index": {task}, "_ng_rollout_index": 0, "reward": {reward}}}\n'
                for task, reward in enumerate(rewards)
            )
            Path(pytester.path, f"r{number}.jsonl").write_text("".join(rows))
        for name, text in files.items():
            Path(pytester.path, f"{name}.bench.yaml").write_text(text)
        found, _ = pytester.inline_genitems()
        return calibration_lines(found[0].session)

    return calibrate


def test_each_benchmark_has_a_paragraph_under_its_id(calibrated):
    lines, _ = calibrated(a=NOISY, b=ONE_RUN)
    first = lines.index("a.bench.yaml::noisy")
    second = lines.index("b.bench.yaml::once")
    assert lines[first - 1] == ""
    assert lines[first + 1].startswith("flaky: 10 of 20 tasks")
    assert lines[second - 1] == ""
    assert (
        lines[second + 1] == "two runs of the unchanged system are needed, better ten"
    )


def test_noise_that_was_measured_is_no_failure(calibrated):
    _, is_good = calibrated(a=NOISY)
    assert is_good


def test_one_benchmark_without_enough_runs_fails_the_calibration_of_all(calibrated):
    _, is_good = calibrated(a=ONE_RUN, b=NOISY)
    assert not is_good


def test_the_page_is_named_below_the_benchmarks(calibrated, pytester):
    lines, _ = calibrated(a=ONE_RUN)
    page = pytester.path / "evalmetrics" / "calibration.html"
    assert page.is_file()
    assert lines[-2:] == ["", f"the same as a page, with each run's values: {page}"]


def test_a_page_that_can_t_be_written_is_said_and_fails(calibrated, pytester):
    # a file where the folder of the page should be
    (pytester.path / "evalmetrics").write_text("")
    lines, is_good = calibrated(a=NOISY)
    assert not is_good
    at = lines.index(TITLE)
    assert str(pytester.path / "evalmetrics") in lines[at - 2]
    assert not any("the same as a page" in line for line in lines)


def test_the_settings_that_fit_are_a_patch_at_the_end(calibrated):
    lines, _ = calibrated(a=NOISY)
    at = lines.index(TITLE)
    assert lines[at - 1] == ""
    assert lines[at + 1 : at + 3] == ["--- a/a.bench.yaml", "+++ b/a.bench.yaml"]
    assert lines[-2:] == [
        '-  thresholds: {mean_reward: ">= 0.74"}',
        '+  thresholds: {mean_reward: ">= 0.3545"}',
    ]


def test_each_file_has_its_own_patch(calibrated):
    lines, _ = calibrated(a=NOISY, b=NOISY)
    headers = [line for line in lines if line.startswith("--- ")]
    assert headers == ["--- a/a.bench.yaml", "--- a/b.bench.yaml"]


def test_without_a_patch_none_is_announced(calibrated):
    lines, _ = calibrated(a=ONE_RUN)
    assert TITLE not in lines


def test_the_page_holds_the_lines_the_charts_and_the_patch(calibrated, monkeypatch):
    written = []
    monkeypatch.setattr(
        "pytest_evalmetrics.items.calibration.write_noise_page",
        lambda _, data: written.append(data),
    )
    lines, _ = calibrated(a=NOISY, b=ONE_RUN)
    (data,) = written
    noisy, once = data["benchmarks"]
    assert noisy["id"] == "a.bench.yaml::noisy"
    assert noisy["text"][0].startswith("flaky: 10 of 20 tasks")
    assert len(noisy["charts"]) > 0
    assert once["id"] == "b.bench.yaml::once"
    assert once["charts"] == []
    assert data["patch"] == lines[lines.index(TITLE) + 1 :]


# -- runs that are made now ------------------------------------------------------------------

TARGET = """\
benchmark:
  name: asked
  dataset: data.jsonl
  target: "answering:answer"
  scorers: [{type: exact_match, reference: "{{ item.answer }}"}]
  metrics: [mean_reward]
"""
ANSWERING = """\
import itertools
calls = itertools.count()
def answer(item):
    return item["answer"] if next(calls) % 3 else "?"
"""


@pytest.fixture
def printed(pytester, capsys):
    """Calibrate a target whose answers are made now; give what pytest prints."""
    Path(pytester.path, "data.jsonl").write_text(
        "".join(f'{{"question": "{n}?", "answer": "{n}"}}\n' for n in range(20))
    )
    Path(pytester.path, "a.bench.yaml").write_text(TARGET)
    pytester.makepyfile(answering=ANSWERING)
    pytester.syspathinsert()

    def calibrate(*arguments):
        pytester.inline_run("--evalmetrics-calibrate", *arguments)
        return capsys.readouterr().out

    return calibrate


def test_a_target_is_run_as_often_as_asked(printed):
    assert "in 4 runs" in printed("--evalmetrics-runs=4")


def test_runs_of_a_target_leave_no_baseline(printed, pytester):
    printed("--evalmetrics-runs=2")
    assert not list(pytester.path.rglob("*.json"))


@pytest.mark.parametrize("mode", ["off", "refresh"])
def test_runs_that_are_made_now_need_the_journal(printed, mode):
    text = printed("--evalmetrics-runs=2", "-o", f"evalmetrics_journal={mode}")
    assert (
        "\na.bench.yaml::asked\n"
        "calibrate --runs needs the journal: it answers the runs before\n"
    ) in text
