"""Let OpenAI's evals run a match eval over twelve questions, and write its log.

The model is a function. Needs evals.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MODEL = """
class Result:
    def __init__(self, text):
        self.text = text

    def get_completions(self):
        return [self.text]

class Adder:
    def __init__(self, *_, **__):
        pass

    def __call__(self, prompt, **_):
        number = int(prompt[-1]["content"].split()[2])
        return Result(str(2 * number if number % 3 else 2 * number + 1))
"""
EVAL = """
toy:
  id: toy.dev.v0
  metrics: [accuracy]
toy.dev.v0:
  class: evals.elsuite.basic.match:Match
  args:
    samples_jsonl: {data}
"""
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "registry/evals").mkdir(parents=True)
    (folder / "registry/completion_fns").mkdir()
    rows = [
        {
            "input": [{"role": "user", "content": f"What is {n} + {n}?"}],
            "ideal": str(2 * n),
        }
        for n in range(12)
    ]
    data = folder / "samples.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "adder.py").write_text(MODEL)
    (folder / "registry/evals/toy.yaml").write_text(EVAL.format(data=data))
    (folder / "registry/completion_fns/adder.yaml").write_text(
        "adder:\n  class: adder:Adder\n"
    )
    log = HERE / "log.jsonl"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "evals.cli.oaieval", "adder", "toy"]
    options = ["--registry_path", str(folder / "registry"), "--record_path", str(log)]
    environment = {
        **os.environ,
        "PYTHONPATH": name,
        "OPENAI_API_KEY": "none",
        "EVALS_SEQUENTIAL": "1",
    }
    subprocess.run([*command, *options], env=environment, check=True)
