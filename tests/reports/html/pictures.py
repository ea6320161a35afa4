"""Draw pictures of the pages, to look at: ``python tests/reports/html/pictures.py FOLDER [NAME ...]``."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from reports.html import runs, scenarios
from reports.html.conftest import started_browser

SIZES = (("desktop", 1280, False), ("tablet", 720, True), ("phone", 390, False))
PAGES = {
    "overview": (runs.flipped, ""),
    "benchmark": (runs.flipped, "math.bench.yaml::math"),
    "agents": (runs.agents, ""),
    **{name: (scenarios.MAKERS[name], "") for name in scenarios.MAKERS},
}


def draw(browser, folder, name):
    """Draw a page in each size, with its first task opened."""
    make, item = PAGES[name]
    with tempfile.TemporaryDirectory() as made:
        page = make(Path(made))
        for size, width, dark in SIZES:
            browser.open(page, width=width, dark=dark)
            if item:
                browser.go(item)
            browser.drawn()
            browser.run("document.querySelector('.task-list .open')?.click()")
            browser.picture(folder / f"{name}-{size}.png")


def main():
    """Draw the named pages, or all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, started_browser(profile) as browser:
        for name in sys.argv[2:] or PAGES:
            draw(browser, folder, name)
            sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
