"""Scored benchmarks, run by a real pytest against a real server process."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

ENDPOINT = Path(__file__).parent / "scorers" / "endpoint.py"


class Endpoint:
    """A process of scorers/endpoint.py; it can be killed and come back on its port."""

    def __init__(self):
        self.port = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, str(ENDPOINT), str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def seen(self):
        with urllib.request.urlopen(self.url("/"), timeout=10) as response:  # noqa: S310 - loopback
            return json.load(response)

    @property
    def posts(self):
        return int(self.seen()["posts"])


@pytest.fixture
def endpoint():
    found = Endpoint()
    yield found
    found.kill()


class Scored:
    """A project with one scored benchmark."""

    def __init__(self, project, endpoint):
        self.project = project
        self.endpoint = endpoint
        self.path = project.path

    def rows(self, *rows):
        self.project.rows("data.jsonl", rows)

    def bench(
        self,
        text="",
        *,
        path="/score",
        source="dataset: data.jsonl",
        scorer="",
        name="a.bench.yaml",
    ):
        remote = f"""\
    - type: remote
      url: {self.endpoint.url(path)}
      body: {{score: "{{{{ item.score }}}}", mode: "{{{{ item.mode | default(none) }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
"""
        lines = "".join(f"  {line}\n" for line in text.strip("\n").splitlines())
        self.project.write(
            name, f"benchmark:\n  name: scored\n  {source}\n  scorers:\n{scorer or remote}{lines}"
        )

    def run(self, *args):
        result = self.project.pytester.runpytest_subprocess(*args)
        text = result.stdout.str() + result.stderr.str()
        assert "INTERNALERROR" not in text, text
        assert "Traceback" not in text, text
        return result

    def report_bytes(self):
        return (self.path / "evalmetrics/report.json").read_bytes()

    def row_scores(self):
        text = (self.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def scored(project, endpoint):
    return Scored(project, endpoint)


def test_failed_rows_are_told_in_groups_and_the_rest_goes_on(scored):
    modes = ["nan", "html", "500", "close", None, "html", None]
    scored.rows(*({"score": 1, "mode": mode} for mode in modes), {"other": 1})
    scored.bench("params: {max_retries: 0}\nexpect: {max_missing: 15%}")
    result = scored.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "scored failed",
            "",
            "6 of 8 rows have no accuracy:",
            "  2 (html), such as data.jsonl:2: POST http*HTML page*",
            "  1 (closed), at data.jsonl:4: *closed the connection*",
            "  1 (http-500), at data.jsonl:3: *out of memory*",
            "  1 (not-finite), at data.jsonl:1:*NaN*",
            "  1 (template), at data.jsonl:8: *no attribute 'score'; *columns: other*",
            "",
            "verdict *",
            "FAIL*6 of 8 rows have no accuracy (html: 2, *; 6 rollouts have no finite accuracy*",
            "FAILED a.bench.yaml::scored - 6 of 8 rows have no accuracy (html: 2, *",
        ]
    )
    summary = (scored.path / "evalmetrics/summary.md").read_text()
    assert "<summary>❌ scored: 6 of 8 rows have no accuracy (html: 2, closed: 1" in summary
    rows = scored.row_scores()
    assert [row["scores"]["accuracy"] for row in rows] == [None] * 4 + [1, None, 1, None]
    (error,) = rows[2]["errors"]
    assert (error["kind"], error["row"]) == ("http-500", "data.jsonl:3")


def test_what_is_no_score_is_the_rows_error(scored):
    kinds = {7: "out-of-range", "x": "no-number", "NaN": "no-number", None: "no-score"}
    scored.rows(*({"score": value} for value in (*kinds, "0.25", True)))
    scored.bench(
        scorer=f"""\
    - type: remote
      url: {scored.endpoint.url("/score")}
      body: {{score: "{{{{ item.score }}}}"}}
      scores:
        - {{name: s, parser: {{type: json, json_path: $.result.score}}, minimum: 0, maximum: 1}}
""",
        text="expect: {max_missing: 70%}\nmetrics: mean_reward",
    )
    scored.run().assert_outcomes(passed=1)
    *failed, number, truth = scored.row_scores()
    assert [row["errors"][0]["kind"] for row in failed] == list(kinds.values())
    assert (number["scores"]["s"], truth["scores"]["s"]) == (0.25, 1.0)


def test_a_key_is_sent_and_shown_nowhere(scored, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    scored.rows({"score": 1}, {"score": "the key is sesame-opens"})
    scorer = f"""\
    - type: remote
      url: {scored.endpoint.url("/score")}
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: s, parser: {{type: json, json_path: $.result.score}}}}]
      api_key_secret: my-key
