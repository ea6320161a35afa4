"""Let LangSmith evaluate twelve answers without its service, and write the results as CSV.

Needs langsmith and pandas.
"""

import datetime as dt
import uuid
from pathlib import Path

from langsmith import Client, evaluate
from langsmith.schemas import Example

HERE = Path(__file__).parent
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SPACE = uuid.UUID(int=7)


def example(number):
    return Example(
        id=uuid.uuid5(SPACE, str(number)),
        dataset_id=SPACE,
        inputs={"question": f"What is {number} + {number}?"},
        outputs={"answer": str(2 * number)},
        created_at=START,
    )


def answer(inputs):
    number = int(inputs["question"].split()[2])
    return {"answer": str(2 * number if number % 3 else 2 * number + 1)}


def correctness(outputs, reference_outputs):
    return float(outputs["answer"] == reference_outputs["answer"])


results = evaluate(
    answer,
    data=[example(number) for number in range(12)],
    evaluators=[correctness],
    client=Client(api_key="none", api_url="http://127.0.0.1:9"),
    upload_results=False,
    num_repetitions=2,
)
table = results.to_pandas()
table.to_csv(HERE / "results.csv", index=False)
print(table["feedback.correctness"].describe())
