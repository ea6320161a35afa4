"""Draw a failing pull request, for the README: python docs/images/pull_request.py.

It takes the repository of examples/ci from its quickstart to the change that goes too far, and
draws the summary that the run writes for the pull request. It needs Chromium and markdown-it-py,
which the extra docs installs. The fonts of a bare machine have no emoji: the crosses are drawn.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("pull_request.png")
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 15px/1.5 sans-serif; margin: 0; padding: 24px }}
body {{ background: #f6f8fa; color: #1f2328 }}
header {{ font-size: 22px; margin-bottom: 12px }}
.state {{ background: #cf222e; color: #fff; border-radius: 12px; padding: 2px 10px }}
.state {{ font-size: 14px }}
main {{ background: #fff; border: 1px solid #d1d9e0; border-radius: 8px }}
main {{ padding: 4px 18px 14px }}
table {{ border-collapse: collapse }}
td, th {{ text-align: left; border: 1px solid #d1d9e0; padding: 4px 10px }}
pre, code {{ font: 12.5px monospace; background: #f6f8fa }}
pre {{ padding: 10px; overflow: hidden }}
</style><header>Shorten the rules <span style="color:#59636e">#7</span>
<span class="state">benchmarks failed</span></header><main>{summary}</main>
"""


def summary_of_a_red_run(folder: Path) -> str:
    """Run the example's quickstart, its bad change and the gate; return the summary."""
    shutil.copytree(ROOT / "examples" / "ci", folder, dirs_exist_ok=True)
    python = Path(sys.executable)
    evalmetrics = str(python.with_name("evalmetrics"))
    subprocess.run([python, "eval.py"], cwd=folder, check=True)
    subprocess.run([evalmetrics, "init", "results.json"], cwd=folder, check=True)
    bot = folder / "bot.py"
    rules = bot.read_text(encoding="utf-8").splitlines(keepends=True)
    bot.write_text("".join(rule for rule in rules if "refund" not in rule))
    subprocess.run([python, "eval.py"], cwd=folder, check=True)
    subprocess.run(
        [python, "-m", "pytest", "-q", "results.bench.yaml"], cwd=folder, check=False
    )
    return (folder / "evalmetrics" / "summary.md").read_text(encoding="utf-8")


def main() -> None:
    """Write the picture beside this script."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        page = folder / "page.html"
        summary = markdown.render(summary_of_a_red_run(folder)).replace(
            "\u274c", "\u2717"
        )
        page.write_text(PAGE.format(summary=summary), encoding="utf-8")
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                "--window-size=900,620",
                f"--screenshot={PICTURE}",
                page.as_uri(),
            ],
            check=True,
        )


if __name__ == "__main__":
    main()
