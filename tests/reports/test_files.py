"""The files of a run: which reporters write them, and what each holds."""

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from reports.records import (
    above,
    agent,
    below,
    benchmark,
    compared,
    estimate,
    run,
)

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.model.baseline import AgentDocument
from pytest_evalmetrics.model.changes import ThresholdChanged
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.results import Flip, StaleBaseline
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import reporters as builtin
from pytest_evalmetrics.reports.payload import Artifacts, payload_of
from pytest_evalmetrics.reports.report_json import (
    read_report,
    report_document,
    result_document,
)
from pytest_evalmetrics.reports.reporters import (
    FinishedRun,
    as_json,
    chosen_reporters,
    write_noise_page,
    write_reports,
)
from pytest_evalmetrics.reports.summary import summary

# -- report.json -----------------------------------------------------------------------------


def entry_of(result):
    """Return a benchmark as report.json has it."""
    return report_document(run(result))["benchmarks"][0]


def test_a_report_has_the_run_s_verdict_and_what_has_no_result():
    report = run(
        benchmark(below()),
        not_evaluated=("lost",),
        deselected=("other",),
    )
    document = report_document(report)
    assert list(document) == [
        "schema_version",
        "verdict",
        "benchmarks",
        "not_evaluated",
        "skipped",
        "deselected",
        "history",
    ]
    assert document["schema_version"] == 2
    assert document["verdict"] == "FAIL"
    assert document["not_evaluated"] == ["lost"]
    assert document["deselected"] == ["other"]
    assert document["skipped"] == ()
    assert document["history"] == {}


def test_a_benchmark_has_its_texts_in_place_of_their_facts():
    result = benchmark(
        below(),
        notes=(Remark("read from two files"),),
        changes=(ThresholdChanged("m", ">= 0.5", ">= 0.4"),),
    )
    entry = entry_of(result)
    assert list(entry)[:2] == ["id", "verdict"]
    assert entry["notes"] == ["read from two files"]
    assert entry["changes"] == ["threshold m was >= 0.5, and is >= 0.4 now"]
    assert "note_facts" not in entry
    assert "change_facts" not in entry


RARE = ("flips", "separators", "stale", "behaviour", "accepted_levels")


def test_what_a_benchmark_has_none_of_is_not_written():
    entry = entry_of(benchmark(below()))
    assert not set(RARE) & set(entry)


def test_what_a_benchmark_has_is_written():
    flip = Flip("agent", "t", "", "", (), ())
    stale = StaleBaseline(file="b.json", recorded="2026-01-02", days=100, limit=90)
    separator = Separator(
        agent="agent",
        field="lang",
        value="de",
        tasks_with=10,
        worse_with=8,
        tasks_without=30,
        worse_without=1,
        odds=100.0,
        p=0.001,
        fields=4,
        values=20,
    )
    result = benchmark(
        flips=(flip,), stale=stale, separators=(separator,), accepted_levels=("m",)
    )
    entry = entry_of(result)
    assert entry["flips"] == (msgspec.to_builtins(flip),)
    assert entry["stale"]["days"] == 100
    assert entry["separators"] == (msgspec.to_builtins(separator),)
    assert entry["accepted_levels"] == ("m",)


def test_a_check_has_its_texts_before_their_facts():
    check = below(agent="x")
    (entry,) = entry_of(benchmark(check))["checks"]
    assert list(entry)[:8] == [
        "gate",
        "name",
        "verdict",
        "agent",
        "value",
        "bound",
        "reason",
        "hint",
    ]
    assert entry["gate"] == "threshold"
    assert entry["verdict"] == "FAIL"
    assert entry["agent"] == "x"
    assert entry["value"] == 0.5
    assert entry["bound"] == ">= 0.7"
    assert entry["reason"] == "pass@1 is 0.5, below 0.7"
    assert entry["hint"] == ""
    assert "tier" not in entry


def test_an_advisory_check_says_so():
    check = compared(tier=Tier.ADVISORY, verdict=Verdict.WARN)
    (entry,) = entry_of(benchmark(check))["checks"]
    assert entry["tier"] == "advisory"


def test_aggregates_are_a_file_of_their_own():
    result = benchmark(agents=(agent(aggregate={"x": 1}),))
    document = result_document(result)
    assert "aggregate" not in document["agents"][0]
    assert document["agents"][0]["agent"] == "agent"


