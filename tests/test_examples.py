"""The examples that ship with the project do what README says."""

import shutil
import subprocess
import sys
from http.server import ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_digits(project):
    shutil.copytree(EXAMPLES / "digits", project.path / "examples" / "digits")
    result = project.run("examples/digits")
    result.assert_outcomes(passed=2, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "PASS * examples/digits/digits.bench.yaml::forest  pass@1 0.9600*",
            "PASS * examples/digits/digits.bench.yaml::logistic  pass@1 0.9675*",
            "FAIL * examples/digits/digits.bench.yaml::regressed-forest (xfail)  pass@1 0.8912*",
        ]
    )


def test_digits_shows_what_a_regression_prints(project):
    shutil.copytree(EXAMPLES / "digits", project.path / "examples" / "digits")
    result = project.run("examples/digits", "--runxfail")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["FAIL  examples/digits/*: pass@1 fell from 0.96 to 0.8912: *"])
    assert project.report()["verdict"] == "FAIL"


def test_the_committed_baseline_of_digits_is_what_an_update_writes(project):
    target = project.path / "examples" / "digits"
    shutil.copytree(EXAMPLES / "digits", target)
    (baseline,) = target.glob("__baselines__/*/*.json")
    before = baseline.read_bytes()
    project.run("examples/digits", "--snapshot-update")
    assert baseline.read_bytes() == before


def test_ocr(project):
    target = project.path / "examples" / "ocr"
    shutil.copytree(EXAMPLES / "ocr", target)
    (baseline,) = target.glob("__baselines__/*/*.json")
    before = baseline.read_bytes()
    result = project.run("examples/ocr", "--snapshot-update")
    assert baseline.read_bytes() == before
    result = project.run("examples/ocr")
    result.assert_outcomes(passed=2, xfailed=1)
    result.stdout.fnmatch_lines(["FAIL * examples/ocr/ocr.bench.yaml::int7 (xfail) *0.6267*"])


def test_agent_tools(project):
    shutil.copytree(EXAMPLES / "agent_tools", project.path / "examples" / "agent_tools")
    result = project.run("examples/agent_tools")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "PASS * examples/agent_tools/*.bench.yaml::conversations  mean_reward 0.9302*",
            "PASS * examples/agent_tools/*.bench.yaml::parallel  mean_reward 0.9125*",
        ]
    )


def test_what_is_committed_of_agent_tools_is_what_its_commands_write(project):
    target = project.path / "examples" / "agent_tools"
    shutil.copytree(EXAMPLES / "agent_tools", target)
    files = [*target.glob("__baselines__/*/*.json"), *target.glob("runs/*.jsonl")]
    before = {file: file.read_bytes() for file in files}
    assert len(before) == 4
    for file in target.glob("runs/*.jsonl"):
        file.unlink()
    subprocess.run([sys.executable, str(target / "make.py")], check=True)
    project.run("examples/agent_tools", "--snapshot-update")
    assert {file: file.read_bytes() for file in files} == before


_JUDGED = [
    "PASS * examples/judge/judge.bench.yaml::accuracy  mean_reward 0.7917*",
    "PASS * examples/judge/judge.bench.yaml::tone  mean_reward 0.6458*",
]


def test_judge_is_replayed_from_the_committed_journal(project):
    shutil.copytree(EXAMPLES / "judge", project.path / "examples" / "judge")
    result = project.run("examples/judge")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([*_JUDGED, "calls: 64 answered (64 by the journal), 0 requests*"])


def test_judge_asks_whom_the_environment_names(project, monkeypatch):
    shutil.copytree(EXAMPLES / "judge", project.path / "examples" / "judge")
    spec = spec_from_file_location("record", EXAMPLES / "judge" / "record.py")
    record = module_from_spec(spec)
    spec.loader.exec_module(record)
    server = ThreadingHTTPServer(("127.0.0.1", 0), record.Judge)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("JUDGE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
    try:
        result = project.run("examples/judge")
    finally:
        server.shutdown()
        server.server_close()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([*_JUDGED, "calls: 64 answered (16 by the journal), 48 requests*"])


def test_online(project):
    shutil.copytree(EXAMPLES / "online", project.path / "examples" / "online")
    result = project.run("examples/online")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PASS * examples/online/units.bench.yaml::units  pass@1 0.7917*"])
    assert (project.path / "evalmetrics" / "rollouts.jsonl").read_text().count("\n") == 48


def test_what_is_committed_of_online_is_what_its_commands_write(project):
    target = project.path / "examples" / "online"
    shutil.copytree(EXAMPLES / "online", target)
    (baseline,) = target.glob("__baselines__/*/*.json")
    before = baseline.read_bytes()
    project.run("examples/online", "--snapshot-update")
    assert baseline.read_bytes() == before
