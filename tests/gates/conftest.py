"""Projects are run in this process."""

from baselines.conftest import _loaded  # noqa: F401 - a fixture of this folder too
from baselines.conftest import quick as project  # noqa: F401 - this one too
