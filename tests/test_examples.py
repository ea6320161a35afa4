"""The examples that ship with the project do what README says."""

import shutil
import subprocess
import sys
from http.server import ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread

EXAMPLES = Path(__file__).parents[1] / "examples"


def copied(project, *names):
    folders = [
        shutil.copytree(EXAMPLES / n, project.path / "examples" / n) for n in names
    ]
    return [Path(folder) for folder in folders]


def test_examples_are_as_their_commands_write_them_and_pass(project):
    folders = copied(project, "digits", "ocr", "agent_tools", "online", "judge")
    runs = [*folders[2].glob("runs/*.jsonl")]
    baselines = [
        file for folder in folders for file in folder.glob("__baselines__/*/*.json")
    ]
    assert (len(runs), len(baselines)) == (4, 5)
    before = {file: file.read_bytes() for file in (*runs, *baselines)}
    for file in runs:
        file.unlink()
    subprocess.run([sys.executable, str(folders[2] / "make.py")], check=True)
    project.run("--snapshot-update", "-n", "1")
    assert {file: file.read_bytes() for file in before} == before
    result = project.run()
    result.assert_outcomes(passed=10, xfailed=2)
    for line in (
        "PASS * examples/digits/digits.bench.yaml::forest  pass@1 0.9600*",
        "PASS * examples/digits/digits.bench.yaml::logistic  pass@1 0.9675*",
        "FAIL * examples/digits/*.yaml::regressed-forest (xfail)  pass@1 0.8912*",
        "FAIL * examples/ocr/ocr.bench.yaml::int7 (xfail) *0.6267*",
        "PASS * examples/agent_tools/*.bench.yaml::conversations  mean_reward 0.9302*",
        "PASS * examples/agent_tools/*.bench.yaml::parallel  mean_reward 0.9125*",
        "PASS * examples/online/units.bench.yaml::units  pass@1 0.7917*",
    ):
        result.stdout.fnmatch_lines([line])
    assert (project.path / "evalmetrics/rollouts.jsonl").read_text().count("\n") == 48


def test_another_prompt_keeps_the_score_and_changes_what_the_agent_does(project):
    copied(project, "agent_tools")
    result = project.run("examples/agent_tools", "-k", "prompt-change")
    result.assert_outcomes(passed=1)
    (line,) = [line for line in result.outlines if "changed: behaviour" in line]
    assert "behaviour: same score; " in line
    assert "19.6 % more tool calls (3.06 to 3.66)" in line
    assert "`compare_prices` is called in 66.2 % of rollouts (6.25 % before)" in line
    assert "more often in 32 of 40 tasks" in line


def test_digits_shows_what_a_regression_prints(project):
    copied(project, "digits")
    result = project.run("examples/digits", "--runxfail")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["FAIL     pass@1 * 0.9600 * 0.8912 *"])
    assert project.report()["verdict"] == "FAIL"


def test_judge_is_replayed_from_the_journal_or_asks_whom_the_environment_names(
    project, monkeypatch
):
    copied(project, "judge")
    judged = [
        "PASS * examples/judge/judge.bench.yaml::accuracy  mean_reward 0.7917*",
        "PASS * examples/judge/judge.bench.yaml::tone  mean_reward 0.6458*",
    ]
    result = project.run("examples/judge")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [*judged, "calls: 64 answered (64 by the journal), 0 requests*"]
    )
    spec = spec_from_file_location("record", EXAMPLES / "judge" / "record.py")
    record = module_from_spec(spec)
    spec.loader.exec_module(record)
    server = ThreadingHTTPServer(("127.0.0.1", 0), record.Judge)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("JUDGE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    try:
        result = project.run("examples/judge")
    finally:
        server.shutdown()
        server.server_close()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [*judged, "calls: 64 answered (16 by the journal), 48 requests*"]
    )
