"""A benchmark of more files than a page holds."""

import json


def test_files_that_no_shown_task_has_are_left_out(project):
    name = "a" * 200
    for n in range(7_000):
        row = {"_ng_task_index": n, "_ng_rollout_index": 0, "reward": 1.0}
        project.path.joinpath(f"{name}{n}.json").write_text(json.dumps(row))
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    bench = project.path / "math.bench.yaml"
    bench.write_text(bench.read_text().replace("runs.jsonl", f"{name}*.json"))
    assert project.run().ret == 0
    assert (project.path / "evalmetrics" / "report.html").stat().st_size < 3_000_000
