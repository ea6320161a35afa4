"""Ten runs in a browser: what failed, is it real, which tasks, what was said, what to do."""

import base64
import functools
import http.server
import threading

import pytest
from reports.html import scenarios

from pytest_evalmetrics.commands import main

pytestmark = pytest.mark.browser

MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def shown(browser, pages):
    """Open a scenario on a desktop, and return the browser."""

    def opened(name, **options):
        browser.open(pages(name), **options)
        browser.drawn()
        return browser

    return opened


def _first_task(browser):
    """Open the first task of the list, and return what it shows."""
    browser.find(".task-list .open").click()
    return browser.text(".detail")


# -- the five questions ----------------------------------------------------------------------


def test_what_failed_and_by_how_much_stands_at_the_head(shown):
    head = shown("one").text(".verdict")
    assert "ocr" in head
    assert "Fail" in head
    assert "mean_reward 0.9750 → 0.7375" in head
    assert "11 of 40 tasks worse, 1 better" in head


def test_whether_it_is_real_and_what_to_do_stand_at_the_head(shown):
    head = shown("one").text(".verdict")
    assert "unlikely to be noise (p = 0.0028)" in head
    assert "kind hand (10 of 10 tasks worse; others 1 of 30)" in head
    assert "What to do: fix the regression" in head
    assert "pytest x.bench.yaml::ocr" in head


def test_the_task_that_lost_most_comes_first_with_its_answers(shown):
    browser = shown("one")
    assert browser.texts(".task-list .open")[0].strip() == "line-0"
    row = browser.texts(".task-list tbody tr:first-child td")
    assert [cell.split() for cell in row[2:]] == [["1000"], ["1000", "✓", "right"], ["1#00", "✕", "wrong"]]  # fmt: skip
    assert "Read line 0." in _first_task(browser)


def test_the_drawn_interval_excludes_0_where_the_verdict_does(shown):
    browser = shown("one")
    bar = "section[aria-labelledby=changes] svg"
    zero, end = browser.run(
        "const svg = document.querySelector(arguments[0]);"
        "return [svg.querySelector('.zero-line'), svg.querySelector('.range')]"
        ".map(line => Number(line.getAttribute('x2')))",
        bar,
    )
    assert end < zero


def test_what_the_worse_tasks_have_in_common_is_counted(shown):
    row = shown("one").text("section[aria-labelledby=separators] tbody tr")
    assert row.startswith("kind hand")
    assert "10 of 10" in row
    assert "1 of 30" in row


def test_a_slice_filters_the_list_and_the_transitions(shown):
    browser = shown("one")
    browser.choose(".slice", "1")
    assert len(browser.texts(".task-list .open")) == 25
    assert browser.texts(".cell.worse") == ["1"]


def _row_of(browser, name):
    """Return the text of a benchmark's row in the overview."""
    rows = browser.texts(".overview tbody tr")
    return next(row for row in rows if f"{name}\n" in row)


def test_of_twelve_benchmarks_the_worst_comes_first_with_its_change(shown):
    browser = shown("twelve")
    assert browser.text(".lead") == "Of 12 benchmarks, 5 fail."
    first = browser.text(".overview tbody tr")
    assert "bench-0" in first
    assert f"{MINUS}0.5000" in first
    assert "3 \N{MULTIPLICATION SIGN} 30" in first
    assert "pytest all.bench.yaml::bench-0" in browser.text(".reasons")


def test_a_row_of_the_overview_names_the_agents_that_fail(shown):
    browser = shown("twelve")
    assert "✕ bob" in _row_of(browser, "bench-0")
    lost = "eve: 30 rollouts have no finite reward"
    assert lost in _row_of(browser, "bench-1")
    dropped = "ada, bob, eve: 10 of the baseline's 30 tasks"
    assert dropped in _row_of(browser, "bench-2")


def test_a_row_of_the_overview_shows_the_bound_that_was_missed(shown):
    row = _row_of(shown("twelve"), "bench-3")
    assert "0.9667" in row
    assert "\N{GREATER-THAN OR EQUAL TO} 0.99" in row


def test_a_transcript_is_aligned_at_the_first_turn_that_differs(shown):
    browser = shown("transcripts")
    detail = _first_task(browser)
    assert "2 turns before they differ" in detail
    turns = browser.texts(".first-different")
    assert "weather" in turns[0]
    assert "Let me look." in turns[0]
    assert "search" in turns[1]
    assert "failed: error: no such page" in turns[1]
    assert "calls tool search" in browser.text("section[aria-labelledby=separators]")


def test_a_judges_reasons_stand_on_both_sides(shown):
    browser = shown("reasons")
    _first_task(browser)
    assert browser.texts(".sides > div > figure .reason") == ["It names the cause.", "It names a wrong cause."]  # fmt: skip


def test_a_thousand_benchmarks_are_a_small_page_that_paints_few_of_them_first(
    shown, pages
):
    browser = shown("thousand")
    assert pages("thousand").stat().st_size < 3_000_000
    assert browser.run("return document.querySelectorAll('*').length") < 5_000
    assert browser.text(".lead") == "Of 1,000 benchmarks, 10 fail."
    assert "Fail" in browser.text(".overview tbody tr")
    assert "false alarms" in browser.text(".verdict").lower()


def test_a_hundred_thousand_tasks_are_counted_and_the_worst_listed(shown):
    browser = shown("large")
    assert "900 of 100,000 tasks worse" in browser.text(".lead")
    assert browser.texts(".cell.worse") == ["900"]
    browser.find(".cell.worse").click()
    assert browser.text(".task-list .change") == f"{MINUS}1"


