"""What is said of a hook that fails while it registers names."""

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.session.registration import hook_failure, let_register


class Broken:
    """A plugin whose hook fails."""

    def pytest_evalmetrics_register(self):
        raise OSError("no such disk")


class Guesses:
    """A plugin whose hook calls what the registry lacks."""

    def pytest_evalmetrics_register(self):
        registry.register_metrics("mine")


class Slips:
    """A plugin whose hook calls what another object lacks."""

    def pytest_evalmetrics_register(self):
        return [].nothing


def pytest_evalmetrics_register():
    """Fail as a hook does, and have its name."""
    raise ValueError("no hook")


def raised_by(function):
    """Give the error that a user's code raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever a user's code raises
        function()
    return raised.value


@pytest.fixture
def explained(pytester):
    """Register a plugin, whose hook fails; return what is said of its error."""

    def explain(plugin):
        config = pytester.parseconfig()
        config.pluginmanager.register(plugin)
        return hook_failure(raised_by(plugin.pytest_evalmetrics_register), config)

    return explain


def test_an_error_in_the_hook_is_located_with_the_way_to_register(explained):
    line = Broken.pytest_evalmetrics_register.__code__.co_firstlineno + 1
    assert explained(Broken()) == (
        f"{__file__}:{line}: pytest_evalmetrics_register failed: OSError: no such disk\n"
        '  it registers so: registry.register_metric("a_name")(MyMetric)'
    )


def test_a_name_that_the_registry_lacks_is_guessed(explained):
    text = explained(Guesses())
    assert "the registry has no 'register_metrics'; did you mean 'register_metric'" in (
        text
    )
    assert "it has: " in text


def test_another_attribute_that_is_missing_is_told_as_it_is(explained):
    text = explained(Slips())
    assert "AttributeError: 'list' object has no attribute 'nothing'" in text


def test_an_error_elsewhere_is_none_of_the_hook(pytester):
    config = pytester.parseconfig()
    config.pluginmanager.register(Broken())
    error = raised_by(pytest_evalmetrics_register)
    assert hook_failure(error, config) == ""


def test_who_asks_again_gets_the_error_of_the_hook_again(pytester):
    config = pytester.parseconfig()
    config.pluginmanager.register(Broken())
    for _ in range(2):
        with pytest.raises(RegistryError, match="no such disk"):
            let_register(config)
