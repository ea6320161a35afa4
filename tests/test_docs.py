"""What the documentation shows is true: its benchmark files are valid, its links lead somewhere."""

import re
from pathlib import Path

import pytest

from pytest_evalmetrics.config import load_benchmarks

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/pytest-evalmetrics/pytest-evalmetrics/blob/main/"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _blocks(language):
    for page in PAGES:
        for i, block in enumerate(
            re.findall(
                rf"^```{language}\n(.*?)^```",
                page.read_text(encoding="utf-8"),
                re.MULTILINE | re.DOTALL,
            )
        ):
            yield pytest.param(block, id=f"{page.name}-{i}")


@pytest.mark.parametrize("block", list(_blocks("yaml")))
def test_each_benchmark_file_that_is_shown_is_valid(block, tmp_path):
    a_ci_job = re.search(r"^  script:", block, re.MULTILINE)
    if a_ci_job or not re.search(r"^benchmarks?:", block, re.MULTILINE):
        pytest.skip("no whole benchmark file")
    path = tmp_path / "shown.bench.yaml"
    path.write_text(block, encoding="utf-8")
    assert load_benchmarks(path, shown="shown.bench.yaml")


@pytest.mark.parametrize("block", list(_blocks("python")))
def test_the_python_that_is_shown_compiles(block):
    compile(block, "shown.py", "exec")


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    text = page.read_text(encoding="utf-8").replace(f"]({HOME}", "](")  # PyPI shows no others
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert links or page.name != "README.md"
    assert [link for link in links if not (page.parent / link).exists()] == []
