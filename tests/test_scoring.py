"""Scored benchmarks, run by a real pytest against a real server process."""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from conftest import SharedProject
from forked import Run
from own_environment import own_environment
from pseudo_terminal import sent_to_terminal
from scoring.transport.conftest import Server


class Endpoint(Server):
    """A process of scorers/endpoint.py, whose requests are counted from `forget` on."""

    script = Path(__file__).parent / "scoring" / "scorers" / "endpoint.py"

    def forget(self):
        self.earlier = self.seen()["posts"]

    @property
    def posts(self):
        return self.seen()["posts"] - self.earlier


@pytest.fixture(scope="module")
def _endpoint():
    endpoint = Endpoint()
    yield endpoint
    endpoint.kill()


class Scored(SharedProject):
    """A project with one scored benchmark."""

    def __init__(self, path, endpoint):
        super().__init__(path)
        self.endpoint = endpoint

    def data(self, *rows):
        self.rows("data.jsonl", rows)

    def bench(self, text="", *, path="/score", scorer="", more="", name="a.bench.yaml"):
        remote = f"""\
    - type: remote
      url: {self.endpoint.at(path)}
      body:
        score: "{{{{ item.score }}}}"
        mode: "{{{{ item.mode | default(none) }}}}"
        text: "{{{{ item.text | default(none) }}}}"
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
      {more}
"""
        lines = "".join(f"  {line}\n" for line in text.strip("\n").splitlines())
        self.write(
            name,
            "benchmark:\n  name: scored\n  dataset: data.jsonl\n  scorers:\n"
            f"{scorer or remote}{lines}",
        )

    def run(self, *args):
        with own_environment(self.path):
            return super().run("-p", "cacheprovider", *args)  # it holds the journal

    def artifacts(self):
        """Read those that don't tell whether the journal answered."""
        names = ("report.json", "row_scores.jsonl", "aggregate_metrics.json")
        return [(self.path / "evalmetrics" / name).read_bytes() for name in names]

    def row_scores(self):
        text = (self.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def scored(pytester, _endpoint):
    _endpoint.forget()
    return Scored(pytester.path, _endpoint)


@pytest.fixture(scope="module")
def failing(_endpoint, tmp_path_factory):
    """A project whose endpoint fails 25 of 27 rows in four ways; the last row lacks a column."""
    failing = Scored(tmp_path_factory.mktemp("failing"), _endpoint)
    modes = ["nan", "html", "500", "close", None, "html", None, *["html"] * 20]
    rows = [{"score": 1, "mode": mode} for mode in modes]
    failing.data(*rows, {"other": 1})
    failing.bench("params: {max_retries: 0}\nexpect: {max_missing: 15%}")
    failing.result = failing.run()
    return failing


KINDS = {"html": 22, "closed": 1, "http-500": 1, "not-finite": 1, "template": 1}


def test_failed_rows_are_grouped_by_their_kind(failing):
    failing.result.assert_outcomes(failed=1)
    failing.result.stdout.fnmatch_lines(
        [
            "26 of 28 rows have no accuracy:",
            "  22 (html), such as data.jsonl:2: POST http*HTML page*",
            "  1 (closed), at data.jsonl:4: *closed the connection*",
            "  1 (http-500), at data.jsonl:3: *out of memory*",
            "  1 (not-finite), at data.jsonl:1:*NaN*",
            "  1 (template), at data.jsonl:28: *no attribute 'score'; *columns: other*",
            "FAIL*26 of 28 rows have no accuracy (html: 22, *; 26 rollouts have no finite acc*",
            "FAILED a.bench.yaml::scored - 26 of 28 rows have no accuracy (html: 22, *",
        ]
    )
    summary = (failing.path / "evalmetrics/summary.md").read_text()
    head = "❌ scored: 26 of 28 rows have no accuracy (html: 22, closed: 1"
    assert f"<summary>{head}" in summary


def test_the_rows_between_failed_ones_are_scored(failing):
    rows = failing.row_scores()
    assert [row["scores"]["accuracy"] for row in rows[:7]] == [None] * 4 + [1, None, 1]
    (error,) = rows[2]["errors"]
    assert (error["kind"], error["row"]) == ("http-500", "data.jsonl:3")


def test_the_report_counts_failed_rows_and_shows_the_first_of_them(failing):
    (entry,) = failing.report()["benchmarks"]
    (failed,) = entry["failed_rows"]
    assert (failed["scorer"], failed["scores"]) == ("remote", ["accuracy"])
    assert failed["count"] == 26
    assert list(failed["kinds"].items()) == list(KINDS.items())
    assert [row["index"] for row in failed["first"]] == [0, 1, 2, 3, 5, *range(7, 22)]
    second = failed["first"][1]
    assert (second["row"], second["kind"]) == ("data.jsonl:2", "html")
    assert "HTML page" in second["reason"]


def test_a_redirect_is_not_followed(scored):
    scored.data({"score": 1})
    scored.bench("params: {max_retries: 0}", path="/moved")
    scored.run().stdout.fnmatch_lines(
        ["*307*a redirect to *elsewhere; redirects are no*"]
    )


def test_a_key_is_asked_for_at_once_and_shown_nowhere(scored, monkeypatch):
    scored.data({"score": 1}, {"score": "the key is sesame-opens"})
    scored.bench(more="api_key_secret: my-key")
    result = scored.run()
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *a.bench.yaml:12: the secret 'my-key' is not in the env*",
            "*MY_KEY*",
        ]
    )
    assert scored.endpoint.posts == 0
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    result = scored.run("--evalmetrics-journal-export=journal.jsonl")
    assert scored.endpoint.seen()["keys"][-2:] == ["Bearer sesame-opens"] * 2
    written = [
        p.read_bytes()
        for p in scored.path.rglob("*")
        if p.is_file() and p.name != "data.jsonl"
    ]
    assert len(written) > 4
    assert not any(b"sesame" in text for text in written)
    assert "sesame" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        ["*(no-number), at data.jsonl:2: *the key is [*][*][*]*"]
    )


