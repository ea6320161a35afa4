"""Where a registered thing is defined, and which registrations are built in."""

from pathlib import Path

import pytest

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.registry import Registry, Scope, origin, same


class Plain:
    """A class without methods."""


class Acting:
    """A class with a method."""

    def act(self):
        """Do nothing."""


@pytest.fixture
def things():
    """Make a registry with nothing in it."""
    return Registry("thing", has_builtins=False)


def register_in(module, things, target):
    """Register a thing as one in a module of this name."""
    names = {"__name__": module, "things": things, "target": target}
    exec("things.register('one')(target)", names)  # noqa: S102 - as an import does


def test_what_a_module_of_this_package_registers_is_built_in(things):
    register_in("pytest_evalmetrics.for_tests", things, Plain)
    assert things.find("one").target is Plain
    assert things.holder("one") is None


def test_what_a_module_of_another_package_registers_is_not_built_in(things):
    register_in("pytest_evalmetrics_of_mine", things, Plain)
    assert things.holder("one") is Plain


def test_a_built_in_name_is_looked_up_without_the_other_built_in_ones(things):
    asked = []

    def offered(name):
        asked.append(name)
        return {}

    things.offer(offered)
    assert things.holder("one") is None
    assert asked == ["one"]


def test_a_class_is_placed_at_its_own_line_and_not_at_that_of_a_method():
    line = Acting.act.__code__.co_firstlineno - 3
    assert origin(Acting) == f"{__name__}.Acting ({__file__}:{line})"


def test_a_class_without_methods_has_a_place():
    assert origin(Plain).startswith(f"{__name__}.Plain ({__file__}:")


def test_a_class_without_methods_is_the_same_after_a_second_import():
    def imported():
        class Empty:
            """A class without methods."""

        return Empty

    assert same(imported(), imported())


def test_two_classes_of_one_file_without_methods_are_not_the_same():
    class Other:
        """A class without methods."""

    assert not same(Plain, Other)


def test_two_functions_of_one_place_with_other_names_are_not_the_same():
    def first():
        """Do nothing."""

    second = type(first)(first.__code__, {}, "second")
    second.__module__ = first.__module__
    second.__qualname__ = "second"
    assert not same(first, second)


def test_the_same_thing_in_place_of_a_built_in_one_is_not_noted(things):
    things.offer(lambda _: {"one": Plain})
    things.register("one")(Plain)
    with Scope(Path()) as scope:
        assert things.find("one").target is Plain
    assert scope.notes == {}


def test_several_names_in_one_are_refused_as_one_that_is_not_there(things):
    with pytest.raises(RegistryError) as refused:
        things.find("one,two")
    assert refused.value.message == "there is no thing 'one,two'"
