"""What the documentation shows is true: its benchmark files are valid, its links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Project
from test_guides import BLOCK

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/pytest-evalmetrics/pytest-evalmetrics/blob/main/"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONFTEST = """
from pytest_evalmetrics import register_gate_rule, register_metric, register_scorer

for name in ("best_task", "solved_at_least_once"):
    register_metric(name)(lambda tasks: 1.0)
register_gate_rule("few_worse")(lambda difference: None)
register_scorer("has_citation")(lambda item: 1.0)
"""


def blocks(language):
    """Each block of a language, by the page and its number there."""
    return {
        f"{page.relative_to(ROOT)}-{number}": block["text"]
        for page in PAGES
        for number, block in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
        if block["language"] == language
    }


def test_each_benchmark_file_that_is_shown_is_valid(pytester):
    project = Project(pytester)
    whole = re.compile(r"^benchmarks?:", re.MULTILINE)
    a_ci_job = re.compile(r"^  script:", re.MULTILINE)
    shown = {
        n: t
        for n, t in blocks("yaml").items()
        if whole.search(t) and not a_ci_job.search(t)
    }
    project.write("conftest.py", CONFTEST)
    for name, text in shown.items():
        project.write(f"{name}/x.bench.yaml", text)
    result = project.run("--collect-only", "-q")
    assert result.ret == 0, result.stdout.str()
    collected = {
        line.partition("/x.bench")[0] for line in result.outlines if "::" in line
    }
    assert collected == shown.keys()


def test_the_python_that_is_shown_compiles():
    for name, text in blocks("python").items():
        compile(text, name, "exec")


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name
)
def test_links_within_the_project_lead_somewhere(page):
    text = page.read_text(encoding="utf-8").replace(
        f"]({HOME}", "]("
    )  # PyPI shows no others
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert links or page.name != "README.md"
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_has_fewer_than_900_words():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 900


def test_the_table_of_tasks_is_what_the_plan_says(pytester):
    sizes = (30, 100, 200, 500, 1000)
    project = Project(pytester)
    project.write("a.bench.yaml", "benchmarks:\n" + "".join(map(_benchmark, sizes)))
    random = np.random.default_rng(0)
    for tasks in sizes:
        chances = random.beta(0.8, 0.4, tasks)
        rewards = random.random((4, tasks)) < chances
        lines = [
            json.dumps({"task": task, "sample": sample, "reward": int(reward)})
            for (sample, task), reward in np.ndenumerate(rewards)
        ]
        project.write(f"{tasks}.jsonl", "\n".join(lines))
    assert project.run("--evalmetrics-update").ret == 0
    printed = project.run("--evalmetrics-plan").stdout.str()
    found = re.findall(r"pass@1 +\d+ +4 +(0\.\d+)", printed)
    table = re.compile(r"^\| loss that is detected.*?\| (.*) \|$", re.MULTILINE)
    for page in (ROOT / "README.md", ROOT / "docs" / "how-many-tasks.md"):
        (row,) = table.findall(page.read_text(encoding="utf-8"))
        points = [float(cell) for cell in row.split(" | ")]
        assert points == pytest.approx([100 * float(loss) for loss in found], abs=0.9)


def _benchmark(tasks):
    fields = "{task: task, sample: sample}"
    return (
        f"  - name: b{tasks}\n"
        f"    rollouts: {{path: {tasks}.jsonl, fields: {fields}}}\n"
        "    num_samples: 4\n    metrics: [pass@1]\n    baseline: true\n"
    )


@pytest.mark.parametrize("name", ["bot.py", "eval.py"])
def test_the_guide_of_ci_shows_the_files_of_the_example(name):
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "ci" / name).read_text(encoding="utf-8") in page