# -- the journal ------------------------------------------------------------------------------


def test_a_second_run_pays_only_for_what_is_new(scored):
    scored.data(*({"score": n / 10} for n in range(5)))
    for name in ("a", "b", "c"):
        scored.bench("metrics: mean_reward", name=f"{name}.bench.yaml")
    scored.run()
    first = scored.artifacts()
    assert scored.endpoint.posts == 5
    for how in ((), ("-p", "no:cacheprovider"), ("-n2",)):
        result = scored.run(*how)
        result.assert_outcomes(passed=3)
        result.stdout.fnmatch_lines(
            ["calls: 15 answered (15 by the journal), 0 requests sent"]
        )
        assert scored.endpoint.posts == 5
        assert scored.artifacts() == first
        assert (
            "\x1b[2K" not in result.stdout.str()
        )  # nothing of the progress stays in a log
    scored.data({"score": 0.99}, *({"score": n / 10} for n in range(5)))
    scored.run("a.bench.yaml")
    assert scored.endpoint.posts == 6


def test_a_run_that_the_journal_answers_alone_says_so_under_q_and_in_the_summary(
    scored,
):
    scored.data(*({"score": n / 10} for n in range(5)))
    scored.bench("metrics: mean_reward")
    scored.run()
    summary = scored.path / "evalmetrics/summary.md"
    assert "Nothing was called" not in summary.read_text(encoding="utf-8")
    result = scored.run("-q")
    result.stdout.fnmatch_lines(
        ["note: nothing was called: the journal gave all 5 answers"]
    )
    text = summary.read_text(encoding="utf-8")
    assert "Nothing was called: the journal gave all 5 answers." in text


def test_a_replay_reports_failed_rows_as_the_run_did(scored):
    modes = ("422", None, "500", "html", "nan", "close", "false")
    scored.data(*({"id": n, "score": 1, "mode": mode} for n, mode in enumerate(modes)))
    scored.bench("metrics: mean_reward\nparams: {max_retries: 1}")
    nat = (
        "    - {type: nemo-agent-toolkit-remote, evaluator_name: e, max_retries: 0, "
        f"url: {scored.endpoint.at('/evaluate/item')}}}\n"
    )
    scored.bench("metrics: mean_reward", scorer=nat, name="b.bench.yaml")
    scored.run("--evalmetrics-journal-export", "j.jsonl.gz").assert_outcomes(failed=2)
    first = scored.artifacts()
    kinds = {
        k
        for e in scored.report()["benchmarks"]
        for f in e["failed_rows"]
        for k in f["kinds"]
    }
    assert {
        "http-422",
        "http-500",
        "html",
        "not-finite",
        "closed",
        "not-successful",
    } <= kinds
    asked = scored.endpoint.posts
    for how in ((), ("--cache-clear", "--evalmetrics-journal-import", "j.jsonl.gz")):
        scored.run("--evalmetrics-replay", *how).assert_outcomes(failed=2)
        assert scored.artifacts() == first
        assert scored.endpoint.posts == asked


