"""Mistakes are reported before anything is paid for, and by a check that calls nothing."""

import pytest

ROWS = [
    {"id": i, "question": f"q{i}", "reference": "r", "level": "easy"} for i in range(4)
]
ONLINE = """\
benchmark:
  name: a
  dataset: {path: rows.jsonl, fields: {task: id}}
  model: {url: "URL", name: m}
  prompt_template: "{{ question }}"
  num_samples: 2
  scorers: [{type: exact-match, reference: "{{ item.reference }}"}]
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0"}
"""
REMOTE = """\
benchmark:
  name: a
  rollouts: {path: rows.jsonl, fields: {task: id}}
  scorers:
    - {type: remote, url: "URL", body: {a: "{{ item.reference }}"},
       scores: [{name: accuracy, parser: {json_path: $.a}}]}
  metrics: [mean_reward]
  breakdown: [level]
  thresholds: {mean_reward: ">= 0"}
"""


@pytest.fixture
def paid(project, judge_server):
    project.rows("rows.jsonl", ROWS)
    project.url = judge_server.url()
    return project


def write(project, text, name="a.bench.yaml"):
    project.write(name, text.replace("URL", project.url))


JUDGED = """\
llm-judge, model: {url: URL, name: j}, scores: [{name: x}], prompt_template: "{{ scores.y }}"}"""
FAULTS = {
    "k": (ONLINE, "[mean_reward]", "[pass@8]", ":8:13: *pass@8 needs 8 rollouts*"),
    "recorded k": (REMOTE, "[mean_reward]", "[pass@8]", ":7:13: *pass@8*task*"),
    "score": (
        ONLINE,
        "{mean_reward:",
        "{mean/acuracy:",
        ":9:16: *no rollout*'acuracy'*exact-m*",
    ),
    "given score": (
        REMOTE,
        "{mean_reward:",
        "{mean/acuracy:",
        ":9:16: *did you mean 'accuracy'*",
    ),
    "prompt": (
        ONLINE,
        "{{ question",
        "{{ quetion",
        ":5:3: *no row can*'quetion'*'question'*",
    ),
    "reference": (
        ONLINE,
        "item.reference",
        "item.referense",
        ":7:33: *no row can*'referense'*",
    ),
    "body": (
        REMOTE,
        "item.reference",
        "item['referense']",
        ":5:*: *no row can*'referense'*",
    ),
    "answer": (
        ONLINE,
        "item.reference",
        "sample.output_txt",
        ":7:33: *_txt'*'output_text'*",
    ),
    "filter": (
        REMOTE,
        "item.reference",
        "item.reference | first + 1",
        ":5:*: *first + 1*rows.j*",
    ),
    "braces": (
        ONLINE,
        "{{ question }}",
        "Q { question }",
        ":5:3: *{ question } is sent as it is*",
    ),
    "body's braces": (
        REMOTE,
        "{{ item.reference }}",
        "{item.reference}",
        ":5:*: *as it is written*",
    ),
    "system": (
        ONLINE,
        "name: m}",
        'name: m, system_prompt: "{{ level }}"}',
        ":4:*: *as written*",
    ),
    "judge": (
        ONLINE,
        'exact-match, reference: "{{ item.reference }}"}',
        JUDGED,
        ":7:*: *'y'*",
    ),
    "metric": (
        ONLINE,
        "[mean_reward]",
        "[mean_rewrd]",
        ":8:13: *did you mean 'mean_reward'*",
    ),
    "gated": (
        ONLINE,
        "{mean_reward:",
        "{mean_rewrd:",
        ":9:16: *did you mean 'mean_reward'*",
    ),
    "value": (
        REMOTE,
        "{mean_reward:",
        '{"mean_reward[level=hard]":',
        ":9:16: *level = 'hard'*easy*",
    ),
    "field": (REMOTE, "[level]", "[levl]", ":*levl*"),
    "reward": (
        REMOTE,
        "  metrics:",
        "  reward: accurcy\n  metrics:",
        ":3:3: *accurcy*",
    ),
}


def test_nothing_is_paid_for_a_benchmark_that_cannot_be_judged(paid, judge_server):
    for fault, (text, old, new, _) in FAULTS.items():
        assert old in text
        write(paid, text.replace(old, new), f"{fault}.bench.yaml")
    result = paid.run_here("--evalmetrics-check")
    for fault, (*_, line) in FAULTS.items():
        result.stdout.fnmatch_lines([f"{fault}.bench.yaml{line}"])
    count = len(FAULTS)
    result.stdout.fnmatch_lines(
        [f"{count} problems in {count} of {count} benchmark files"]
    )
    assert result.ret == 1
    assert not (paid.path / "evalmetrics").exists()
    assert paid.run_here("--continue-on-collection-errors").ret != 0
    assert judge_server.posts == 0


