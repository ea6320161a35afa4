"""What is said of a hook that fails while it registers names."""

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.session.registration import hook_failure, let_register


def raised_by(function):
    """Give the error that a user's hook raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever a user's code raises
        function()
    return raised.value


def pytest_evalmetrics_register_nothing():
    raise ValueError("no hook")


def test_an_error_in_the_hook_is_located_with_the_way_to_register(pytestconfig):
    def pytest_evalmetrics_register():
        raise OSError("no such disk")

    line = pytest_evalmetrics_register.__code__.co_firstlineno + 1
    text = hook_failure(raised_by(pytest_evalmetrics_register), pytestconfig)
    assert text == (
        f"tests/session/test_registration.py:{line}: pytest_evalmetrics_register failed: "
        "OSError: no such disk\n"
        '  it registers so: registry.register_metric("a_name")(MyMetric)'
    )


def test_a_name_that_the_registry_lacks_is_guessed(pytestconfig):
    def pytest_evalmetrics_register():
        registry.register_metrics("mine")

    text = hook_failure(raised_by(pytest_evalmetrics_register), pytestconfig)
    assert "the registry has no 'register_metrics'; did you mean 'register_metric'" in (
        text
    )
    assert "it has: " in text


def test_another_attribute_that_is_missing_is_told_as_it_is(pytestconfig):
    def pytest_evalmetrics_register():
        return [].nothing

    text = hook_failure(raised_by(pytest_evalmetrics_register), pytestconfig)
    assert "AttributeError: 'list' object has no attribute 'nothing'" in text


def test_an_error_elsewhere_is_none_of_the_hook(pytestconfig):
    error = raised_by(pytest_evalmetrics_register_nothing)
    assert hook_failure(error, pytestconfig) == ""


def test_who_asks_again_gets_the_error_of_the_hook_again(pytester):
    class Broken:
        def pytest_evalmetrics_register(self):
            raise OSError("no such disk")

    config = pytester.parseconfig()
    config.pluginmanager.register(Broken())
    for _ in range(2):
        with pytest.raises(RegistryError, match="no such disk"):
            let_register(config)
