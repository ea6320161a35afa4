"""Let Braintrust's SDK evaluate twelve answers without its service, and write what it returns.

Needs braintrust.
"""

import json
from itertools import count
from pathlib import Path

from braintrust import Eval

HERE = Path(__file__).parent
QUESTIONS = [
    {"input": f"What is {n} + {n}?", "expected": str(2 * n)} for n in range(1, 7)
]
calls = count()


def answer(question):
    """Answer two questions of three correctly; the model is down for the last one."""
    number = int(question.split()[2])
    if number == 6:
        raise RuntimeError("the model is down")
    return str(2 * number + (next(calls) % 3 == 2))


def exact(output, expected):
    """Compare an answer with what is expected."""
    return float(output == expected)


def judge(input, output):
    """Judge an answer; the judge can't be reached for one question."""
    if "5 + 5" in input:
        raise TimeoutError("the judge did not answer")
    return min(1.0, int(output) / 4)


result = Eval(
    "arithmetic",
    data=QUESTIONS,
    task=answer,
    scores=[exact, judge],
    trial_count=2,
    max_concurrency=1,
    no_send_logs=True,
)
written = result.as_dict()
for row in written["results"]:
    # a traceback holds the paths of one machine
    row["exc_info"] = None if row["exc_info"] is None else "Traceback"
text = json.dumps(written, default=str, indent=1)
(HERE / "results.json").write_text(text + "\n")
print({name: score.score for name, score in result.summary.scores.items()})
