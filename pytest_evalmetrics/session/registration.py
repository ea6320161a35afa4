"""The hook that registers metrics, scorers and the like, called once in a run."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import RegistryError

# the error of a call in the hook, None without one
_FAILURE = pytest.StashKey["RegistryError | None"]()
_HOOK = "pytest_evalmetrics_register"


def let_register(config: pytest.Config) -> registry.Scope:
    """Call the hook that registers names, once; return the scope of the run as a whole."""
    if _FAILURE not in config.stash:
        from pytest_evalmetrics.scoring.scorer_types import offer_scorers

        offer_scorers()
        config.stash[_FAILURE] = _failed_registration(config)
    failure = config.stash[_FAILURE]
    if failure is not None:  # whoever asks first may have ignored it
        raise failure
    return run_scope(config)


def run_scope(config: pytest.Config) -> registry.Scope:
    """Return the scope of the run as a whole, with what has been registered so far."""
    from pytest_evalmetrics import registry

    plugins = config.pluginmanager.get_plugins()
    modules = [plugin for plugin in plugins if isinstance(plugin, ModuleType)]
    return registry.Scope(config.rootpath, modules=modules)


def _failed_registration(config: pytest.Config) -> RegistryError | None:
    """Call the hook that registers names; return the error of a call in it."""
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import RegistryError

    try:
        config.hook.pytest_evalmetrics_register.call_historic(
            kwargs={"registry": registry}
        )
    except Exception as error:  # noqa: BLE001 - a user's code
        from pytest_evalmetrics.reports.failure import failure_of_words

        message = hook_failure(error, config) or f"{_HOOK} failed: {error}"
        failure = RegistryError(message)
        failure.failure = failure_of_words(message)
        return failure
    return None


def hook_failure(error: BaseException, config: pytest.Config) -> str:
    """Locate a failure of the hook that registers names; return "" for another failure."""
    from pytest_evalmetrics.baselines.files import shown_below
    from pytest_evalmetrics.errors import position_in

    # a conftest.py whose registration fails is a plugin, and no implementation yet
    plugins = config.pluginmanager.get_plugins()
    hooks = [getattr(plugin, _HOOK) for plugin in plugins if hasattr(plugin, _HOOK)]
    position = position_in(hooks, error)
    if position is None:
        return ""
    file, line = position
    place = f"{shown_below(Path(file), config.rootpath)}:{line}"
    way = 'it registers so: registry.register_metric("a_name")(MyMetric)'
    return f"{place}: {_HOOK} failed: {_what_failed(error)}\n  {way}"


def _what_failed(error: BaseException) -> str:
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import did_you_mean

    if isinstance(error, AttributeError) and error.obj is registry:
        offered = [name for name in dir(registry) if name.startswith("register_")]
        guess = did_you_mean(str(error.name), offered, what="it has")
        return f"the registry has no {error.name!r}; {guess}"
    return f"{type(error).__name__}: {error}"
