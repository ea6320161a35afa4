"""The site over many runs, from their artifacts to its pages."""

import json
import os
import shutil

import pytest

from pytest_evalmetrics.commands import main

EVIL = "<img src=x onerror=window.pwned=1>"


@pytest.fixture
def runs(project, monkeypatch):
    """Eight runs of one level, and three of another."""
    project.bench("metrics: [mean_reward]\nexpect: {tasks: 100}")
    folder = project.path / "runs"
    for n, good, copies in ((0, 80, range(1, 8)), (8, 20, (9, 10))):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_700_000_000 + 86_400 * n))
        project.rollouts([[float(t < good)] for t in range(100)])
        project.run(f"--evalmetrics-output=runs/{n:02}/")
        for copy in copies:
            shutil.copytree(folder / f"{n:02}", folder / f"{copy:02}")
    return folder


@pytest.fixture
def site(project, runs):
    """Make the site of the runs; give its folder and the data of its page."""
    folder = project.path / "site"
    assert main(["site", str(runs), "--output", str(folder)]) == 0
    page = (folder / "index.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="site">')[2].partition("</script>")[0])
    return folder, data


def test_a_site_has_each_run_with_its_page(site, runs):
    folder, data = site
    days = [run["time"][:10] for run in data["runs"]]
    assert days == ["2023-11-14"] * 8 + ["2023-11-22"] * 3
    for run in data["runs"]:
        page = runs / run["name"] / "report.html"
        assert (folder / run["href"]).read_bytes() == page.read_bytes()


def test_a_site_shows_the_trend_of_each_benchmark_and_where_it_changed(site):
    _, data = site
    (line,) = data["benchmarks"][0]["lines"]
    assert line["values"] == [0.8] * 8 + [0.2] * 3
    assert line["changes"] == [8]


def test_a_report_that_can_not_be_read_is_left_out_of_a_site(project, runs, capsys):
    project.write("runs/broken/report.json", '{"verdict": "' + EVIL)
    folder = project.path / "site"
    capsys.readouterr()
    assert main(["site", str(runs), "--output", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == str(folder / "index.html")
    assert "broken/report.json: no report that can be read" in err


def test_a_site_of_no_report_is_refused(project, capsys):
    nothing, folder = str(project.path / "nothing"), str(project.path / "site")
    assert main(["site", nothing, "--output", folder]) == 2
    assert "there is no report.json below it" in capsys.readouterr().err


@pytest.mark.browser
def test_the_site_in_a_browser(browser, project, runs):
    main(["site", str(runs), "--output", str(project.path / "site")])
    index = project.path / "site" / "index.html"
    browser.open(index)
    assert browser.text(".lead") == "11 runs. The last one: 0 red of 1 benchmark."
    if os.environ.get("EVALMETRICS_AXE"):
        assert browser.violations() == []
    course = browser.find("svg.sparkline").get_attribute("aria-label")
    assert course == "mean_reward over 11 runs: from 0.8000 to 0.2000"
    row = browser.text("section[aria-labelledby=all] tbody tr")
    assert "mean_reward fell from 0.8000 to 0.2000 since 2023-11-22" in row
    browser.find("section[aria-labelledby=all] tbody a").click()
    browser.until("document.querySelector('.chart canvas')")
    assert browser.text(".card").count("changed on 2023-11-22") == 1
    browser.find("section[aria-labelledby=each] tbody a").click()
    browser.until("document.querySelector('#run')")
    assert "Pass" in browser.text("h1")
    assert browser.messages() == []
