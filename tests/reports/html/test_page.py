"""The page in a browser: nothing is loaded, nothing is interpreted, everything can be reached."""

import json

import pytest

pytestmark = pytest.mark.browser

A4 = 703  # pixels between the margins
FIRST_TASKS = "main table tbody .open"


@pytest.fixture
def failing(browser, pages):
    browser.open(pages("flipped"))
    return browser


def _open_math(browser):
    browser.go("math.bench.yaml::math")


def _tasks(browser):
    return [text.strip() for text in browser.texts(FIRST_TASKS)]


def test_it_opens_from_a_file_and_asks_for_nothing_else(failing):
    assert failing.messages() == []
    (asked,) = failing.requests()
    assert asked.startswith("file:")
    _open_math(failing)
    assert failing.requests() == []
    assert failing.messages() == []


def test_the_verdict_and_what_stands_in_the_way_come_first(failing):
    assert failing.text("h1").startswith("✕")
    assert "Fail" in failing.text("h1")
    assert failing.text(".lead") == "Of 8 benchmarks, 1 fails."
    assert failing.texts(".reasons a") == ["math"]
    assert "below 0.9" in failing.text(".reasons") or "fell from" in failing.text(
        ".reasons"
    )
    assert failing.texts("main tbody tr:first-child a") == ["math"]


def test_benchmarks_are_searched_and_filtered(failing):
    failing.find("#find-benchmark").send_keys("PART-3")
    assert failing.texts("main tbody a") == ["part-3"]
    failing.find("#find-benchmark").clear()
    failing.find("#find-benchmark").send_keys("nothing")
    assert failing.texts("main tbody td") == ["No benchmark matches."]
    failing.find("#find-benchmark").clear()
    failing.run(
        "document.querySelector('#find-benchmark').dispatchEvent(new Event('input'))"
    )
    failing.choose(".tools select", "PASS")
    assert len(failing.texts("main tbody a")) == 7


def _drawn_in(browser, section):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.ariaLabel)"
    return browser.run(script, f"section[aria-labelledby={section}] svg")


def test_the_paired_change_is_drawn_with_its_interval_and_the_loss_that_matters(
    failing,
):
    _open_math(failing)
    (label,) = [
        text for text in _drawn_in(failing, "changes") if text.startswith("pass@1:")
    ]
    # by hand: task 2 loses 1, task 10 loses .25, task 3 gains .75, of eleven tasks
    assert label.startswith("pass@1: \N{MINUS SIGN}0.0455, interval \N{MINUS SIGN}")
    assert label.endswith("a loss of 0.01 matters; below 0 is worse")
    row = failing.text("section[aria-labelledby=changes] tbody tr:has(svg)")
    assert "0.9318 → 0.8864" in row
    assert "no drop >= 0.01" in row


def test_a_threshold_is_drawn_with_the_interval_of_the_value(failing):
    _open_math(failing)
    labels = _drawn_in(failing, "metrics")
    # pass@1 by hand: nine tasks at 1, one at 0, one at 0.75
    assert any(
        label.startswith("pass@1 0.8864, interval ")
        and label.endswith("has to be at least 0.9000")
        for label in labels
    )
    assert any("has to be at most 500" in label for label in labels)


def test_its_sources_are_named(failing):
    _open_math(failing)
    assert "Compared with\nwas.jsonl" in failing.text("dl")


def test_flipped_tasks_come_first_and_lead_to_their_rows(failing):
    _open_math(failing)
    assert _tasks(failing)[:2] == ["2", "10"]
    assert failing.text(".tally").split() == [
        "2",
        "worse",
        "1",
        "better",
        "8",
        "unchanged",
    ]
    failing.find(FIRST_TASKS).click()
    detail = failing.text(".detail")
    assert "runs.jsonl:9" in detail
    assert "runs.jsonl:12" in detail
    assert "tokens" in detail
    assert failing.find(FIRST_TASKS).get_attribute("aria-expanded") == "true"
    failing.find(FIRST_TASKS).click()
    assert failing.texts(".detail") == []


