"""The recipes of the documentation: by name, the text of the benchmark file."""

import re
from pathlib import Path

_FORMATS = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(
    encoding="utf-8"
)
RECIPES = {
    match[2]: match[1]
    for match in re.finditer(
        r"```yaml\n(benchmark:\n  name: (\S+)\n.*?)```", _FORMATS, re.DOTALL
    )
}