def test_a_report_is_read_back_with_its_texts():
    result = benchmark(
        below(),
        notes=(Remark("read from two files"),),
        changes=(ThresholdChanged("m", ">= 0.5", ">= 0.4"),),
    )
    report = run(result, benchmark(above(), name="other"))
    document = report_document(report)
    found = read_report(json.dumps(document).encode())
    assert report_document(found) == document
    assert found.benchmarks[0].checks == result.checks
    assert found.benchmarks[1].notes == ()


def test_what_is_no_report_is_refused():
    with pytest.raises(ArtifactError, match=r"^this is not the report of a run: "):
        read_report(b"{}")
    with pytest.raises(ArtifactError, match=r"^this is not the report of a run: "):
        read_report(b'{"schema_version": 2}')


def test_a_report_of_another_version_is_refused_with_the_way_out():
    with pytest.raises(ArtifactError) as refused:
        read_report(b'{"schema_version": 3}')
    assert refused.value.message == (
        "this report has the schema version 3, and 2 is known"
    )
    assert refused.value.hint == (
        "run the benchmarks with a version that writes schema version 2"
    )


# -- layout of JSON --------------------------------------------------------------------------


def test_a_small_report_is_indented_and_a_large_one_is_not(monkeypatch):
    assert as_json({"a": [1]}) == b'{\n  "a": [\n    1\n  ]\n}'
    monkeypatch.setattr(builtin, "_LARGE", 9)
    assert b"\n" in as_json({"a": [1]})
    monkeypatch.setattr(builtin, "_LARGE", 8)
    assert as_json({"a": [1]}) == b'{"a":[1]}'


def test_what_msgspec_can_t_write_is_written_too(monkeypatch):
    large = {"a": 10**30}
    assert as_json(large) == b'{\n  "a": 1000000000000000000000000000000\n}'
    monkeypatch.setattr(builtin, "_LARGE", 10)
    assert as_json(large) == b'{"a":1000000000000000000000000000000}'


def test_a_number_that_is_none_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"a": float("nan")})


# -- a finished run --------------------------------------------------------------------------


@pytest.fixture
def kept():
    with Artifacts() as texts:
        yield texts


def finished(kept, *results, names=None, **fields):
    """Make a run with its texts; of each agent a task is kept with its scores."""
    for result in results:
        documents = {
            one.agent: AgentDocument(
                key_metrics={},
                tasks={"t": {"reward": [one.agent]}},
                content={"t": result.name},
            )
            for one in result.agents
        }
        aggregates = [
            structs.replace(
                one, aggregate={"agent_ref": {"name": one.agent}, "metrics": {}}
            )
            for one in result.agents
        ]
        whole = structs.replace(result, agents=tuple(aggregates))
        kept.add(result.id, payload_of(whole, documents, None, {}, None))
    report = run(*results)
    return FinishedRun(
        **{
            "kept": kept,
            "report": report,
            "document": report_document(report),
            "root": Path(),
            "origin": lambda: None,
            "names": names,
            **fields,
        }
    )


def written(done, folder):
    """Let the run's reporters write; return the names of the files, and the faults."""
    paths, errors = write_reports(done, f"{folder}/")
    assert all(path.exists() for path in paths)
    return [path.relative_to(folder).as_posix() for path in paths], errors


def test_the_report_has_the_scores_and_contents_of_each_agent_s_tasks(kept, tmp_path):
    two = benchmark(above(), name="b", agents=(agent("alpha"), agent("beta")))
    done = finished(kept, benchmark(below(), name="a"), two, names=["report.json"])
    assert written(done, tmp_path) == (["report.json"], [])
    data = (tmp_path / "report.json").read_bytes()
    assert data.endswith(b"}\n")
    first, second = json.loads(data)["benchmarks"]
    assert [one["task_scores"] for one in second["agents"]] == [
        {"t": {"reward": ["alpha"]}},
        {"t": {"reward": ["beta"]}},
    ]
    assert [one["task_content"] for one in second["agents"]] == [{"t": "b"}] * 2
    assert first["agents"][0]["task_content"] == {"t": "a"}


def test_the_estimate_of_a_check_is_written_with_its_agent_alone(kept, tmp_path):
    own = agent(metrics={"pass@1": 0.5})
    same = above(estimate=own.estimates["pass@1"])
    other = above("pass@2", estimate=estimate("pass@2"))
    done = finished(kept, benchmark(same, other, agents=(own,)), names=["report.json"])
    written(done, tmp_path)
    (entry,) = json.loads((tmp_path / "report.json").read_bytes())["benchmarks"]
    assert entry["checks"][0]["estimate"] is None
    assert entry["checks"][1]["estimate"]["value"] == 0.5
    assert entry["agents"][0]["estimates"]["pass@1"]["value"] == 0.5


