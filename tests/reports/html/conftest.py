"""A headless browser, where one is installed; each page comes from a real run."""

import base64
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from reports.html import runs, scenarios

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def _executable(variable, *names):
    return os.environ.get(variable) or next(
        filter(None, map(shutil.which, names)), None
    )


class Browser:
    """One tab, and what happened in it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1280, dark=False):
        """Load a page in a window of that width, and forget what was before."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
            mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.driver.get("about:blank")
        self.messages(), self.requests()
        self.driver.get(path.as_uri())

    def command(self, name, **options):
        return self.driver.execute_cdp_cmd(name, options)

    def run(self, script, *args):
        """Run JavaScript, from outside of the page's policy."""
        return self.driver.execute_script(script, *args)

    def go(self, item):
        """Go to a benchmark's page, by its address."""
        self.run("location.hash = '#/' + encodeURIComponent(arguments[0])", item)
        self.until(
            "document.querySelector('main h1').innerText.startsWith(arguments[0])",
            item.rpartition("::")[2],
        )
        self.drawn()

    def until(self, condition, *args):
        """Wait for what happens by an event."""
        from selenium.webdriver.support.wait import WebDriverWait  # if there is one

        script = f"return Boolean({condition})"
        WebDriverWait(self.driver, 20, 0.02).until(lambda _: self.run(script, *args))

    def drawn(self):
        """Wait for the charts, which are drawn with the next frame."""
        self.run(
            "return new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
        )

    def text(self, selector):
        """What the first such element shows."""
        return self.run(
            "return document.querySelector(arguments[0]).innerText", selector
        )

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)",
            selector,
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def choose(self, selector, value):
        self.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('change'))",
            selector,
            value,
        )

    def picture(self, path):
        """Write a picture of the whole page."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 3000), "scale": 1}
        shot = self.command(
            "Page.captureScreenshot", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def violations(self):
        """Return what axe-core finds; skip the test where its script is not at hand."""
        script = os.environ.get("EVALMETRICS_AXE")
        if not script:
            pytest.skip(
                "EVALMETRICS_AXE does not name the axe.min.js of npm's axe-core"
            )
        self.run(Path(script).read_text(encoding="utf-8"))
        results = self.driver.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        assert results["passes"], "axe-core looked at nothing"
        return [(v["id"], v["nodes"][0]["html"][:200]) for v in results["violations"]]

    def messages(self):
        """What the console said since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """What was asked for since the last time."""
        events = [
            json.loads(e["message"])["message"]
            for e in self.driver.get_log("performance")
        ]
        return [
            m["params"]["request"]["url"]
            for m in events
            if m["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Give the page of a run by its name in `runs`; each runs once."""
    folders = {}

    def page(name):
        if name not in folders:
            make = scenarios.MAKERS.get(name) or getattr(runs, name)
            folders[name] = make(tmp_path_factory.mktemp(name))
        return folders[name]

    return page


def _installed():
    """Return the browser and its driver, or None for each that is not installed."""
    binary = _executable("EVALMETRICS_CHROMIUM", *_BROWSERS)
    return binary, _executable("EVALMETRICS_CHROMEDRIVER", "chromedriver")


@contextmanager
def started_browser(profile):
    """Start a browser with a profile of its own, and quit it at the end."""
    from selenium import webdriver  # if there is one

    binary, driver = _installed()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in _FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(started)
    finally:
        started.quit()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if None in _installed():
        pytest.skip("no Chromium with its chromedriver is installed")
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started
