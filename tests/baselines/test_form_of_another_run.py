"""Another run's files are read in the form of the benchmark's own, unless they say their own."""

import json

import pytest

FIELDS = "fields: {task: q.id, reward: graded.ok}"


@pytest.mark.parametrize(
    ("keys", "ret"),
    [
        ("baseline: {rollouts: 50.json}", 1),
        ("baseline: {rollouts: [[30.json], [new.json]]}", 0),  # so are several runs of it
        ("reference: {rollouts: 20.json}\n  thresholds: {mean/over_reference: '>= 0.16'}", 0),
        (f"baseline: {{rollouts: {{path: plain.json, {FIELDS}}}}}", 0),  # it says its own form
    ],
)
def test_a_baseline_is_read_as_the_run_is(quick, keys, ret):
    for name, solved in (("new", 30), ("50", 50), ("30", 30), ("20", 20), ("plain", 30)):
        rows = [{"q": {"id": str(t)}, "graded": {"ok": t < solved}} for t in range(60)]
        text = json.dumps(rows if name == "plain" else {"results": rows})
        quick.write(f"{name}.json", text)
    quick.write(
        "a.bench.yaml",
        "benchmark:\n  name: a\n"
        f"  rollouts: {{path: new.json, rows: results, {FIELDS}}}\n  {keys}\n",
    )
    done = quick.run()
    assert done.ret == ret
    if ret:
        done.stdout.fnmatch_lines(["*mean_reward fell from 0.8333 to 0.5*20 worse*"])