def test_a_replay_that_lacks_answers_is_not_judged_though_rows_may_fail(scored):
    scored.data(*[{"score": 1}] * 3)
    scored.bench(
        "metrics: mean_reward\nexpect: {missing_reward: 0.0, max_missing: 50%}"
    )
    scored.run().assert_outcomes(passed=1)
    scored.data(*[{"score": 1}] * 3, {"score": 2})
    result = scored.run("--evalmetrics-replay")
    result.assert_outcomes(failed=1)
    lacking = "INCONCLUSIVE  the journal has no answer for 1 of 4 rollouts"
    result.stdout.fnmatch_lines([lacking, "  -> run once without replay"])


def test_refresh_no_journal_and_clear(scored):
    scored.data({"score": 1})
    scored.bench(path="/count", text="metrics: mean_reward")
    mode = "evalmetrics_journal="
    first = scored.endpoint.earlier
    for args, score in (
        ((), 1),
        (("-o", f"{mode}off"), 2),
        ((), 1),  # it was not touched
        (("--evalmetrics-refresh", "-o", f"{mode}replay"), 3),
        (("-o", f"{mode}replay"), 3),  # it was replaced
        (("--evalmetrics-journal-clear",), 4),
    ):
        result = scored.run(*args)
        assert scored.row_scores()[0]["scores"]["accuracy"] == first + score, args
    result.stdout.fnmatch_lines(["journal: emptied, 1 answer dropped"])


# -- interrupted, broken, at once -------------------------------------------------------------


@pytest.fixture
def waiting(scored):
    """A run of 40 calls that waits for two of them, with 12 answers so far."""
    scored.endpoint.seen("?hold")
    held = scored.endpoint.earlier + 12
    scored.data(*({"score": n / 40} for n in range(40)))
    scored.bench(
        "params: {parallelism: 2}\nmetrics: mean_reward", path=f"/score?held={held}"
    )
    with (scored.path / "out").open("wb") as out:
        run = Run([sys.executable, "-mpytest"], scored.path, os.environ, out, out)
    run.wait_until(lambda: scored.endpoint.posts == 14)
    yield run
    run.kill()


def resumed(scored):
    """Run again; return the artifacts, and how many calls both runs made."""
    scored.run().assert_outcomes(passed=1)
    return scored.artifacts(), scored.endpoint.posts


def from_the_beginning(scored):
    """Return the artifacts of a run that makes all calls."""
    scored.run("--evalmetrics-refresh").assert_outcomes(passed=1)
    return scored.artifacts()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_run_that_was_interrupted_goes_on_and_pays_for_no_call_twice(scored, waiting):
    out = scored.path / "out"
    os.kill(waiting.pid, signal.SIGINT)
    waiting.wait_until(lambda: "waiting up to 10 s for 2 calls" in out.read_text())
    scored.endpoint.seen("?release")
    assert waiting.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
    assert "INTERNALERROR" not in out.read_text()
    artifacts, calls = resumed(scored)
    assert calls == 40
    assert from_the_beginning(scored) == artifacts


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_run_that_was_killed_goes_on_from_what_was_written(scored, waiting):
    os.kill(waiting.pid, signal.SIGKILL)
    assert waiting.wait(timeout=60) == -signal.SIGKILL
    scored.endpoint.seen("?release")
    artifacts, calls = resumed(scored)
    # it may lose calls in flight, and what was not on the disk yet
    assert calls <= 40 + 2 + 8
    assert from_the_beginning(scored) == artifacts


