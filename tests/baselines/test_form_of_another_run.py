"""Another run's files are read in the form of the benchmark's own, unless they say their own."""

import json

FORM = "fields: {task: q.id, reward: graded.ok}, rows: results"


def write(quick, name, solved, *, wrap=True):
    rows = [{"q": {"id": str(t)}, "graded": {"ok": t < solved}} for t in range(60)]
    (quick.path / name).write_text(json.dumps({"results": rows} if wrap else rows))


def bench(quick, keys):
    text = f"benchmark:\n  name: a\n  rollouts: {{path: new.json, {FORM}}}\n  {keys}\n"
    quick.write("a.bench.yaml", text)


def test_a_baseline_is_read_as_the_run_is(quick):
    write(quick, "new.json", 30)
    write(quick, "old.json", 50)
    bench(quick, "baseline: {rollouts: old.json}")
    done = quick.run()
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*mean_reward fell from 0.8333 to 0.5*20 worse*"])


def test_so_are_several_runs_of_it(quick):
    write(quick, "new.json", 30)
    for run in range(2):
        write(quick, f"{run}.json", 30)
    bench(quick, "baseline: {rollouts: [[0.json], [1.json]]}")
    assert quick.run().ret == 0


def test_and_a_reference(quick):
    write(quick, "new.json", 30)
    write(quick, "pinned.json", 20)
    bench(
        quick, "reference: {rollouts: pinned.json}\n  thresholds: {mean/over_reference: '>= 0.16'}"
    )
    assert quick.run().ret == 0


def test_what_says_its_own_form_is_read_in_that(quick):
    write(quick, "new.json", 30)
    write(quick, "old.json", 30, wrap=False)
    bench(quick, "baseline: {rollouts: {path: old.json, fields: {task: q.id, reward: graded.ok}}}")
    assert quick.run().ret == 0
