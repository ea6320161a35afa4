"""The server of a model, as online runs have it."""

from scoring.generation.conftest import model, model_process  # noqa: F401 - a fixture of this folder too