def test_by_default_a_run_leaves_four_files(kept, tmp_path, monkeypatch):
    monkeypatch.delenv("GITLAB_CI", raising=False)
    done = finished(kept, benchmark(below()))
    assert written(done, tmp_path) == (
        ["aggregate_metrics.json", "report.json", "summary.md", "report.html"],
        [],
    )


def test_gitlab_s_file_is_written_in_its_ci(kept, tmp_path, monkeypatch):
    monkeypatch.setenv("GITLAB_CI", "true")
    names, _ = written(finished(kept, benchmark(below())), tmp_path)
    assert names[-1] == "gl-code-quality-report.json"
    (violation,) = json.loads((tmp_path / names[-1]).read_bytes())
    assert violation["severity"] == "critical"


def test_a_file_that_is_chosen_is_written_though_it_is_empty(
    kept, tmp_path, monkeypatch
):
    monkeypatch.delenv("GITLAB_CI", raising=False)
    names = [
        "group_level_metrics.json",
        "row_scores.jsonl",
        "gl-code-quality-report.json",
        "aggregate_metrics.json",
    ]
    assert written(finished(kept, names=names), tmp_path) == (names, [])
    assert (tmp_path / "group_level_metrics.json").read_bytes() == b"[]\n"
    assert (tmp_path / "aggregate_metrics.json").read_bytes() == b"[]\n"
    assert (tmp_path / "row_scores.jsonl").read_bytes() == b""
    assert (tmp_path / "gl-code-quality-report.json").read_bytes() == b"[]\n"


def test_the_summary_has_the_remark_on_the_run(kept, tmp_path):
    done = finished(kept, benchmark(below()), names=["summary.md"], remark="it was cut")
    written(done, tmp_path)
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text == summary(done.report, "it was cut")


def test_the_entries_of_all_benchmarks_are_one_array(kept, tmp_path):
    results = [benchmark(name="b"), benchmark(name="a")]
    done = finished(kept, *results, names=["aggregate_metrics.json"])
    written(done, tmp_path)
    data = (tmp_path / "aggregate_metrics.json").read_bytes()
    assert data.startswith(b"[\n  {")
    assert data.endswith(b"  }\n]\n")
    assert [entry["benchmark"] for entry in json.loads(data)] == [
        "a.yaml::a",
        "a.yaml::b",
    ]


def texts(**kinds):
    return {"entry": {}, "texts": kinds, "files": {}, "usage": {}, "warnings": []}


def test_the_scores_of_rows_are_in_one_file(kept, tmp_path):
    kept.add("b", texts(row_scores="of b\n"))
    kept.add("a", texts(row_scores="of a\n"))
    kept.add("c", texts(row_scores=""))
    names, _ = written(finished(kept), tmp_path)
    assert "row_scores.jsonl" in names
    assert (tmp_path / "row_scores.jsonl").read_bytes() == b"of a\nof b\n"


def test_entries_of_many_tasks_have_a_file(kept, tmp_path):
    kept.add("a", texts(groups="{}"))
    names, _ = written(finished(kept), tmp_path)
    assert "group_level_metrics.json" in names


def test_generated_rollouts_of_one_benchmark_are_one_file(kept, tmp_path):
    kept.add("a::b", texts(rollouts="x\n"))
    names, _ = written(finished(kept), tmp_path)
    assert "rollouts.jsonl" in names
    assert (tmp_path / "rollouts.jsonl").read_bytes() == b"x\n"


def test_generated_rollouts_of_several_are_files_of_safe_names(kept, tmp_path):
    items = ["a/b.yaml::x y", "a/b.yaml::x/y", "a.yaml::[é]", "a.yaml::x-y_"]
    for item in items:
        kept.add(item, texts(rollouts=f"{item}\n"))
    names, _ = written(finished(kept, names=["rollouts.jsonl"]), tmp_path)
    found = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert found == {
        "rollouts/a.yaml_-é.jsonl": "a.yaml::[é]\n",
        "rollouts/a.yaml_x-y_.jsonl": "a.yaml::x-y_\n",
        "rollouts/a-b.yaml_x-y.jsonl": "a/b.yaml::x y\n",
        "rollouts/a-b.yaml_x-y-2.jsonl": "a/b.yaml::x/y\n",
    }