"""
    scored.bench(scorer=scorer)
    result = scored.run("--evalmetrics-journal-export=journal.jsonl")
    assert scored.endpoint.seen()["keys"][0] == "Bearer sesame-opens"
    written = [
        p.read_bytes() for p in scored.path.rglob("*") if p.is_file() and p.name != "data.jsonl"
    ]
    assert len(written) > 4
    assert not any(b"sesame" in text for text in written)
    assert "sesame" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*(no-number), at data.jsonl:2: *the key is [*][*][*]*"])


def test_a_missing_key_is_told_before_anything_is_sent(scored):
    scored.rows({"score": 1})
    scorer = f"""\
    - type: nemo-agent-toolkit-remote
      url: {scored.endpoint.url("/evaluate/item")}
      evaluator_name: similarity
      api_key_secret: no/such-key
"""
    scored.bench(scorer=scorer)
    result = scored.run()
    result.stdout.fnmatch_lines(
        ["*INCONCLUSIVE*a.bench.yaml:8: the secret 'no/such-key' is not in the environment*"]
    )
    result.stdout.fnmatch_lines(["*NO_SUCH_KEY*"])
    assert scored.endpoint.posts == 0


# -- the journal ------------------------------------------------------------------------------


def test_a_second_run_pays_only_for_what_is_new(scored):
    scored.rows(*({"score": n / 10} for n in range(5)))
    scored.bench()
    scored.run()
    first = scored.report_bytes(), (scored.path / "evalmetrics/row_scores.jsonl").read_bytes()
    assert scored.endpoint.posts == 5
    scored.run().stdout.fnmatch_lines(["calls: 5 answered (5 by the journal), 0 requests sent"])
    assert scored.endpoint.posts == 5
    again = scored.report_bytes(), (scored.path / "evalmetrics/row_scores.jsonl").read_bytes()
    assert again == first
    scored.rows({"score": 0.99}, *({"score": n / 10} for n in range(5)))
    scored.run()
    assert scored.endpoint.posts == 6


def test_replay_sends_nothing_and_needs_no_key(scored, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    scored.rows({"score": 1}, {"score": 0.5})
    scorer = f"""\
    - type: remote
      url: {scored.endpoint.url("/score")}
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: s, parser: {{json_path: $.result.score}}}}]
      api_key_secret: my-key
