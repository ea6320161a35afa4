"""What the tests of benchmark files share: many files read in one run, and an editor's view."""

import json
import re
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.yaml_reader import parse_yaml

MESSAGE = re.compile(r"(.*)\.bench\.yaml:(\d+: .*)")


@pytest.fixture
def refusals(project):
    """Collect files, given by their names or in a list; give what is said of each, line by line."""

    def collect(files):
        texts = files if isinstance(files, dict) else dict(enumerate(files))
        for name, text in texts.items():
            path = project.path / f"{name}.bench.yaml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        messages = {str(name): [] for name in texts}
        for line in project.run("--collect-only", "-q").outlines:
            if match := MESSAGE.fullmatch(line):
                messages[match[1]].append(match[2])
        return messages if isinstance(files, dict) else list(messages.values())

    return collect


@pytest.fixture
def load(tmp_path):
    """Read a file; give its benchmarks."""

    def read(text):
        path = tmp_path / "a.bench.yaml"
        path.write_text(text, encoding="utf-8")
        return load_benchmarks(path, shown="a.bench.yaml")

    return read


@pytest.fixture(scope="session")
def schema():
    """What an editor knows of benchmark files."""
    command = [sys.executable, "-m", "pytest", "--evalmetrics-schema"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.fixture(scope="session")
def marks(schema):
    """Give the places of a file that an editor marks, such as `$.benchmark.name`."""
    validator = Draft202012Validator(schema)

    def of(text):
        values = parse_yaml(text).root.plain()
        return {error.json_path for error in validator.iter_errors(values)}

    return of