@pytest.mark.parametrize("damage", ["emptied", "a folder"])
def test_a_journal_whose_answers_are_lost_stops_before_anything_is_paid(scored, damage):
    scored.data({"score": 1}, {"score": 0.5})
    scored.bench("metrics: mean_reward")
    scored.run()
    (journal,) = scored.path.rglob("journal.log")
    journal.write_bytes(b"")
    if damage == "a folder":
        journal.unlink()
        journal.mkdir()
    result = scored.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE*journal*othing was called*"])
    assert scored.endpoint.posts == 2


# -- what else a benchmark may say ------------------------------------------------------------


OWN_SCORERS = """
from pytest_evalmetrics import register_scorer

@register_scorer("mine")
class Mine:
    scores = ("one", "two")
    def __init__(self, *, short=1):
        pass
    def score(self, row):
        return {"one": 1, "two": 2}

@register_scorer("f1")
class F1(Mine):
    pass

@register_scorer("nameless")
class Nameless:
    def score(self, row):
        return 1
"""
INVALID = {
    "gone": (
        "no_such_pkg.scorers:Length",
        "",
        "5: the scorer 'no_such_pkg*' can't be imported: *",
    ),
    "keys": ("mine, shrt: 1", "", "5: the scorer 'mine' can't be made*shrt*"),
    "other": ("mine", "reward: acc", "6: no scorer gives the reward 'acc'*"),
    "two": ("mine", "", "4: the scorers give one, two: nothing says*"),
    "none": ("nameless", "", "5: the scorer 'nameless' does not say*"),
    "taken": (
        "f1",
        "",
        "5: the scorer 'f1' is built in, and *conftest.py:*has the same name",
    ),
}


def test_invalid_scorers_are_reported_with_their_lines(scored):
    scored.write("conftest.py", OWN_SCORERS)
    scored.data({"score": 1})
    for name, (scorer, text, _) in INVALID.items():
        scored.bench(
            text, scorer=f"    - {{type: {scorer}}}\n", name=f"{name}.bench.yaml"
        )
    result = scored.run()
    result.assert_outcomes(failed=len(INVALID))
    for name, (*_, message) in INVALID.items():
        result.stdout.fnmatch_lines([f"*{name}.bench.yaml:{message}"])


# -- what was asked, and what failed ----------------------------------------------------------


EXPLAINS = """
from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.ext import Explained

@register_scorer("explains")
class Explains:
    scores = ("length",)
    def __init__(self, terms, *, url):
        self.endpoint = terms.endpoint(url, secret="my-key")
    async def score(self, row, calls):
        text = row.item["text"]
        answer = await calls.post(self.endpoint, {"score": len(text)}, kind="explains/1")
        score = answer["result"]["score"]
        return Explained(score, f"it says {text}") if text else score
"""


LONG_WITH_KEY = "x" * 3950 + "sesame-opens" + "y" * 9000


