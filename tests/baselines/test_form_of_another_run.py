"""Another run's files are read in the form of the benchmark's own, unless they say their own."""

import json

FIELDS = "fields: {task: q.id, reward: graded.ok}"


KEYS = (
    "baseline: {rollouts: 50.json}",
    "baseline: {rollouts: [[30.json], [new.json]]}",  # several runs
    "reference: {rollouts: 20.json}, thresholds: {mean/over_reference: '>= 0.16'}",
    f"baseline: {{rollouts: {{path: plain.json, {FIELDS}}}}}",  # a form of its own
)


def test_a_baseline_is_read_as_the_run_is(quick):
    for name, solved in (("new", 30), ("50", 50), ("30", 30), ("20", 20), ("plain", 30)):
        rows = [{"q": {"id": str(t)}, "graded": {"ok": t < solved}} for t in range(60)]
        text = json.dumps(rows if name == "plain" else {"results": rows})
        quick.write(f"{name}.json", text)
    defaults = f"defaults: {{rollouts: {{path: new.json, rows: results, {FIELDS}}}}}\n"
    benchmarks = "".join(f"- {{name: b{i}, {keys}}}\n" for i, keys in enumerate(KEYS))
    quick.write("a.bench.yaml", f"{defaults}benchmarks:\n{benchmarks}")
    result = quick.run()
    assert [each["verdict"] for each in quick.report()["benchmarks"]] == ["FAIL"] + ["PASS"] * 3
    result.stdout.fnmatch_lines(["*mean_reward fell from 0.8333 to 0.5*20 worse*"])
