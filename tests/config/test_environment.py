"""``${NAME}`` in URLs and models' names: filled in from the environment."""

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError


def model(tmp_path, url, name="m"):
    path = tmp_path / "a.bench.yaml"
    path.write_text(
        "benchmark:\n  name: a\n  dataset: d.jsonl\n  scorers:\n    - type: answer_accuracy\n"
        f'      judge_model: {{url: "{url}", name: "{name}"}}\n'
    )
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    scorer = benchmark.spec.scorers[0]
    return scorer.model


def test_a_variable_or_its_default(tmp_path, monkeypatch):
    monkeypatch.delenv("JUDGE_HOST", raising=False)
    url = "http://${JUDGE_HOST:-localhost:8000}/v1"
    assert model(tmp_path, url, "${JUDGE:-a}/${JUDGE:-b}").url == "http://localhost:8000/v1"
    monkeypatch.setenv("JUDGE_HOST", "judge:80")
    found = model(tmp_path, url, "${JUDGE:-a}/${JUDGE:-b}")
    assert (found.url, found.name) == ("http://judge:80/v1", "a/b")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("${JUDGE_HOST}", "the environment has no JUDGE_HOST: set it"),
        ("${JUDGE_HOST:-}", "expected text that is not empty"),
        ("${JUDGE_HOST:-nowhere}", "expected a URL such as"),
    ],
)
def test_what_is_not_there(tmp_path, monkeypatch, url, message):
    monkeypatch.delenv("JUDGE_HOST", raising=False)
    with pytest.raises(ConfigError) as raised:
        model(tmp_path, url)
    where = "a.bench.yaml:6: benchmark.scorers[0].judge_model.url: "
    assert where + message in str(raised.value)
