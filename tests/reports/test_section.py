"""The section at the end of a run, line by line."""

from pytest_evalmetrics.reports import report_document, section


def entry(name, verdict="PASS", *, notes=(), xfail=False, key_metrics=None):
    return {
        "id": f"a.bench.yaml::{name}",
        "verdict": verdict,
        "name": name,
        "agents": [
            {
                "agent": "agent",
                "tasks": 4,
                "rollouts": 8,
                "missing": 1,
                "key_metrics": key_metrics or {"mean/reward": 0.5, "pass@1": 0.25},
            }
        ],
        "checks": [
            {
                "gate": "threshold",
                "name": "pass@1",
                "verdict": verdict,
                "agent": "",
                "value": 0.25,
                "bound": ">= 0.2",
                "reason": "",
                "estimate": None,
            }
        ],
        "notes": list(notes),
        "xfail": xfail,
        "recorded": {},
    }


def lines(entries, *, verbosity=0, lost=(), written=("r.json",)):
    return section(report_document(entries, lost), list(written), verbosity=verbosity)


def test_a_line_names_the_gated_metrics_and_what_they_rest_on():
    (line, colour), (artifacts, _) = lines([entry("x")])
    assert line == "PASS          a.bench.yaml::x  pass@1 0.2500, 4 tasks, 8 rollouts, 1 missing"
    assert colour == "green"
    assert artifacts == "artifacts: r.json"


def test_quiet_is_one_line_and_the_artifacts():
    found = lines([entry("x"), entry("y", "FAIL")], verbosity=-1, lost=["a.bench.yaml::z"])
    assert found[0] == ("2 benchmarks: 1 PASS, 1 FAIL, 1 not evaluated", "red")
    assert len(found) == 2


def test_many_passing_benchmarks_are_folded_and_a_few_failing_ones_never():
    entries = [entry(f"p{i:03}") for i in range(50)] + [entry(f"q{i}", "FAIL") for i in range(4)]
    shown = [line for line, _ in lines(entries)]
    assert sum(line.startswith("FAIL") for line in shown) == 4
    assert "... and 20 more that pass (-v shows them)" in shown
    assert sum(line.startswith("PASS") for line in lines_of(entries, 1)) == 50


def lines_of(entries, verbosity):
    return [line for line, _ in lines(entries, verbosity=verbosity)]


def test_each_kind_of_note_is_said_once():
    entries = [entry(f"x{i}", notes=[f"completeness is unchecked: {i} tasks"]) for i in range(3)]
    notes = [line for line in lines_of(entries, 0) if line.startswith("note: ")]
    assert notes == [
        "note: a.bench.yaml::x0: completeness is unchecked: 0 tasks (and 2 more such notes: -v)"
    ]


def test_of_many_agents_the_failing_come_first_and_the_rest_is_counted():
    found = entry("x", "FAIL")
    (one,) = found["agents"]
    found["agents"] = [one | {"agent": f"a{i}", "tasks": 1} for i in range(9)]
    found["checks"][0]["agent"] = "a7"
    (line, _), *_ = lines([found])
    assert "::x  a7: pass@1 0.2500, 1 task, 8 rollouts" in line
    assert line.endswith("and 6 more agents")


def test_what_a_name_holds_begins_no_line():
    (line, _), *_ = lines([entry("x\n::stop-commands::y\x1b[31m")])
    assert line.startswith(r"PASS          a.bench.yaml::x\n::stop-commands::y\x1b[31m  ")


def test_of_many_that_have_no_result_the_first_are_told():
    lost = [f"a.bench.yaml::b{i:02}" for i in range(40)]
    skipped = {f"a.bench.yaml::s{i:02}": "later" for i in range(12)}
    report = report_document([], lost, skipped=skipped)
    found = section(report, [], verbosity=0)
    assert found[0] == ("INCONCLUSIVE  a.bench.yaml::b00  was not evaluated", "red")
    assert found[10] == ("... and 30 more that were not evaluated (-v shows them)", "red")
    assert found[11] == ("SKIPPED       a.bench.yaml::s00  later", "yellow")
    assert found[21:] == [("... and 2 more skipped (-v shows them)", "yellow")]
    assert len(section(report, [], verbosity=1)) == 52
