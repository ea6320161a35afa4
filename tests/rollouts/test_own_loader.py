"""A loader of one's own, on the base that the built-in ones have."""

import re
from pathlib import Path

DOCS = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")


def test_the_loader_of_the_documentation_reads_and_tells_what_was_not_scored(project):
    (code,) = re.findall(r"```python\n(from [^`]*class Nightly.*?)```", DOCS, re.DOTALL)
    project.write("conftest.py", code)
    runs = '{"runs": [{"task": "a", "ok": true}, {"task": "b", "ok": null}]}'
    project.write("runs.json", runs)
    bench = "benchmark: {name: x, rollouts: {path: runs.json, format: nightly}, "
    bench += "metrics: [mean_reward], expect: {max_missing: 60%}}"
    project.write("x.bench.yaml", bench)
    run = project.run()
    run.assert_outcomes(passed=1)
    assert "not scored: 1 rollout without a score, which is missing" in run.stdout.str()
    (entry,) = project.report()["benchmarks"]
    assert entry["agents"][0]["estimates"]["mean_reward"]["value"] == 1