def test_a_check_of_what_is_right_calls_nothing(paid, judge_server):
    write(paid, ONLINE)
    write(paid, REMOTE.replace("name: a", "name: b", 1), "b.bench.yaml")
    paid.write(
        "test_broken.py", "import nothing_of_the_kind\n"
    )  # tests are no business of it
    result = paid.run_here("--evalmetrics-check")
    result.stdout.fnmatch_lines(["no problems: 2 benchmark files, 2 benchmarks"])
    assert (result.ret, judge_server.posts) == (0, 0)


def test_a_check_reports_everything_at_once(paid, judge_server):
    wrong = ONLINE.replace("name: m}", 'name: "<model>", api_key_secret: NO_SUCH_KEY}')
    wrong = wrong.replace("question }}", "quetion }}").replace(
        "[mean_reward]", "[mean_rewrd]"
    )
    write(paid, wrong.replace("{mean_reward:", "{mean/f1:"))
    write(paid, "benchmark:\n  name: b\n  rolouts: x.jsonl\n", "b.bench.yaml")
    write(paid, "benchmark: {name: c, rollouts: none.jsonl}\n", "c.bench.yaml")
    write(paid, ONLINE, "d.bench.yaml")
    write(paid, f"{ONLINE}  expect: {{tasks: 164}}\n", "e.bench.yaml")
    paid.rollouts([[1.0], [1.0, 0.0]])
    paid.bench("expect: {rollouts: 2}\nthresholds: {mean_reward: '>= 0'}")
    result = paid.run_here("--evalmetrics-check", "-q")
    result.stdout.fnmatch_lines(
        [
            "a.bench.yaml:4:3: benchmark.model: *NO_SUCH_KEY*",
            "a.bench.yaml:4:*: benchmark.model.name: '<model>' is a placeholder*",
            "a.bench.yaml:5:3: *'quetion'*",
            "a.bench.yaml:8:13: *mean_rewrd*",
            "a.bench.yaml:9:16: *'f1'*",
            "b.bench.yaml:1:1: *'rollouts' is missing",
            "b.bench.yaml:3:3: *'rolouts'*",
            "c.bench.yaml:1:*none.jsonl*",
            "e.bench.yaml:10:12: benchmark.expect.tasks: *164*",
            "math.bench.yaml:4:12: benchmark.expect.rollouts: *",
            "10 problems in 5 of 6 benchmark files",
        ]
    )
    assert (result.ret, judge_server.posts) == (1, 0)
    # a key is not needed where answers come from the journal alone
    result = paid.run_here(
        "--evalmetrics-check", "--evalmetrics-replay", "a.bench.yaml"
    )
    result.stdout.no_fnmatch_line("*NO_SUCH_KEY*")


def test_rows_that_lack_a_name_are_refused_where_expect_allows_none(paid, judge_server):
    paid.rows("rows.jsonl", [*ROWS, {"id": 9, "question": "q"}])
    write(paid, ONLINE)
    result = paid.run_here()
    result.stdout.fnmatch_lines(["*1 of 5 rows can't*'reference'*rows.jsonl:5*"])
    assert judge_server.posts == 0
    online = ONLINE.replace("{{ question }}", "[[say: {}]]{{ question }}")
    write(paid, f"{online}  expect: {{max_missing: 20%}}\n")
    assert paid.run_here("--evalmetrics-check").ret == 0
    paid.run_here()
    assert judge_server.posts > 0


def test_names_that_a_row_need_not_have_and_what_a_hook_computes(paid):
    templates = [
        "{% if item.hint is defined %}{{ item.hint }}{% endif %}{{ question }}",
        "{{ item.hint | default('none') }}",
        "{{ item.hint if hint is defined else question }}",
        "{% for one in item.question %}{{ one }}{% endfor %}{% set a = question %}{{ a }}",
        "{{ item['question'] ~ item.get('hint', '') }}",
    ]
    for n, template in enumerate(templates):
        write(paid, ONLINE.replace("{{ question }}", template), f"{n}.bench.yaml")
    hook = "def pytest_evalmetrics_compute_metrics(tasks):\n    return {'own': 1.0}\n"
    paid.write("conftest.py", hook)
    write(paid, ONLINE.replace("{mean_reward:", "{own:"))
    result = paid.run("--evalmetrics-check")
    assert result.ret == 0, result.stdout.str()