"""
    scored.bench("metrics: mean_reward", scorer=scorer)
    scored.run()
    first = scored.report_bytes()
    monkeypatch.delenv("MY_KEY")
    scored.endpoint.kill()
    scored.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert scored.report_bytes() == first
    scored.rows({"score": 1}, {"score": 0.5}, {"score": 0.75})
    result = scored.run("--evalmetrics-replay")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*(not-in-journal), at data.jsonl:3*"])
    scored.endpoint.start()


def test_a_replay_tells_of_failed_rows_what_the_run_told(scored):
    modes = ("422", None, "500", "html", "nan", "close")
    scored.rows(*({"id": n, "score": 1, "mode": mode} for n, mode in enumerate(modes)))
    scored.bench("metrics: mean_reward\nparams: {max_retries: 1}")
    nat = (
        "    - {type: nemo-agent-toolkit-remote, evaluator_name: e, max_retries: 0, "
        f"url: {scored.endpoint.url('/evaluate/item')}}}\n"
    )
    scored.rows(*({"id": n, "score": 1, "mode": mode} for n, mode in enumerate((*modes, "false"))))
    scored.bench("metrics: mean_reward", scorer=nat, name="b.bench.yaml")
    scored.run().assert_outcomes(failed=2)
    names = ("report.json", "row_scores.jsonl", "summary.md", "aggregate_metrics.json")
    first = [(scored.path / "evalmetrics" / name).read_bytes() for name in names]
    kinds = {
        k
        for e in scored.project.report()["benchmarks"]
        for f in e["failed_rows"]
        for k in f["kinds"]
    }
    assert {"http-422", "http-500", "html", "not-finite", "closed", "not-successful"} <= kinds
    asked = scored.endpoint.posts
    scored.run("--evalmetrics-replay").assert_outcomes(failed=2)
    assert [(scored.path / "evalmetrics" / name).read_bytes() for name in names] == first
    assert scored.endpoint.posts == asked
    scored.run("--evalmetrics-journal-export", "j.jsonl.gz")
    again = [(scored.path / "evalmetrics" / name).read_bytes() for name in names]
    asked = scored.endpoint.posts
    options = (
        "--cache-clear",
        "--evalmetrics-journal-import",
        "j.jsonl.gz",
        "--evalmetrics-replay",
    )
    scored.run(*options).assert_outcomes(failed=2)
    assert [(scored.path / "evalmetrics" / name).read_bytes() for name in names] == again
    assert scored.endpoint.posts == asked


def test_refresh_no_journal_and_clear(scored):
    scored.rows({"score": 1})
    scored.bench(path="/count", text="metrics: mean_reward")

    def score():
        return float(scored.row_scores()[0]["scores"]["accuracy"])

    scored.run()
    assert score() == 1
    scored.run("--evalmetrics-no-journal")
    assert score() == 2
    scored.run()
    assert score() == 1  # it was not touched
    scored.run("--evalmetrics-refresh")
    assert score() == 3
    scored.run()
    assert score() == 3  # it was replaced
    scored.run("--evalmetrics-journal-clear").stdout.fnmatch_lines(
        ["journal: emptied, 1 answer dropped"]
    )
    assert score() == 4
    result = scored.project.pytester.runpytest_subprocess(
        "--evalmetrics-replay", "--evalmetrics-refresh"
    )
    result.stderr.fnmatch_lines(["*--evalmetrics-replay and --evalmetrics-refresh contradict*"])


@pytest.mark.parametrize("name", ["journal.jsonl", "journal.jsonl.gz"])
def test_a_journal_travels_as_one_file(scored, name):
    scored.rows({"score": 1}, {"score": 0.5})
    scored.bench("metrics: mean_reward")
    scored.run(f"--evalmetrics-journal-export={name}").stdout.fnmatch_lines(
        [f"journal: 2 answers exported to {name}"]
    )
    scored.run(
        "--evalmetrics-journal-clear", f"--evalmetrics-journal-import={name}"
    ).stdout.fnmatch_lines(["journal: 2 new answers imported *"])
    assert scored.endpoint.posts == 2
    scored.project.write("bad.jsonl", "no journal\n")
    result = scored.project.pytester.runpytest_subprocess("--evalmetrics-journal-import=bad.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *bad.jsonl:1: this is no exported journal*"])


def test_without_pytests_cache_plugin_the_journal_is_the_same(scored):
    scored.rows({"score": 1})
    scored.bench("metrics: mean_reward")
    scored.run()
    scored.run("-p", "no:cacheprovider")
    assert scored.endpoint.posts == 1


def test_workers_share_one_journal_and_the_report_is_the_same(scored):
    scored.rows(*({"score": n / 10} for n in range(5)))
    for name in ("a", "b", "c"):
        scored.bench("metrics: mean_reward", name=f"{name}.bench.yaml")
    scored.run()
    alone = scored.report_bytes()
    posts = scored.endpoint.posts
    result = scored.run("-n2")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["calls: 15 answered (15 by the journal), 0 requests sent"])
    assert scored.endpoint.posts == posts
    assert scored.report_bytes() == alone


# -- interrupted, broken, at once -------------------------------------------------------------


def start(scored, *args):
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *args],
        cwd=scored.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_posts(scored, count):
    while scored.endpoint.posts < count:
        pass  # each look is a request of its own: no busier than that


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_an_interrupted_run_ends_with_the_same_report(scored, number):
    scored.rows(*({"score": n / 40} for n in range(40)))
    scored.bench("params: {parallelism: 2}\nmetrics: mean_reward", path="/score?latency=0.03")
    first = start(scored)
    wait_for_posts(scored, 12)
    first.send_signal(getattr(signal, number))
    out, _ = first.communicate(timeout=60)
    assert first.returncode != 0
    assert "INTERNALERROR" not in out
    scored.run().assert_outcomes(passed=1)
    resumed = scored.report_bytes()
    assert scored.endpoint.posts <= 40 + 2 + 8  # in flight, and what a kill kept from the disk
    scored.run("--evalmetrics-refresh").assert_outcomes(passed=1)
    assert scored.report_bytes() == resumed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_journal_that_cant_be_written_costs_only_what_it_saves(scored):
    scored.rows({"score": 1}, {"score": 0.5})
    scored.bench("metrics: mean_reward")
    scored.run()
    first = scored.report_bytes()
    (journal,) = scored.path.rglob("journal.sqlite3")
    for file in journal.parent.iterdir():
        file.unlink()
    journal.symlink_to("/dev/full")
    result = scored.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["warning: the journal *journal.sqlite3 can't be *"])
    assert scored.report_bytes() == first


# -- what else a benchmark may say ------------------------------------------------------------


OWN_SCORERS = """
from pytest_evalmetrics import register_scorer