# -- reporters of one's own ------------------------------------------------------------------


def one_path(report, prefix):
    """Write the verdict."""
    path = Path(f"{prefix}one.txt")
    path.write_text(report["verdict"], encoding="utf-8")
    return path


def several_paths(report, prefix):
    """Write the verdict twice."""
    paths = [f"{prefix}a.txt", f"{prefix}b.txt"]
    for path in paths:
        Path(path).write_text(report["verdict"], encoding="utf-8")
    return paths


def one_text(report, prefix):
    """Write the verdict, and return the path as a text."""
    return str(one_path(report, prefix))


def nothing(_report, _prefix):
    """Send a message."""


class Counts:
    """Counts benchmarks."""

    def write(self, report, prefix):
        path = Path(f"{prefix}counts.txt")
        path.write_text(str(len(report["benchmarks"])), encoding="utf-8")
        return path


def failing(_report, _prefix):
    """Fail."""
    raise ValueError("no such channel")


def leaving(_report, _prefix):
    """End the process."""
    raise SystemExit("that is all")


def refusing(_report, _prefix):
    """Fail with a way out."""
    raise EvalMetricsError("no such channel", hint="make one")


def own(*reporters):
    return [f"{__name__}:{reporter.__name__}" for reporter in reporters]


@pytest.mark.parametrize(
    ("reporter", "files"),
    [
        (one_path, ["one.txt"]),
        (one_text, ["one.txt"]),
        (several_paths, ["a.txt", "b.txt"]),
        (nothing, []),
        (Counts, ["counts.txt"]),
    ],
)
def test_a_reporter_of_one_s_own_returns_what_it_wrote(kept, tmp_path, reporter, files):
    done = finished(kept, benchmark(below()), names=own(reporter))
    folder = tmp_path / "new"
    assert written(done, folder) == (files, [])
    texts = {(folder / name).read_text(encoding="utf-8") for name in files}
    assert texts <= {"FAIL", "1"}


@pytest.mark.parametrize(
    ("reporter", "what"),
    [
        (failing, "ValueError: no such channel"),
        (leaving, "SystemExit: that is all"),
    ],
)
def test_a_reporter_that_fails_is_named_and_the_others_write(
    kept, tmp_path, reporter, what
):
    names = own(one_path, reporter, Counts)
    done = finished(kept, benchmark(below()), names=names)
    files, (error,) = written(done, tmp_path)
    assert files == ["one.txt", "counts.txt"]
    assert isinstance(error, ArtifactError)
    name = f"{__name__}:{reporter.__name__}"
    assert error.message == f"the reporter {name!r} failed: {what}"
    assert error.hint.startswith(f"fix {reporter.__module__}.{reporter.__name__} (")
    assert error.hint.endswith("), or skip it with --evalmetrics-reporters")


def test_an_error_with_a_way_out_is_reported_as_it_is(kept, tmp_path):
    done = finished(kept, benchmark(below()), names=own(refusing))
    _, (error,) = written(done, tmp_path)
    assert error.message == "no such channel"
    assert error.hint == "make one"


def test_the_reporters_of_a_run_are_ours_first_and_each_once():
    ours = chosen_reporters(None)
    assert ours[:4] == [
        "aggregate_metrics.json",
        "group_level_metrics.json",
        "report.json",
        "summary.md",
    ]
    assert len(ours) == len(set(ours))
    twice = ["summary.md", "report.json", "summary.md"]
    assert chosen_reporters(twice) == ["summary.md", "report.json"]
    with pytest.raises(EvalMetricsError, match=r"there is no reporter 'sumary.md'"):
        chosen_reporters(["sumary.md"])


def test_a_page_of_noise_is_written(tmp_path):
    path = tmp_path / "noise.html"
    write_noise_page(path, {"benchmarks": []})
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert '"benchmarks":[]' in text


def test_a_file_that_can_t_be_written_is_reported_and_the_others_are_there(
    kept, tmp_path
):
    (tmp_path / "report.json").mkdir()
    (tmp_path / "report.json" / "x").touch()
    done = finished(kept, benchmark(below()), names=["report.json", "summary.md"])
    names, (error,) = written(done, tmp_path)
    assert names == ["summary.md"]
    assert isinstance(error, ArtifactError)
    assert error.file == str(tmp_path / "report.json")
    assert error.message.startswith("can't be written: ")
    assert error.hint == (
        "choose another place with --evalmetrics-output, or free some room"
    )
