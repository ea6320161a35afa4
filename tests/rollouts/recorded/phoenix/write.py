"""Let Phoenix keep an experiment and annotations of spans, and write what its server answers.

The server runs on this machine. Needs arize-phoenix.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from phoenix.client import Client

HERE = Path(__file__).parent
ANSWERED_S = 120
START = "2026-01-01T00:00:00+00:00"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()


@contextmanager
def server():
    """Run a server with an empty database, and yield its address."""
    with tempfile.TemporaryDirectory() as store:
        settings = {
            "PHOENIX_WORKING_DIR": store,
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": free_port(),
            "PHOENIX_GRPC_PORT": free_port(),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        url = f"http://127.0.0.1:{settings['PHOENIX_PORT']}"
        process = subprocess.Popen(
            [sys.executable, "-m", "phoenix.server.main", "serve"],
            env={**os.environ, **settings},
            stdout=subprocess.DEVNULL,
        )
        try:
            until = time.monotonic() + ANSWERED_S
            while time.monotonic() < until:
                try:
                    get(f"{url}/healthz")
                    break
                except OSError:
                    time.sleep(0.5)
            yield url
        finally:
            process.terminate()
            process.wait()


def experiment(client, url):
    """Answer six questions twice, and download the experiment."""
    dataset = client.datasets.create_dataset(
        name="sums",
        inputs=[{"question": f"What is {n} + {n}?"} for n in range(6)],
        outputs=[{"answer": str(2 * n)} for n in range(6)],
    )
    asked = dict.fromkeys(range(6), 0)

    def answer(input):
        number = int(input["question"].split()[2])
        asked[number] += 1
        is_right = number % 3 and asked[number] + number < 6
        return str(2 * number if is_right else 2 * number + 1)

    def correctness(output, expected):
        return float(output == expected["answer"])

    done = client.experiments.run_experiment(
        dataset=dataset,
        task=answer,
        evaluators=[correctness],
        repetitions=2,
        print_summary=False,
    )
    table = get(f"{url}/v1/experiments/{done['experiment_id']}/csv")
    (HERE / "experiment.csv").write_bytes(table)
    scores = [run.result["score"] for run in done["evaluation_runs"]]
    print("experiment", sum(scores) / len(scores))


def annotations(client, url):
    """Annotate nine spans, of which three by a second judge too, and download them."""
    spans = [f"{number:016x}" for number in range(1, 10)]
    client.spans.log_spans(
        project_identifier="spans",
        spans=[
            {
                "name": "answer",
                "context": {"trace_id": f"{number:032x}", "span_id": span},
                "span_kind": "LLM",
                "start_time": START,
                "end_time": START,
                "status_code": "OK",
            }
            for number, span in enumerate(spans, 1)
        ],
    )
    time.sleep(2)  # the server stores spans in the background
    for number, span in enumerate(spans):
        for name, score in (("qa", float(number % 3 > 0)), ("tone", 0.5)):
            client.spans.add_span_annotation(
                span_id=span,
                annotation_name=name,
                annotator_kind="LLM",
                score=score,
                sync=True,
            )
    query = "&".join(f"span_ids={span}" for span in spans)
    path = f"/v1/projects/spans/span_annotations?limit=100&{query}"
    (HERE / "span_annotations.json").write_bytes(get(url + path))
    own = client.spans.get_span_annotations_dataframe(
        span_ids=spans, project_identifier="spans"
    )
    qa = own[own["annotation_name"] == "qa"]
    print("qa", qa["result.score"].mean(), len(qa))


with server() as url:
    client = Client(base_url=url)
    experiment(client, url)
    annotations(client, url)
