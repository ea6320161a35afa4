"""What a page shows without scripts: a table of benchmarks, and why some do not pass."""

import pytest
from msgspec import structs
from reports.records import above, agent, below, benchmark, broken, compared, run, task

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.history import HistoryRun
from pytest_evalmetrics.model.results import Attempt, Flip
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.html.static_page import static_page


def text(words):
    """Write words as the page does: in their own direction."""
    return f'<bdi dir="auto">{words}</bdi>'


def lines(*results, **fields):
    return static_page(run(*results, **fields)).split("\n")


def section(written, begins):
    """Return the lines from one on."""
    return written[written.index(begins) :]


@pytest.mark.parametrize(
    ("check", "kind", "word"),
    [
        (below(), "fail", "FAIL"),
        (broken(), "unsure", "INCONCLUSIVE"),
        (below(verdict=Verdict.WARN), "warn", "WARN"),
        (above(), "pass", "PASS"),
    ],
)
def test_the_verdict_comes_first_with_the_counts(check, kind, word):
    assert lines(benchmark(check))[:4] == [
        f'<div class="verdict {kind}">',
        f"<h1>{word}</h1>",
        f'<p class="lead">{text(f"1 {word}")}</p>',
        "</div>",
    ]


def test_drift_is_said_with_the_verdict():
    past = HistoryRun(
        schema_version=1,
        benchmark="a",
        time="1",
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={},
        drift=("a < b",),
    )
    written = lines(benchmark(above()), history={"a": (past,)})
    assert written[3:5] == [f"<p>Drift: {text('a &lt; b')}</p>", "</div>"]


def test_each_benchmark_is_a_row_whose_name_is_its_head():
    written = lines(
        benchmark(compared(agent="x"), name="<b>"), benchmark(broken(), agents=())
    )
    assert section(written, "<caption>Benchmarks</caption>")[:5] == [
        "<caption>Benchmarks</caption>",
        (
            '<thead><tr><th scope="col">Verdict</th><th scope="col">Benchmark</th>'
            '<th scope="col">Metric</th><th scope="col">Before</th><th scope="col">Now</th>'
            '<th scope="col">Change</th><th scope="col">p</th></tr></thead>'
        ),
        "<tbody>",
        (
            f'<tr><td>FAIL</td><th scope="row">{text("&lt;b&gt;")}</th>'
            f"<td>{text('x: pass@1')}</td><td>0.9000</td><td>0.7000</td>"
            "<td>-0.2000</td><td>0.004</td></tr>"
        ),
        (
            f'<tr><td>INCONCLUSIVE</td><th scope="row">{text("math")}</th>'
            f"<td>{text('data')}</td><td></td><td></td><td></td><td></td></tr>"
        ),
    ]


def test_a_benchmark_without_gates_has_its_name_alone():
    written = lines(benchmark())
    assert section(written, "<tbody>") == [
        "<tbody>",
        f'<tr><td>PASS</td><th scope="row">{text("math")}</th></tr>',
        "</tbody></table></div>",
    ]


def test_a_run_without_benchmarks_has_no_table():
    assert lines(not_evaluated=("a",))[-1] == "</div>"


def test_two_hundred_benchmarks_are_in_the_table():
    results = [benchmark(above(), name=f"b{number:03}") for number in range(202)]
    written = lines(*results)
    assert sum(line.startswith("<tr>") for line in written) == 200
    assert written[-1] == "<p>and 2 more benchmarks, in summary.md beside this page</p>"
    assert not any("more benchmark" in line for line in lines(*results[:200]))


SEPARATOR = Separator(
    agent="agent",
    field="la<ng",
    value="de",
    tasks_with=10,
    worse_with=8,
    tasks_without=30,
    worse_without=1,
    odds=100.0,
    p=0.001,
    fields=4,
    values=20,
)


