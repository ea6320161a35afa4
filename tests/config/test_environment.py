"""``${NAME}`` in URLs and models' names: filled in from the environment."""

FILE = (
    "benchmark:\n  name: a\n  dataset: d.jsonl\n  scorers:\n    - type: answer_accuracy\n"
    '      judge_model: {{url: "{}", name: "${{JUDGE:-a}}/${{JUDGE:-b}}"}}\n'
)


def test_a_variable_or_its_default(load, monkeypatch):
    def model():
        (benchmark,) = load(FILE.format("http://${JUDGE_HOST:-localhost:8000}/v1"))
        return benchmark.spec.scorers[0].judge_model

    monkeypatch.delenv("JUDGE_HOST", raising=False)
    assert model().url == "http://localhost:8000/v1"
    monkeypatch.setenv("JUDGE_HOST", "judge:80")
    assert (model().url, model().name) == ("http://judge:80/v1", "a/b")


def test_what_is_not_there(refusals, monkeypatch):
    monkeypatch.delenv("JUDGE_HOST", raising=False)
    cases = {
        "${JUDGE_HOST}": "the environment has no JUDGE_HOST: set it",
        "${JUDGE_HOST:-}": "expected text that is not empty",
        "${JUDGE_HOST:-nowhere}": "expected a URL such as",
    }
    files = [FILE.format(url) for url in cases]
    for message, lines in zip(cases.values(), refusals(files), strict=True):
        (line,) = lines
        assert line.startswith(f"6: benchmark.scorers[0].judge_model.url: {message}")