def test_tasks_are_sorted_by_their_headers_and_marked(failing):
    _open_math(failing)
    header = failing.find("main table:has(.open) thead th:first-child")
    assert header.get_attribute("aria-sort") == "none"
    header.find_element("css selector", "button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert _tasks(failing) == [str(i) for i in range(11)]  # 10 behind 9
    header.find_element("css selector", "button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert _tasks(failing)[0] == "10"
    assert failing.text("#spoken") == "Sorted by Task, descending"


def test_tasks_are_searched_and_filtered(failing):
    _open_math(failing)
    failing.choose(".kind", "better")
    assert _tasks(failing) == ["3"]
    failing.choose(".kind", "")
    failing.find(".find-task").send_keys("1")
    assert sorted(_tasks(failing)) == ["1", "10"]
    assert failing.text("#spoken") == "2 tasks"


def test_another_score_is_compared_where_less_is_better(failing):
    _open_math(failing)
    failing.choose(".score", "tokens")
    first = failing.texts("main table:has(.open) tbody tr:first-child td")
    assert first[0] == "\N{MINUS SIGN}100"
    assert (
        failing.find("main table:has(.open) tbody .change").get_attribute("class")
        == "change up"
    )


def test_it_is_used_by_keyboard(failing):
    from selenium.webdriver.common.keys import Keys  # only where it is installed

    active = failing.driver.switch_to
    failing.find("body").send_keys(Keys.TAB)
    assert active.active_element.get_attribute("class") == "skip"
    active.active_element.send_keys(Keys.TAB)
    assert active.active_element.get_attribute("id") == "theme"
    active.active_element.send_keys(Keys.TAB)
    assert active.active_element.text == "math"
    assert "solid" in failing.run(
        "return getComputedStyle(document.activeElement).outlineStyle"
    )
    active.active_element.send_keys(Keys.ENTER)
    failing.until("document.querySelector('h1').innerText.startsWith('math')")
    assert failing.run("return document.activeElement.tagName") == "H1"
    failing.run("document.querySelector(arguments[0]).focus()", FIRST_TASKS)
    active.active_element.send_keys(Keys.SPACE)
    assert "runs.jsonl:9" in failing.text(".detail")


def test_light_and_dark_follow_the_system_and_the_button(browser, pages):
    path = pages("flipped")

    def background():
        return browser.run("return getComputedStyle(document.body).backgroundColor")

    browser.open(path, dark=True)
    dark = background()
    browser.open(path)
    light = background()
    assert dark != light
    seen = []
    for _ in range(3):
        browser.find("#theme").click()
        seen.append((browser.text("#theme"), background()))
    assert seen == [
        ("Theme: light", light),
        ("Theme: dark", dark),
        ("Theme: system", light),
    ]


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_its_window(browser, width, pages):
    browser.open(pages("flipped"), width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    _open_math(browser)
    browser.find(FIRST_TASKS).click()
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_charts_are_drawn_and_described(failing):
    _open_math(failing)
    labels = failing.run(
        "return [...document.querySelectorAll('.chart:has(canvas)')].map(e => e.ariaLabel)"
    )
    assert labels[0].startswith(
        "Distribution of reward: mean 0.8864, median 1, from 0 to 1, 44"
    )


def test_answers_of_both_sides_are_text_in_the_list_of_tasks(browser, pages):
    browser.open(pages("answers"))
    row = browser.texts(".task-list tbody tr:first-child td")
    assert row[2].startswith("It is the red one.")
    assert "✓" in row[2]
    assert row[3].startswith("It is </script>")
    assert "✕" in row[3]
    assert browser.run("return window.pwned") is None
    assert browser.messages() == []


def test_an_opened_task_marks_what_differs_and_colours_right_and_wrong(browser, pages):
    browser.open(pages("answers"))
    browser.find(FIRST_TASKS).click()
    assert browser.texts(".answer-text.right .differs") == ["the red one"]
    assert "pwned" in " ".join(browser.texts(".answer-text.wrong .differs"))
    assert browser.text(".answers pre").startswith("</script><script>")
    assert browser.run("return window.pwned") is None


def test_the_transitions_count_all_tasks_and_filter_the_list(failing):
    _open_math(failing)
    cells = failing.run(
        "return [...document.querySelectorAll('.cell')].map(e => e.ariaLabel)"
    )
    assert cells == [
        "4/4 before, 0/4 now: 1 task",
        "4/4 before, 3/4 now: 1 task",
        "4/4 before, 4/4 now: 8 tasks",
        "1/4 before, 4/4 now: 1 task",
    ]
    failing.find(".cell.better").click()
    assert _tasks(failing) == ["3"]
    failing.find(".cell.better").click()
    assert len(_tasks(failing)) == 11


def test_the_transitions_of_many_results_are_between_round_ranges(browser, pages):
    browser.open(pages("graded"))
    heads = browser.texts(".transitions thead th")
    ends = [head.split("\N{EN DASH}") for head in heads]
    assert ends == [
        ["0", "0.2"],
        ["0.2", "0.4"],
        ["0.4", "0.6"],
        ["0.6", "0.8"],
        ["0.8", "1"],
    ]


def test_the_list_is_walked_by_keys(failing):
    _open_math(failing)
    failing.run("document.querySelector(arguments[0]).focus()", FIRST_TASKS)
    active = failing.driver.switch_to
    active.active_element.send_keys("j")
    assert active.active_element.text == "10"
    active.active_element.send_keys("k")
    assert active.active_element.text == "2"
    active.active_element.send_keys("o")
    assert "runs.jsonl:9" in failing.text(".detail")


def test_the_way_back_restores_the_search_and_the_place(failing):
    failing.find("#find-benchmark").send_keys("PART-3")
    failing.find("main tbody a").click()
    failing.until("document.querySelector('h1').innerText.startsWith('part-3')")
    failing.driver.back()
    failing.until("document.querySelector('#find-benchmark')")
    assert failing.texts("main tbody a") == ["part-3"]


RECORDED_AT = "2023-11-14 22:13:20 UTC"


@pytest.fixture
def two_agents(browser, pages):
    """The page of five benchmarks of two agents, of which one fails."""
    browser.open(pages("agents"))
    return browser


def test_several_agents_stand_beside_each_other(two_agents):
    table = "section[aria-labelledby=agents]"
    assert two_agents.texts(f"{table} thead th")[2] == "weak (5 red)"
    first = two_agents.texts(f"{table} tbody tr:first-child td")
    assert [cell.split() for cell in first[1:]] == [
        ["✕", "Fail", "0.5000"],
        ["✓", "Pass", "1"],
    ]
    cause = "FAIL 5 of 5 failing benchmarks: weak, mean_reward"
    assert cause in two_agents.text(".causes")


def test_the_time_of_the_run_stands_on_each_view(two_agents):
    assert RECORDED_AT in two_agents.text(".brand")
    two_agents.go("all.bench.yaml::b1")
    assert RECORDED_AT in two_agents.text(".brand")


def test_the_agent_that_fails_comes_before_the_other(two_agents):
    two_agents.go("all.bench.yaml::b1")
    assert "Tasks of weak" in two_agents.texts("h2")[:3]
    *_, broken_down = two_agents.texts("section[aria-labelledby=a0-tasks] table.small")
    assert "hard\t4\t1\t0\t\N{MINUS SIGN}1\t4\t0\neasy\t4\t1\t1\t0\t0\t0" in broken_down
    assert two_agents.messages() == []


def _rows(lost, cost):
    """Write 40 tasks, of which the first ones fail, at a cost each."""
    rows = [
        {"task": f"t{n}", "reward": int(n >= lost), "cost": cost} for n in range(40)
    ]
    return "\n".join(map(json.dumps, rows)) + "\n"


def test_a_benchmark_that_several_causes_name_has_its_tasks_once(browser, project):
    entries = []
    for name, lost in (("a", 40), ("b", 20), ("c", 20), ("d", 20), ("e", 20)):
        project.write(f"{name}-old.jsonl", _rows(lost=0, cost=1.0))
        project.write(
            f"{name}.jsonl", _rows(lost=lost, cost=2.0 if name == "a" else 1.0)
        )
        fields = "fields: {task: task, scores: {cost: cost}}"
        entries.append(
            f"  - name: {name}\n"
            f"    rollouts: {{path: {name}.jsonl, {fields}}}\n"
            "    metrics: [mean_reward, mean/cost]\n"
            "    baseline:\n"
            f"      rollouts: {name}-old.jsonl\n"
            "      metrics: {mean/cost: {direction: lower, rule: absolute, max_drop: 0.5}}\n"
        )
    project.write("all.bench.yaml", "benchmarks:\n" + "".join(entries))
    assert project.run().ret == 1
    browser.open(project.path / "evalmetrics/report.html")
    causes = browser.texts(".causes > li")
    assert [cause.splitlines()[0] for cause in causes] == [
        "FAIL 5 of 5 failing benchmarks: mean_reward",
        "FAIL a: mean/cost",
    ]
    assert ["Rewards" in cause for cause in causes] == [True, False]


def test_a_task_and_an_attempt_have_an_address(browser, pages):
    path = pages("flipped")
    browser.open(path)
    _open_math(browser)
    browser.find(FIRST_TASKS).click()
    assert browser.run("return location.hash").endswith("/a0/2")
    address = browser.find(".detail tbody tr:nth-child(3) a").get_attribute("href")
    browser.driver.get("about:blank")
    browser.driver.get(address)
    assert _tasks(browser) == ["2"]
    assert "runs.jsonl:11" in browser.text(".named")


def test_paper_shows_what_is_folded(browser, pages):
    browser.open(pages("flipped"), width=A4)
    _open_math(browser)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert (
        browser.run("return document.querySelectorAll('details:not([open])').length")
        == 0
    )
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return document.documentElement.scrollWidth") <= A4


def test_nothing_of_a_row_is_interpreted(browser, pages):
    browser.open(pages("evil"))
    assert "<img src=x" in browser.text(".description")
    for button in browser.driver.find_elements("css selector", ".open"):
        browser.run("arguments[0].click()", button)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    shown = browser.text("main")
    assert shown.count("onerror=") > 20
    for what in (
        "no-answer",
        "the judge said </script>",
        "quality",
        "rows.jsonl:1",
        "__proto__",
    ):
        assert what in shown
    assert browser.run("return window.pwned") is None
    assert (
        browser.run("return document.querySelectorAll('img, main script').length") == 0
    )
    assert browser.messages() == []


def test_the_policy_lets_nothing_else_run(failing):
    for attempt in (
        "const s = document.createElement('script'); s.text = 'pwned = 1'; document.body.append(s)",
        "document.body.setAttribute('onclick', 'window.pwned = 1'); document.body.click()",
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.pwned=1>')",
    ):
        failing.run(f"try {{ {attempt} }} catch {{ /* refused */ }}")
    assert failing.run("return document.querySelectorAll('img').length") == 0
    assert failing.run("return window.pwned") is None


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        (
            "stopped",
            {
                ".lead": "Of 2 benchmarks, 1 fails, 1 was not evaluated.",
                ".reasons": "z.bench.yaml::math",
            },
        ),
        (
            "skipping",
            {
                ".lead": "The benchmark passes. 2 benchmarks were skipped.",
                "section[aria-labelledby=skipped]": "<img src=x onerror=pwned()>",
            },
        ),
        (
            "selecting",
            {
                ".lead": "1 was not evaluated. 1 was deselected.",
                ".reasons": "It stopped after a check",
            },
        ),
        ("unreadable", {"h1": "Inconclusive", ".reasons": "runs.jsonl"}),
    ],
)
def test_missing_results_are_reported(browser, pages, page, texts):
    browser.open(pages(page))
    for selector, text in texts.items():
        assert text in browser.text(selector)
    assert browser.messages() == []


def test_what_judges_took_and_how_they_agree(browser, pages):
    browser.open(pages("judged"))
    summary = browser.text("section[aria-labelledby=judges]")
    for what in (
        "1,800",
        "48,211",
        "2.31 s",
        "0.8600",
        "all labels are the same",
        "alpha 0.8200",
    ):
        assert what in summary
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert "labels.jsonl:3: 1 by the judge, 0 by a person" in browser.text("main")
    assert browser.run("return window.pwned") is None
    assert browser.messages() == []


def test_the_last_runs_are_drawn(browser, pages):
    browser.open(pages("repeated"))
    label = browser.run(
        "return document.querySelector('[aria-labelledby=history] .chart').ariaLabel"
    )
    assert label == (
        "mean_reward over 2 runs: from 0.5000 to 0.2500, lowest 0.2500, highest 0.5000"
    )
    assert "0.2500 [" in browser.text(".read-out")
    browser.find("[aria-labelledby=history] summary").click()
    assert len(browser.texts("[aria-labelledby=history] tbody tr")) == 2
    assert browser.messages() == []


def test_what_is_to_be_typed_is_code(browser, pages):
    browser.open(pages("unrecorded"))
    assert "pytest --evalmetrics-update" in browser.texts(".hint code")
    assert "`" not in browser.text(".hint")