@pytest.fixture(scope="module")
def requests(_endpoint, tmp_path_factory):
    """What row_scores.jsonl says that each of five rows asked, with a key in one of them."""
    asking = Scored(tmp_path_factory.mktemp("asking"), _endpoint)
    asking.data(
        {"score": 0.5, "text": "für \U0001f600"},
        {"score": "bad", "text": ""},
        {"text": "no score"},
        {"score": 1, "text": "\ud800", "mode": "html"},
        {"score": 1, "text": LONG_WITH_KEY},
    )
    asking.bench(
        "expect: {max_missing: 60%}\nmetrics: mean_reward",
        more="api_key_secret: my-key",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_KEY", "sesame-opens")
        asking.run().assert_outcomes(passed=1)
    return [row["requests"] for row in asking.row_scores()]


def test_a_request_is_written_with_its_answer(requests):
    assert requests[0] == [
        {
            "request": '{"score":0.5,"mode":null,"text":"für \U0001f600"}',
            "answer": '{"result":{"score":0.5}}',
        }
    ]


def test_a_request_of_a_failed_row_is_written_too(requests):
    assert requests[1][0]["answer"] == '{"result":{"score":"bad"}}'


def test_a_row_that_nothing_was_asked_for_has_no_request(requests):
    assert requests[2] == []


def test_a_request_that_got_no_json_is_written_without_an_answer(requests):
    assert requests[3] == [
        {"request": '{"score":1,"mode":"html","text":"\\ud800"}', "answer": None}
    ]


def test_a_long_request_is_cut_after_its_secret_is_hidden(requests):
    (long,) = requests[4]
    written, mark = long["request"].split("…")
    assert len(written) == 4000
    assert "***" in written
    assert re.fullmatch(r" \(of \d+ characters\)", mark)


@pytest.fixture(scope="module")
def explained(_endpoint, tmp_path_factory):
    """Rows that a scorer explains, among them one without a reason and a long one with a key."""
    explained = Scored(tmp_path_factory.mktemp("explained"), _endpoint)
    explained.data(
        {"text": "für \U0001f600"},
        {"text": LONG_WITH_KEY},
        {"text": ""},
        {"text": "\ud800"},
    )
    explained.write("conftest.py", EXPLAINS)
    explains = f"    - {{type: explains, url: '{_endpoint.at('/score')}'}}\n"
    explained.bench("metrics: mean_reward", scorer=explains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_KEY", "sesame-opens")
        explained.run().assert_outcomes(passed=1)
    return explained


@pytest.fixture
def explained_again(explained, tmp_path, monkeypatch):
    """A copy of the project with what its first run left, for a second run."""
    monkeypatch.setenv("MY_KEY", "sesame-opens")
    folder = shutil.copytree(explained.path, tmp_path / "copy")
    return Scored(folder, explained.endpoint)


def test_the_reason_of_a_score_is_written_with_the_row(explained):
    reasons = [row.get("reasons") for row in explained.row_scores()]
    assert reasons[0] == [{"scores": ["length"], "reason": "it says für \U0001f600"}]
    assert reasons[2] is None
    assert reasons[3][0]["reason"] == "it says \\ud800"


def test_a_long_reason_is_cut_after_its_secret_is_hidden(explained):
    reason = explained.row_scores()[1]["reasons"][0]["reason"]
    assert re.fullmatch(r"it says x{3950}\*\*\*y+… \(of 1\d+ characters\)", reason)


def test_artifacts_hold_no_secret(explained):
    for data in explained.artifacts():
        assert b"sesame" not in data


def test_a_worker_writes_the_same_artifacts(explained, explained_again):
    explained_again.run("-n1").assert_outcomes(passed=1)
    assert explained_again.artifacts() == explained.artifacts()


def test_a_run_without_a_journal_writes_the_same_rows(explained, explained_again):
    explained_again.run("--evalmetrics-no-journal").assert_outcomes(passed=1)
    assert explained_again.row_scores() == explained.row_scores()


HINTS = """
from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.ext import RowError

@register_scorer("hints")
class Hints:
    scores = ("hinted",)
    def __init__(self, terms, *, url):
        self.endpoint = terms.endpoint(url, secret="my-key")
    async def score(self, row, calls):
        key = self.endpoint.secret.reveal()
        raise RowError("no-score", f"denied to {key}", hint=f"curl -H '{key}'")
"""


def test_a_key_in_the_hint_of_a_scorers_own_error_is_hidden(scored, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-opens-71")
    scored.data({"score": 1}, {"score": 2})
    scored.write("conftest.py", HINTS)
    entry = f"    - {{type: hints, url: '{scored.endpoint.at('/score')}'}}\n"
    scored.bench("metrics: mean_reward", scorer=entry)
    result = scored.run()
    assert "sesame" not in result.stdout.str()
    for path in (scored.path / "evalmetrics").rglob("*"):
        assert path.is_dir() or b"sesame" not in path.read_bytes(), path
    (failed,) = scored.report()["benchmarks"][0]["failed_rows"]
    assert failed["first"][0]["hint"] == "curl -H '***'"


@pytest.mark.skipif(os.name == "nt", reason="needs a limit of the size of files")
def test_a_full_disk_is_reported_and_leaves_nothing_half_written(scored):
    scored.write(
        "conftest.py",
        "import resource, sys\n"
        "sys.dont_write_bytecode = True  # it would be cut off\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))\n",
    )
    scored.data(*({"score": 1, "mode": "x" * 3000} for _ in range(30)))
    scored.bench("metrics: mean_reward")
    result = scored.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE*the requests of the rows can't be kept for row_scores.jsonl in *",
            "*-> free some room, or name another folder in the environment as TMPDIR*",
        ]
    )
    left = {path.name for path in (scored.path / "evalmetrics").iterdir()}
    assert "row_scores.jsonl" not in left
    assert not any(name.startswith(".") for name in left - {".gitignore"})
    assert scored.report()["verdict"] == "INCONCLUSIVE"


# -- progress ---------------------------------------------------------------------------------


# no test waits for 30 seconds: a line comes twenty times a second
OFTEN = """
from pytest_evalmetrics import progress_display

progress_display.LOG_S = 0.05
progress_display.BAR_S = 0.01
"""


@pytest.fixture
def slow(scored):
    """A benchmark of twelve calls, one after the other, that take most of half a second."""
    scored.data(*({"score": 1} for _ in range(12)))
    scored.write("conftest.py", OFTEN)
    scored.bench(
        "params: {parallelism: 1}\nmetrics: mean_reward", path="/score?latency=0.03"
    )
    return scored


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_a_log_gets_a_line_now_and_then_on_stderr(slow, options):
    result = slow.run(*options)
    result.assert_outcomes(passed=1)
    lines = [line for line in result.stderr.lines if line.startswith("scored: ")]
    assert 2 <= len(lines) <= 12
    assert re.fullmatch(
        r"scored: \d+/12 rows \(\d+%\), accuracy 1 so far, \d+ s (so far|left), \d+ calls?",
        lines[0],
    )
    assert lines[-1].startswith("scored: 12/12 rows (100%), accuracy 1 so far, ")
    assert "/12 rows" not in result.stdout.str()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_terminal_gets_one_line_with_a_bar_that_fits(slow):
    text = sent_to_terminal(slow.path, columns=80)
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    states = re.findall(r"\r\x1b\[2K([^\r\n\x1b]+)", plain)
    assert len(states) > 5
    assert all(len(state) < 80 for state in states)
    assert all(state.startswith("scored ") for state in states)
    assert "12/12 rows (100%)" in states[-1]
    # then the cursor is where pytest left it
    assert re.search(r"\x1b\[2K\x1b\[1A\x1b\[\d+G", text)


@pytest.mark.parametrize("kind", ["folder", "URL"])
def test_a_journal_is_shared_by_jobs(scored, tmp_path, kind):
    (tmp_path / "shared").mkdir()
    place = {
        "folder": f"{tmp_path / 'shared'}/",
        "URL": f"file://{tmp_path.as_posix()}/bucket/journal.jsonl.gz",
    }[kind]
    scored.data(*({"score": n / 4} for n in range(4)))
    scored.bench("metrics: mean_reward")
    scored.run(f"--evalmetrics-journal={place}").assert_outcomes(passed=1)
    assert scored.endpoint.posts == 4
    shutil.rmtree(scored.path / ".pytest_cache", ignore_errors=True)  # another machine
    result = scored.run(f"--evalmetrics-journal={place}")
    result.stdout.fnmatch_lines(
        ["calls: 4 answered (4 by the journal), 0 requests sent"]
    )
    assert scored.endpoint.posts == 4


def test_a_later_version_of_the_journal_stops_before_anything_is_paid(scored):
    scored.data({"score": 1})
    scored.bench("metrics: mean_reward")
    scored.run().assert_outcomes(passed=1)
    path = scored.path / ".pytest_cache/d/evalmetrics/journal.log"
    path.write_bytes(path.read_bytes().replace(b"journal 3", b"journal 99", 1))
    scored.data({"score": 0.5})
    result = scored.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE*is of version 99*nothing was called*"])
    assert scored.endpoint.posts == 1


def test_what_calls_and_paths_need_is_named_where_it_is_missing(scored, monkeypatch):
    # nothing may be imported already
    monkeypatch.setenv("EVALMETRICS_TESTS_SPAWN", "1")
    scored.write(
        "conftest.py",
        "import sys\nsys.modules['aiohttp'] = sys.modules['jsonpath'] = None\n",
    )
    scored.data({"score": 1})
    scored.bench(name="a.bench.yaml")
    scored.bench(name="b.bench.yaml")
    # a path of names alone needs no package
    path = scored.path / "b.bench.yaml"
    path.write_text(path.read_text().replace("json_path: $.", "json_path: $.."))
    result = scored.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE*needs aiohttp*not installed*",
            "*pip install 'pytest-evalmetrics[[]remote]'*",
            "INCONCLUSIVE*b.bench.yaml*needs jsonpath*not installed*",
            "*pip install 'pytest-evalmetrics[[]remote]'*",
        ]
    )