def test_drift_is_a_warning_in_the_head_with_its_size(shown):
    browser = shown("history")
    warning = browser.text(".verdict .warning")
    assert warning.startswith("Drift: ")
    assert "mean_reward" in warning
    assert browser.run("return Boolean(document.querySelector('.chart canvas'))")


def test_hostile_texts_are_isolated_and_keep_their_ends(shown):
    browser = shown("hostile")
    detail = _first_task(browser)
    assert "characters left out" in detail
    assert "the end" in detail
    assert browser.run("return window.pwned") is None
    isolated = browser.run(
        "return [...document.querySelectorAll('.task-list .open bdi, .excerpt bdi')]"
        ".every(e => e.dir === 'auto')"
    )
    assert isolated


def test_nothing_gated_says_that_nothing_can_fail(shown):
    text = shown("ungated").text("main")
    assert "not gated" in text


def test_all_missing_names_each_agent(shown):
    why = shown("missing").text("section[aria-labelledby=why]")
    assert "missing of ada, bob, eve" in " ".join(why.split())
    assert "expect: {missing_reward: exclude}" in why


def test_an_advisory_failure_has_a_word_and_no_red(shown):
    browser = shown("advisory")
    head = browser.text(".verdict")
    assert "Advisory" in head
    assert "fails nothing" in head
    assert "unlikely to be noise" in head
    assert browser.texts(".verdict.fail, .badge.fail") == []


# -- everywhere ------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 720, 1280])
@pytest.mark.parametrize("name", ["one", "twelve", "hostile", "transcripts"])
def test_a_page_never_overflows_its_window(shown, name, width):
    browser = shown(name, width=width)
    browser.run("document.querySelector('.task-list .open')?.click()")
    assert browser.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["one", "hostile", "twelve"])
def test_without_scripts_the_verdict_the_table_and_the_flips_are_there(
    browser, pages, name
):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages(name))
        body = browser.find("main")
        text = body.text
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert text.startswith("FAIL")
    assert "Benchmarks" in text
    assert "fell from" in text
    assert "What to do: fix" in text
    assert "Tasks that got worse" in text


@pytest.fixture
def jenkins(pages):
    """Serve a scenario's page as Jenkins does, and return its address."""
    policy = "sandbox; default-src 'none'; img-src 'self'; style-src 'self'"

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def log_message(self, *args):
            """Say nothing."""

    folder = pages("one").parent
    serve = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/report.html"
        server.shutdown()
        thread.join()


def test_under_the_policy_of_jenkins_the_page_is_plain_html(browser, jenkins):
    browser.driver.get(jenkins)
    text = browser.find("body").text
    assert "FAIL" in text
    assert "the worse tasks have in common: kind hand" in text
    assert "line-0 1000 1000 1#00" in text
    assert "Theme" not in text


def test_a_page_is_printed_on_at_most_six_sheets(shown):
    browser = shown("one")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    printed = browser.command("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
    pages = base64.b64decode(printed["data"]).count(b"/Type /Page\n")
    assert 1 <= pages <= 6


# of what a thousand benchmarks show there are twelve, too
@pytest.mark.parametrize("name", sorted(scenarios.MAKERS.keys() - {"thousand"}))
def test_axe_finds_nothing_in_any_scenario(shown, name):
    # wide and light ones: the accessibility's own tests
    browser = shown(name, width=390, dark=True)
    browser.run("document.querySelector('.task-list .open')?.click()")
    assert browser.violations() == []


def _open_compared(browser, pages, capsys, **window):
    """Open the page of compare."""
    folder = pages("one").parents[1]
    fields = ["--task", "id", "--sample", "try", "--reward", "reward"]
    runs = [str(folder / "was.jsonl"), str(folder / "now.jsonl")]
    assert main(["compare", *runs, *fields, "--format", "html"]) == 1
    page = folder / "compare.html"
    page.write_text(capsys.readouterr().out, encoding="utf-8")
    browser.open(page, **window)
    browser.drawn()


def test_the_page_of_compare_has_no_benchmark_file(browser, pages, capsys):
    _open_compared(browser, pages, capsys)
    assert browser.texts("dl dt") == ["Agents", "Compared with"]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing_in_the_page_of_compare(browser, pages, capsys, width, dark):
    _open_compared(browser, pages, capsys, width=width, dark=dark)
    assert "now.jsonl" in browser.text("h1")
    assert "11 of 40 tasks worse" in browser.text(".lead")
    browser.find(".task-list .open").click()
    assert "Read line 0." in browser.text(".detail")
    assert browser.violations() == []


def test_a_task_without_kept_texts_says_where_they_are(shown):
    browser = shown("one")
    browser.choose(".kind", "same")
    assert "keeps the texts of the tasks that changed most" in _first_task(browser)


def test_rows_without_any_text_name_the_fields_that_hold_it(shown):
    browser = shown("twelve")
    browser.go("all.bench.yaml::bench-0")
    assert "fields: {prompt: ..., answer: ..., reason: ...}" in _first_task(browser)
    browser.choose(".kind", "same")
    assert "fields: {prompt: ..., answer: ..., reason: ...}" in _first_task(browser)


def test_a_few_failing_benchmarks_show_three_tasks_each_on_the_first_page(shown):
    browser = shown("twelve")
    examples = browser.texts(".reasons .examples tbody tr")
    assert [row.split("\t") for row in examples] == [
        ["0", "1/1 \N{RIGHTWARDS ARROW} 0/1"],
        ["2", "1/1 \N{RIGHTWARDS ARROW} 0/1"],
        ["4", "1/1 \N{RIGHTWARDS ARROW} 0/1"],
    ]
