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


def test_a_site_shows_each_run_and_the_trend_of_each_benchmark(project, runs, capsys):
    project.write("runs/broken/report.json", '{"verdict": "' + EVIL)
    site = project.path / "site"
    capsys.readouterr()
    assert main(["site", str(runs), "--output", str(site)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == str(site / "index.html")
    assert "broken/report.json: no report that can be read" in err
    page = (site / "index.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="site">')[2].partition("</script>")[0])
    days = [run["time"][:10] for run in data["runs"]]
    assert days == ["2023-11-14"] * 8 + ["2023-11-22"] * 3
    (line,) = data["benchmarks"][0]["lines"]
    assert (line["values"], line["changes"]) == ([0.8] * 8 + [0.2] * 3, [8])
    for run in data["runs"]:
        assert (site / run["href"]).read_bytes() == (
            runs / run["name"] / "report.html"
        ).read_bytes()
    assert main(["site", str(project.path / "nothing"), "--output", str(site)]) == 2
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
