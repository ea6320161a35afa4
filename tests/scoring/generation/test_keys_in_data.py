"""Keys never reach what people read, and hiding them never changes what is scored."""

import json

import pytest

KEY = "sk-proj-Zq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc"


def write(project, url, rows, *, named="my-key", rest=""):
    project.rows("data.jsonl", rows)
    text = f"""\
benchmark:
  name: words
  dataset: {{path: data.jsonl, fields: {{task: id}}}}
  model: {{url: "{url}", name: m, api_key_secret: {named}, max_retries: 0}}
  prompt_template: "{{{{ question }}}}"
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
  thresholds: {{mean_reward: ">= 1"}}
{rest}"""
    project.write("words.bench.yaml", text)


def leaks(project, *, besides=()):
    """Name the files that hold the key, besides the user's own."""
    own = {"data.jsonl", "words.bench.yaml", *besides}
    files = [path for path in project.path.rglob("*") if path.is_file()]
    return [
        path.name
        for path in files
        if path.name not in own and KEY.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("key", ["password", "x"])
def test_a_placeholder_key_changes_no_answer(project, model, monkeypatch, key):
    monkeypatch.setenv("MY_KEY", key)
    texts = [f"no {key} is required, not even a password", f"{key}", "localhost:80"]
    rows = [{"id": f"q{i}", "question": t, "answer": t} for i, t in enumerate(texts)]
    write(project, model.url, rows)
    assert project.run().ret == 0
    path = project.path / "evalmetrics/rollouts.jsonl"
    answers = [json.loads(line) for line in path.read_text().splitlines()]
    assert [answer["response"] for answer in answers] == texts
    assert project.run().ret == 0
    assert model.posts == 3  # the journal has the answers
    again = """\
benchmark:
  name: again
  rollouts: rollouts.jsonl
  scorers: [{type: exact_match, reference: "{{ answer }}"}]
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 1"}
"""
    path.rename(project.path / "rollouts.jsonl")
    project.write("again.bench.yaml", again)
    assert project.run("again.bench.yaml").ret == 0


def test_an_answer_that_holds_the_key_is_scored_as_it_came(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    text = f"the key is {KEY}"
    write(project, model.url, [{"id": "q", "question": text, "answer": text}])
    result = project.run()
    assert result.ret == 0
    assert leaks(project) == ["rollouts.jsonl"]  # which is scored again
    assert "an endpoint repeats its key in answers" in result.stdout.str()


def test_a_key_in_a_rows_id_is_hidden_and_told(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    names = [f"tenant-{KEY}-{i}" for i in range(2)] + [f"{i}" for i in range(9)]
    rows = [{"id": name, "question": "1", "answer": "1"} for name in names]
    write(project, model.url, rows, rest="  baseline: true\n")
    assert project.run("--snapshot-update").ret == 0
    result = project.run("--junitxml=junit.xml", "-v")
    assert result.ret == 0, result.stdout.str()
    assert leaks(project, besides={"rollouts.jsonl"}) == []
    assert KEY not in result.stdout.str()
    assert "tenant-***-0" in project.baseline("words.bench/words.json").read_text()
    notes = project.report()["benchmarks"][0]["notes"]
    assert "2 task ids with a key in it: it is hidden in baselines and reports" in notes


def test_a_key_in_a_urls_path_is_hidden_and_told(project, model, monkeypatch):
    monkeypatch.setenv("GATEWAY_TOKEN", KEY)
    monkeypatch.setenv("MY_KEY", "none")
    url = model.at("/${GATEWAY_TOKEN}/v1/chat/completions")
    rows = [
        {"id": "a", "question": "1", "answer": "1"},
        {"id": "b", "question": "mode=500 2", "answer": "2"},
    ]
    write(project, url, rows)
    result = project.run()
    assert result.ret == 1
    assert "/***/v1/chat/completions: answered 500" in result.stdout.str()
    assert KEY not in result.stdout.str()
    assert leaks(project) == []
    notes = " ".join(project.report()["benchmarks"][0]["notes"])
    assert "a URL holds the value of GATEWAY_TOKEN" in notes


def test_a_key_in_place_of_its_variables_name_is_not_shown(project, model):
    rows = [{"id": "a", "question": "1", "answer": "1"}]
    write(project, model.url, rows, named=KEY)
    result = project.run()
    assert result.ret == 1
    assert "api_key_secret holds a key (sk-***)" in result.stdout.str()
    assert KEY not in result.stdout.str()
    assert leaks(project) == []
    result = project.run("--evalmetrics-check")
    assert result.ret == 1
    assert KEY not in result.stdout.str()


def test_a_key_anywhere_else_in_the_file_is_hidden_and_told(
    project, model, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "none")
    rows = [{"id": "a", "question": "1", "answer": "1"}]
    write(project, model.url, rows, rest=f'  description: "with {KEY}"\n')
    result = project.run()
    assert KEY not in result.stdout.str()
    notes = " ".join(project.report()["benchmarks"][0]["notes"])
    assert "the benchmark file holds a key" in notes