def test_a_benchmark_that_does_not_pass_is_explained():
    check = broken(reasons=(kinds.Failed("bad <row>", "do x"),), agent="x")
    again = structs.replace(check, agent="y")
    result = benchmark(check, again, above(), id="a b", separators=(SEPARATOR,) * 4)
    written = lines(result)
    shared = "la&lt;ng de (8 of 10 worse; others 1 of 30)"
    assert section(written, f"<h2>{text('math')}: INCONCLUSIVE</h2>") == [
        f"<h2>{text('math')}: INCONCLUSIVE</h2>",
        "<ul>",
        f"<li>INCONCLUSIVE: {text('x: bad &lt;row&gt;')}</li>",
        f"<li>INCONCLUSIVE: {text('y: bad &lt;row&gt;')}</li>",
        f"<li>the worse tasks have in common: {text(shared)}</li>",
        f"<li>the worse tasks have in common: {text(shared)}</li>",
        f"<li>the worse tasks have in common: {text(shared)}</li>",
        "</ul>",
        f"<p>What to do: {text('do x')}</p>",
        f"<p>Run again: <code>{text('pytest &#x27;a b&#x27;')}</code></p>",
    ]


def test_a_benchmark_of_no_file_has_no_command():
    assert not any("Run again" in line for line in lines(benchmark(below(), file="")))


def test_ten_reasons_of_twenty_benchmarks_are_written():
    checks = [broken(f"error {number}") for number in range(12)]
    results = [benchmark(*checks, name=f"b{number}") for number in range(22)]
    written = lines(*results)
    assert sum(line.startswith("<h2>") for line in written) == 20
    assert sum(line.startswith("<li>") for line in written) == 200


def flip(name):
    return Flip(
        agent="agent",
        task=name,
        prompt="",
        reference="4<2",
        before=(Attempt(0, 1.0, "a" * 61 + "b" * 61),),
        now=(Attempt(0, 0.0, "no\n idea"),),
    )


WORSE = compared(changes={"worst_tasks": (task("t<1"), task("t2"))})


def test_the_worse_tasks_are_a_table():
    result = benchmark(WORSE, flips=(flip("t<1"), flip("t2")))
    written = section(lines(result), "<caption>Tasks that got worse</caption>")
    assert written[1] == (
        '<thead><tr><th scope="col">Rewards</th><th scope="col">Task</th>'
        '<th scope="col">Expected</th><th scope="col">Before</th>'
        '<th scope="col">Now</th></tr></thead>'
    )
    before = text(f"{'a' * 60} ... {'b' * 60}")
    assert written[3] == (
        f'<tr><td>2/2 \u2192 0/2</td><th scope="row">{text("t&lt;1")}</th>'
        f"<td>{text('4&lt;2')}</td><td>{before}</td><td>{text('no idea')}</td></tr>"
    )
    assert written[-1] == "</tbody></table></div>"


def test_a_text_of_a_hundred_and_twenty_letters_is_whole():
    whole = structs.replace(flip("t2"), reference="x" * 120)
    written = lines(benchmark(WORSE, flips=(whole,)))
    assert any(text("x" * 120) in line for line in written)


def test_tasks_without_texts_have_their_rewards():
    written = section(
        lines(benchmark(WORSE)), "<caption>Tasks that got worse</caption>"
    )
    assert written[3] == (
        f'<tr><td>2/2 \u2192 0/2</td><th scope="row">{text("t&lt;1")}</th></tr>'
    )


def test_tasks_of_several_agents_name_them():
    check = structs.replace(WORSE, agent="beta")
    written = lines(benchmark(check, agents=(agent("alpha"), agent("beta"))))
    assert any(text("beta: t2") in line for line in written)


def test_twenty_tasks_are_shown():
    tasks = tuple(task(f"t{number}") for number in range(22))
    written = lines(benchmark(compared(changes={"worst_tasks": tasks})))
    rows = section(written, "<caption>Tasks that got worse</caption>")
    assert sum(line.startswith("<tr>") for line in rows) == 20