@register_scorer("length")
class Length:
    scores = ("length",)
    def score(self, row):
        return 1

@register_scorer("mine")
class Mine:
    scores = ("one", "two")
    def __init__(self, *, short=1):
        pass
    def score(self, row):
        return {"one": 1, "two": 2}

@register_scorer("nameless")
class Nameless:
    def score(self, row):
        return 1
"""
UNMADE = {
    "gone": ("no_such_pkg.scorers:Length", "", "5: the scorer 'no_such_pkg*' can't be imported: *"),
    "keys": ("mine, shrt: 1", "", "5: the scorer 'mine' can't be made*shrt*"),
    "other": ("mine", "reward: acc", "6: no scorer gives the reward 'acc'*"),
    "two": ("mine", "", "4: the scorers give one, two: nothing says*"),
    "none": ("nameless", "", "5: the scorer 'nameless' does not say*"),
}


def test_scorers_that_cant_be_made_are_told_with_their_lines(scored):
    scored.project.write("conftest.py", OWN_SCORERS)
    scored.rows({"score": 1})
    for name, (scorer, text, _) in UNMADE.items():
        scored.bench(text, scorer=f"    - {{type: {scorer}}}\n", name=f"{name}.bench.yaml")
    result = scored.run()
    result.assert_outcomes(failed=len(UNMADE))
    for name, (_, _, told) in UNMADE.items():
        result.stdout.fnmatch_lines([f"*{name}.bench.yaml:{told}"])


def test_a_type_that_nobody_offers_is_found_at_collection(scored):
    scored.project.write("conftest.py", OWN_SCORERS)
    scored.rows({"score": 1})
    scored.bench(
        scorer="    - {type: length}\n    - {type: lenght}\n    - url: x\n      type: remot\n",
        text="metrics: mean_rewrad\nmetrcs: x",
    )
    result = scored.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.bench.yaml:6: *scorers[[]1[]].type: *no scorer 'lenght': did you mean 'length'*",
            "a.bench.yaml:8: *scorers[[]2[]].type: *no scorer 'remot': did you mean 'remote'*",
            "a.bench.yaml:10: *unknown key 'metrcs'*",
        ]
    )


# -- endpoints at fault -----------------------------------------------------------------------


UNREACHABLE = {
    "refused": ("http://127.0.0.1:{refused}/score", "*127.0.0.1:* refused the connection*"),
    "dns": ("http://no-such-host.invalid/score", "*: the name no-such-host.invalid *"),
    "tls": ("https://127.0.0.1:{plain}/score", "*https://*: no TLS connection to 127.0.0.1:*"),
    "moved": ("http://127.0.0.1:{plain}/moved", "*307*a redirect to *elsewhere; redirects are no*"),
}


def test_endpoints_that_arent_there_are_told_in_clear_words(scored):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        ports = {"refused": closed.getsockname()[1], "plain": scored.endpoint.port}
        scored.rows(*({"score": 1} for _ in range(3)))
        for name, (url, _) in UNREACHABLE.items():
            scored.bench(
                "params: {max_retries: 0}",
                scorer=f"""\
    - type: remote
      url: {url.format(**ports)}
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
""",
                name=f"{name}.bench.yaml",
            )
        result = scored.run()
    result.assert_outcomes(failed=len(UNREACHABLE))
    for _, told in UNREACHABLE.values():
        result.stdout.fnmatch_lines([told])
    entries = scored.project.report()["benchmarks"]
    assert {entry["verdict"] for entry in entries} <= {"FAIL", "INCONCLUSIVE"}


# -- what was asked, and what failed ----------------------------------------------------------


def test_what_was_asked_for_a_row_is_written_with_it(scored, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    scored.rows(
        {"score": 0.5, "text": "für \U0001f600"},
        {"score": 1, "text": "x" * 3950 + "sesame-opens" + "y" * 9000},
        {"score": "bad", "text": ""},
        {"score": 1, "text": "\ud800", "mode": "html"},
        {"text": "no score"},
    )
    scorer = f"""\
    - type: remote
      url: {scored.endpoint.url("/score")}
      body:
        score: "{{{{ item.score }}}}"
        text: "{{{{ item.text }}}}"
        mode: "{{{{ item.mode | default(none) }}}}"
      scores: [{{name: s, parser: {{type: json, json_path: $.result.score}}}}]
      api_key_secret: my-key
