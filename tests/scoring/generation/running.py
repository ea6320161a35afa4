"""One benchmark evaluated in this process, over a real client and journal."""

import json
from contextlib import nullcontext

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.reports.payload import rollout_lines
from pytest_evalmetrics.scoring.transport import (
    Journal,
    JournalMode,
    Progress,
    Transport,
)
from pytest_evalmetrics.scoring.transport.origin_state import RetryPolicy

# a row that failed is asked again at once: chance would let it wait for up to a second
AT_ONCE = RetryPolicy(base_s=0.01)


class Run:
    """What a benchmark needs of its run."""

    def __init__(self, folder, mode):
        self.replays, self.budget = mode == "replay", None
        self.asks_anew = mode in ("off", "refresh")
        journal = Journal(folder / "journal.log", JournalMode(mode))
        self._transport = Transport(journal, policy=AT_ONCE)

    def transport(self):
        return self._transport

    def progress(self, total):
        return nullcontext(Progress("", total))


def rows(path, data):
    path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")


def run(folder, text, mode="normal", **more):
    """Evaluate the benchmark of a text; give also what rollouts.jsonl would hold."""
    path = folder / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    runtime = Run(folder, mode)
    try:
        given = EvaluationInput(
            benchmark=benchmark, item_id="a.bench.yaml::a", runtime=runtime, **more
        )
        evaluated = evaluate(given)
        scores = evaluated.row_scores
        lines = b"" if scores is None else b"".join(rollout_lines(scores))
        if lines:
            (folder / "rollouts.jsonl").write_bytes(lines)
        return evaluated, [json.loads(line) for line in lines.splitlines()]
    finally:
        runtime.transport().close()


def online(url, rest="", samples=1, prompt='"{{ question }}"'):
    """Write a benchmark that asks a model and compares with `answer`."""
    return f"""\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: {samples}
  model: {{url: "{url}", name: m, max_retries: 2, price: {{input: 1, output: 2}}}}
  prompt_template: {prompt}
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
{rest}"""
