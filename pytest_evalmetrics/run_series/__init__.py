"""What several runs show together: the noise of an unchanged system, the first worse run."""

from pytest_evalmetrics.run_series.calibrating import calibrate
from pytest_evalmetrics.run_series.first_worse import first_worse, runs_of_commits
from pytest_evalmetrics.run_series.settings_patch import patch

__all__ = ["calibrate", "first_worse", "patch", "runs_of_commits"]