"""
    scored.bench("expect: {max_missing: 60%}\nmetrics: mean_reward", scorer=scorer)
    scored.run("-p", "xdist").assert_outcomes(passed=1)
    rows = [row["requests"] for row in scored.row_scores()]
    assert rows[0] == [
        {
            "request": '{"score":0.5,"text":"für \U0001f600","mode":null}',
            "answer": '{"result":{"score":0.5}}',
        }
    ]
    (long,) = rows[1]
    written, mark = long["request"].split("…")
    assert len(written) == 4000
    assert "***" in written
    assert re.fullmatch(r" \(of \d+ characters\)", mark)
    assert rows[2][0]["answer"] == '{"result":{"score":"bad"}}'
    assert rows[3] == [{"request": '{"score":1,"text":"\\ud800","mode":"html"}', "answer": None}]
    assert rows[4] == []
    found = (scored.path / "evalmetrics/row_scores.jsonl").read_bytes()
    assert b"sesame" not in found
    for args in ([], ["-n1"], ["--evalmetrics-no-journal"]):
        scored.run(*args)
        assert (scored.path / "evalmetrics/row_scores.jsonl").read_bytes() == found


def test_the_report_names_the_first_rows_that_failed(scored):
    scored.rows(*({"score": 1, "mode": "html" if n % 2 else "500"} for n in range(50)), {"a": 1})
    scored.bench("params: {max_retries: 0}\nexpect: {max_missing: 2%}")
    scored.run().assert_outcomes(failed=1)
    (entry,) = scored.project.report()["benchmarks"]
    (failed,) = entry["failed_rows"]
    assert (failed["scorer"], failed["scores"], failed["count"]) == ("remote", ["accuracy"], 51)
    assert list(failed["kinds"].items()) == [("html", 25), ("http-500", 25), ("template", 1)]
    assert [row["index"] for row in failed["first"]] == list(range(20))
    assert failed["first"][1]["row"] == "data.jsonl:2"
    assert failed["first"][1]["kind"] == "html"
    assert "HTML page" in failed["first"][1]["reason"]
    scored.rows({"score": 1})
    scored.run().assert_outcomes(passed=1)
    assert scored.project.report()["benchmarks"][0]["failed_rows"] == []


def test_why_a_scorer_scored_as_it_did_is_written_with_the_row(scored, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    scored.project.write(
        "conftest.py",
        """
from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.scorers import Explained

@register_scorer("explains")
class Explains:
    scores = ("length",)
    def __init__(self, terms, *, url=None):
        self.endpoint = terms.endpoint(url or "http://127.0.0.1:1/", secret="my-key")
    def score(self, row):
        text = row.item["text"]
        return Explained(len(text), f"it says {text}") if text else 0

@register_scorer("asks")
class Asks(Explains):
    scores = ("asked",)
    async def score(self, row, calls):
        answer = await calls.post(self.endpoint, {"score": 1}, kind="asks/1")
        return Explained(answer["result"]["score"], "it said so: \\ud800" + "x" * 9000)
