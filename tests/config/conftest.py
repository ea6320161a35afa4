"""What the tests of benchmark files share: many files read in one run, and an editor's view."""

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.benchmark_schema import schema_of_file
from pytest_evalmetrics.config.yaml_reader import parse_yaml
from pytest_evalmetrics.errors import ConfigError


@pytest.fixture
def refusals(tmp_path):
    """Read files, given by their names or in a list; give what is said of each, line by line."""

    def read(files):
        texts = files if isinstance(files, dict) else dict(enumerate(files))
        messages = {}
        for name, text in texts.items():
            path = tmp_path / f"{name}.bench.yaml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            messages[str(name)] = _problems_of(path)
        return messages if isinstance(files, dict) else list(messages.values())

    return read


def _problems_of(path):
    try:
        load_benchmarks(path, shown=path.name, scorers_known=True)
    except ConfigError as error:
        return [f"{problem.line}: {problem.text}" for problem in error.problems]
    return []


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
    return schema_of_file()


@pytest.fixture(scope="session")
def marks(schema):
    """Give the places of a file that an editor marks, such as `$.benchmark.name`."""
    validator = Draft202012Validator(schema)

    def of(text):
        values = parse_yaml(text).root.plain()
        return {error.json_path for error in validator.iter_errors(values)}

    return of
