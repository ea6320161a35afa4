import re
import sys
from importlib.metadata import EntryPoint

import pytest

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.registry import Registry


@pytest.fixture
def things():
    """Make a registry with nothing in it."""
    return Registry("thing", has_builtins=False)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution that offers things."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = []

    def install(package, entry_points, **sources):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[pytest_evalmetrics.things]\n{entry_points}"
        )
        for name, text in sources.items():
            (tmp_path / f"{name}.py").write_text(text)
            modules.append(name)
        return Registry("thing", has_builtins=False)

    yield install
    for name in modules:
        sys.modules.pop(name, None)


def test_a_family_is_looked_up_by_its_members(things):
    things.register("top@{k}of{n}")(dict)
    family = things.find("top@12of3")
    assert (family.name, family.target) == ("top@{k}of{n}", dict)
    assert family.numbers == {"k": 12, "n": 3}
    for name in (
        "top@0of3",
        "top@012of3",
        "top@-1of3",
        "top@of3",
        "top@1of3x",
        "top@{k}of3",
    ):
        with pytest.raises(RegistryError, match="there is no thing"):
            things.find(name)


def test_an_unknown_name_lists_what_there_is_and_guesses(things):
    things.register("accuracy")(dict)
    things.register("recall")(list)
    with pytest.raises(RegistryError) as caught:
        things.find("acuracy")
    assert caught.value.message == (
        "there is no thing 'acuracy': did you mean 'accuracy'? things there are: accuracy, recall"
    )
    assert "@register_thing" in (caught.value.hint or "")


def test_the_same_thing_again_is_fine(things):
    def make():
        class One:
            def method(self):
                """Do nothing."""

        return One

    things.register("one")(make())
    again = make()  # as a conftest.py does that is imported under two names
    things.register("one")(again)
    assert things.find("one").target is again


def test_two_classes_of_one_place_and_two_instances_are_two_things(things):
    def factory(act):
        return type("Thing", (), {"act": act})

    one = factory(lambda _: 1)
    pairs = ((one, factory(lambda _: 2)), ({"k": 1}, {"k": 2}))
    for name, (one, other) in zip("ab", pairs, strict=True):
        things.register(name)(one)
        with pytest.raises(RegistryError, match="registered twice"):
            things.register(name)(other)
        assert things.find(name).target is one


@pytest.mark.parametrize("names", [("top@{k}", "top@1"), ("top@1", "top@{k}")])
def test_a_member_of_a_family_is_taken(things, names):
    things.register(names[0])(dict)
    with pytest.raises(
        RegistryError, match=r"registered twice: by builtins.dict .* as 'top@"
    ):
        things.register(names[1])(list)


@pytest.mark.parametrize("name", ["", " one", "one/two", "one[a=b]"])
def test_a_name_that_could_not_be_written_is_refused(things, name):
    with pytest.raises(RegistryError, match="can't be the name of a thing"):
        things.register(name)


def test_a_reference_is_imported(things):
    import collections  # what is referred to

    thing = things.find("collections:OrderedDict")
    assert thing.target is collections.OrderedDict
    assert thing.reference
    assert (
        things.find("collections:OrderedDict.fromkeys").target == thing.target.fromkeys
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_pkg:Thing", "there is no module 'no_such_pkg'"),
        ("collections.no_such:Thing", "there is no module 'collections.no_such'"),
        (
            "collections:OrderdDict",
            "collections has no 'OrderdDict'; did you mean 'OrderedDict'",
        ),
        ("collections:OrderedDict.kopy", "has no 'kopy'; did you mean 'copy'"),
        ("raising_for_tests:Thing", "can't be imported: KeyError: 'x'"),
        (
            "importing_for_tests:Thing",
            "can't be imported: ModuleNotFoundError: No module named",
        ),
        ("broken_for_tests:Thing", "can't be imported: SyntaxError"),
    ],
)
def test_a_reference_to_nothing_or_to_a_broken_module(installed, reference, message):
    things = installed(
        "broken",
        "",
        raising_for_tests="raise KeyError('x')",
        importing_for_tests="import no_such_dependency",
        broken_for_tests="def broken(:",
    )
    with pytest.raises(RegistryError, match=re.escape(message)):
        things.find(reference)