""",
    )
    scored.rows({"text": "für"}, {"text": ""}, {"text": "sesame-opens"})
    url = scored.endpoint.url("/score")
    for scorers in ("", f"    - {{type: asks, url: '{url}'}}\n"):
        scored.bench(
            "reward: length\nmetrics: mean_reward", scorer="    - {type: explains}\n" + scorers
        )
        scored.run().assert_outcomes(passed=1)
        first, second, third = (row.get("reasons") for row in scored.row_scores())
        assert first[0] == {"scores": ["length"], "reason": "it says für"}
        assert third[0]["reason"] == "it says ***"
        assert (second is None) == (not scorers)
    assert second[0]["scores"] == ["asked"]
    assert second[0]["reason"].endswith("x… (of 9018 characters)")
    assert second[0]["reason"].startswith("it said so: \\ud800x")
    found = (scored.path / "evalmetrics/row_scores.jsonl").read_bytes()
    scored.run("-n1")
    assert (scored.path / "evalmetrics/row_scores.jsonl").read_bytes() == found


@pytest.mark.skipif(os.name == "nt", reason="needs a limit of the size of files")
def test_a_full_disk_is_told_and_leaves_nothing_half_written(scored):
    scored.project.write(
        "conftest.py",
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))\n",
    )
    scored.rows(*({"score": 1, "mode": "x" * 3000} for _ in range(30)))
    scored.bench("metrics: mean_reward")
    result = scored.run()  # looks for tracebacks
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE*the requests of the rows can't be kept for row_scores.jsonl in *",
            "*-> free some room, or name another folder in the environment as TMPDIR*",
        ]
    )
    left = {path.name for path in (scored.path / "evalmetrics").iterdir()}
    assert "row_scores.jsonl" not in left
    assert not any(name.startswith(".") for name in left - {".gitignore"})
    json.loads(scored.report_bytes())


# -- progress ---------------------------------------------------------------------------------


def test_nothing_of_the_progress_stays_in_a_log_of_a_short_run(scored):
    scored.rows({"score": 1})
    scored.bench("metrics: mean_reward")
    out = scored.run().stdout.str()
    assert "\x1b[2K" not in out
    assert re.search(r"^a\.bench\.yaml \.", out, re.MULTILINE)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
@pytest.mark.parametrize("flag", ["-v", "-q"])
def test_a_live_line_on_a_terminal(scored, flag):
    import pty  # noqa: PLC0415 - not on Windows

    scored.rows(*({"score": 1} for _ in range(8)))
    scored.bench("params: {parallelism: 1}\nmetrics: mean_reward", path="/score?latency=0.05")
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", flag, "--color=no"],
        cwd=scored.path,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert run.wait() == 0, seen.decode()
    text = seen.decode()
    assert ("8/8 (100%) rows" in text) == (flag != "-q")
    if flag == "-v":
        assert re.search(r"\x1b\[2K\x1b\[1A\x1b\[\d+G", text)


@pytest.mark.parametrize("kind", ["file", "folder", "URL"])
def test_a_journal_is_shared_by_jobs(scored, tmp_path, kind):
    (tmp_path / "shared").mkdir()
    place = {
        "file": str(tmp_path / "shared/calls.sqlite3"),
        "folder": f"{tmp_path / 'shared'}/",
        "URL": f"file://{tmp_path.as_posix()}/bucket/journal.jsonl.gz",
    }[kind]
    scored.rows(*({"score": n / 4} for n in range(4)))
    scored.bench("metrics: mean_reward")
    scored.run("--evalmetrics-journal", place).assert_outcomes(passed=1)
    assert scored.endpoint.posts == 4
    shutil.rmtree(scored.path / ".pytest_cache", ignore_errors=True)  # another machine
    result = scored.run("--evalmetrics-journal", place)
    result.stdout.fnmatch_lines(["calls: 4 answered (4 by the journal), 0 requests sent"])
    assert scored.endpoint.posts == 4


def test_a_later_version_of_the_journal_stops_before_anything_is_paid(scored):
    scored.rows({"score": 1})
    scored.bench("metrics: mean_reward")
    scored.run().assert_outcomes(passed=1)
    path = scored.path / ".pytest_cache/d/evalmetrics/journal.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    scored.rows({"score": 0.5})
    result = scored.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE*is of version 99*nothing was called*"])
    assert scored.endpoint.posts == 1


@pytest.mark.parametrize("module", ["aiohttp", "jinja2", "jsonpath"])
def test_without_the_extra_it_is_told_what_to_install(scored, module, monkeypatch):
    monkeypatch.setenv("EVALMETRICS_TESTS_SPAWN", "1")  # nothing may be imported already
    scored.project.write("conftest.py", f"import sys\nsys.modules[{module!r}] = None\n")
    scored.rows({"score": 1})
    scored.bench()
    bench = scored.project.path / "a.bench.yaml"
    # a path of names alone needs no package, and neither does a template
    text = bench.read_text().replace("json_path: $.", "json_path: $..")
    bench.write_text(text.replace("item.score }}", "item.score | float }}"))
    result = scored.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*INCONCLUSIVE*needs {module}*not installed*"])
    result.stdout.fnmatch_lines(["*pip install 'pytest-evalmetrics[[]remote]'*"])
