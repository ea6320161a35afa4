"""The site over many runs, from their artifacts to its pages."""

import json

import numpy as np
import pytest

from pytest_evalmetrics.compare import main
from pytest_evalmetrics.reports.site import change_points

EVIL = "<img src=x onerror=window.pwned=1>"


def test_a_site_shows_each_run_and_the_trend_of_each_benchmark(project, monkeypatch, capsys):
    project.bench("metrics: [mean_reward]\nexpect: {tasks: 100}")
    for n, good in enumerate((80, 81, 79, 20)):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_700_000_000 + 86_400 * n))
        project.rollouts([[float(t < good)] for t in range(100)])
        project.run(f"--evalmetrics-output=runs/{n}/")
    project.write("runs/broken/report.json", '{"verdict": "' + EVIL)
    runs, site = project.path / "runs", project.path / "site"
    assert main(["site", str(runs), "--output", str(site)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == str(site / "index.html")
    assert "broken/report.json: no report that can be read" in err
    page = (site / "index.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="site">')[2].partition("</script>")[0])
    assert [run["time"][:10] for run in data["runs"]] == [f"2023-11-{14 + n}" for n in range(4)]
    (line,) = data["benchmarks"][0]["lines"]
    assert (line["values"], line["changes"]) == ([0.8, 0.81, 0.79, 0.2], [3])
    for run in data["runs"]:
        assert (site / run["href"]).read_bytes() == (
            runs / run["name"] / "report.html"
        ).read_bytes()
    assert main(["site", str(project.path / "nothing")]) == 2
    assert "there is no report.json below it" in capsys.readouterr().err


@pytest.mark.browser
def test_the_site_in_a_browser(browser, project, monkeypatch):
    for n in range(3):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_700_000_000 + 86_400 * n))
        project.rollouts([[float(t < 90 - 40 * n)] for t in range(100)])
        project.bench("metrics: [mean_reward]\nexpect: {tasks: 100}")
        project.run(f"--evalmetrics-output=runs/{n}/")
    main(["site", str(project.path / "runs"), "--output", str(project.path / "site")])
    index = project.path / "site" / "index.html"
    browser.open(index)
    assert browser.text(".lead") == "3 runs. The last one: 0 red of 1 benchmark."
    browser.find("section[aria-labelledby=all] tbody a").click()
    browser.until("document.querySelector('.chart canvas')")
    assert browser.text(".card").count("changed on") == 2
    browser.find("section[aria-labelledby=each] tbody a").click()
    browser.until("document.querySelector('#run')")
    assert "Pass" in browser.text("h1")
    assert browser.messages() == []


def test_change_points_are_found_where_a_step_is_and_seldom_elsewhere():
    rng = np.random.default_rng(5)

    def points(means):
        values = rng.normal(means, 0.02)
        return change_points(values, values - 0.0392, values + 0.0392)

    assert points([0.8] * 10 + [0.6] * 10 + [0.9] * 10) == [10, 20]
    assert sum(bool(points([0.7] * 20)) for _ in range(1000)) <= 4  # 0.1 % are expected at most
    assert change_points([0.5, None, 0.7], [None, None, 0.6], [None, None, 0.8]) == []