def test_an_entry_point_is_loaded_at_first_use(installed):
    points = "one = things_of_plugin:One\ntop@{k} = builtins:dict\nbad = things_of_plugin:Two\n"
    points += "gone = no_such_module_of_plugin:One\n"
    things = installed("plugin", points, things_of_plugin="class One:\n    pass\n")
    assert things.names() == ["bad", "gone", "one", "top@{k}"]
    assert "things_of_plugin" not in sys.modules
    assert things.find("one").target is sys.modules["things_of_plugin"].One
    assert things.find("one").target.__name__ == "One"  # and again
    assert things.find("top@3").numbers == {"k": 3}
    message = "the thing 'bad' of plugin can't be loaded from things_of_plugin:Two"
    with pytest.raises(RegistryError, match=message) as caught:
        things.find("bad")
    assert "fix or uninstall plugin" in str(caught.value)
    with pytest.raises(
        RegistryError, match="can't be loaded from no_such_module_of_plugin:One"
    ):
        things.find("gone")


def test_an_entry_point_may_be_a_module_that_registers(installed, monkeypatch):
    things = installed(
        "plugin", "one = registering\n", registering="import here\nhere.register()\n"
    )
    module = type(sys)("here")
    module.register = lambda: things.register("one")(dict)
    monkeypatch.setitem(sys.modules, "here", module)
    assert things.find("one").target is dict


def test_one_name_of_two_providers_is_an_error(installed):
    registered = installed("plugin", "one = builtins:dict\n")
    registered.register("one")(list)
    things = installed("another", "one = builtins:list\n")
    with pytest.raises(RegistryError, match="registered twice"):
        registered.find("one")
    with pytest.raises(
        RegistryError, match=r"registered twice: by builtins\.(dict|list)"
    ):
        things.find("one")


def refusal(things, name):
    with pytest.raises(RegistryError) as refused:
        things.find(name)
    return refused.value


def test_a_module_that_is_not_there_may_be_installed_or_put_on_the_path(things):
    error = refusal(things, "no_such_pkg:Thing")
    assert error.message == (
        "the thing 'no_such_pkg:Thing' can't be imported: there is no module 'no_such_pkg'"
    )
    assert error.hint == (
        "install it, or write `pythonpath = .` in the configuration file of pytest"
    )


def test_a_module_that_raises_is_shown_with_its_error_alone(installed):
    things = installed("broken", "", raising_for_tests="raise KeyError('x')")
    error = refusal(things, "raising_for_tests:Thing")
    assert error.message == (
        "the thing 'raising_for_tests:Thing' can't be imported: KeyError: 'x'"
    )
    assert not error.hint


def test_what_a_module_has_is_listed_without_what_is_its_own(installed):
    things = installed("small", "", small_for_tests="one = 1\n_two = 2\nthree = 3\n")
    assert refusal(things, "small_for_tests:Zzz").message == (
        "the thing 'small_for_tests:Zzz' can't be found: small_for_tests has no 'Zzz'; "
        "it has: one, three"
    )


def test_a_reference_is_known_by_the_name_that_was_written(things):
    assert things.find("collections:OrderedDict").name == "collections:OrderedDict"


def test_what_an_entry_point_raises_is_shown(installed):
    things = installed(
        "plugin", "bad = raising_for_tests:One\n", raising_for_tests="1 / 0"
    )
    error = refusal(things, "bad")
    assert error.message == (
        "the thing 'bad' of plugin can't be loaded from raising_for_tests:One: "
        "ZeroDivisionError: division by zero"
    )
    assert error.hint == "fix or uninstall plugin"


def test_the_packages_of_an_entry_point_are_its_source(installed):
    installed("another", "one = builtins:dict\n")
    things = installed("plugin", "one = builtins:list\n")
    source = things.source("one")
    assert source.startswith("entry point of ")
    assert sorted(source.removeprefix("entry point of ").split(" and ")) == [
        "another",
        "plugin",
    ]


def test_an_entry_point_of_no_distribution_is_one_of_an_installed_package(
    things, monkeypatch
):
    point = EntryPoint("one", "builtins:dict", "pytest_evalmetrics.things")
    monkeypatch.setitem(vars(things), "_entry_points", {"one": [point]})
    assert things.source("one") == "entry point of an installed package"
