"""Who provides a name, and what a registration refuses."""

import types

import pytest

from pytest_evalmetrics import registry, scoring
from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.registry import (
    Registry,
    Scope,
    gate_rules,
    is_ours,
    numbers_in,
    origin,
    same,
)
from pytest_evalmetrics.registry import metrics as metric_names


@pytest.fixture
def things():
    """Make a registry with nothing in it."""
    return Registry("thing", has_builtins=False)


class Thing:
    """Something to register."""

    def act(self):
        """Do nothing."""


# -- built in --------------------------------------------------------------------------------


def test_a_built_in_name_says_so():
    assert metric_names.is_builtin("mean_reward")
    assert metric_names.source("mean_reward") == "built-in"


def test_a_member_of_a_built_in_family_is_built_in():
    assert metric_names.is_builtin("pass@3")
    assert metric_names.source("pass@3") == "built-in"


def test_a_built_in_name_may_be_taken():
    assert metric_names.holder("mean_reward") is None


def test_the_built_in_families_are_known_by_their_patterns():
    assert metric_names.family("pass@{k}") == "pass@{k}"
    assert metric_names.family("mean_reward") is None


def test_built_in_names_that_are_not_imported_are_an_error_of_ours():
    with pytest.raises(RuntimeError, match="the built-in widgets are not imported"):
        Registry("widget").find("one")


def test_offered_names_are_built_in(things):
    things.offer(lambda name: {"one": Registry} if name in ("one", None) else {})
    assert things.names() == ["one"]
    assert things.find("one").target is Registry
    assert things.holder("one") is None


# -- registered ------------------------------------------------------------------------------


def test_what_is_registered_stays_what_it_is(things):
    assert things.register("one")(Thing) is Thing


def test_a_registered_name_is_held_and_known_by_its_module(things):
    things.register("one")(Thing)
    assert things.holder("one") is Thing
    assert not things.is_builtin("one")
    assert things.source("one") == __name__


def test_a_free_name_has_no_holder_and_no_source_of_ours(things):
    assert things.holder("one") is None
    assert not things.is_builtin("one")


def test_a_pattern_is_the_family_of_the_name_without_its_numbers(things):
    things.register("top@{k}of{n}")(Thing)
    things.register("plain")(list)
    assert things.family("top@kofn") == "top@{k}of{n}"
    assert things.family("top@{k}of{n}") == "top@{k}of{n}"
    assert things.family("plain") is None


def test_a_name_that_is_put_takes_the_place_of_the_one_before(things):
    things.register("one")(Thing)
    things.put("one", list)
    assert things.find("one").target is list
    assert things.names() == ["one"]


def conftest_at(folder, things, target=Thing):
    """Register a thing in a conftest.py, in its third line."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "conftest.py"
    module = types.ModuleType("conftest")
    vars(module).update(things=things, Thing=target)
    code = "\n\nthings.register('one')(Thing)\n"
    exec(compile(code, str(file), "exec"), vars(module))  # noqa: S102 - as pytest does
    return file


def test_a_name_of_a_conftest_is_known_by_its_line(things, tmp_path):
    conftest_at(tmp_path / "evals", things)
    with Scope(tmp_path, tmp_path / "evals"):
        assert things.source("one") == "evals/conftest.py:3"


def test_a_name_of_a_conftest_is_unknown_beside_its_folder(things, tmp_path):
    conftest_at(tmp_path / "evals", things)
    with (
        Scope(tmp_path, tmp_path / "other"),
        pytest.raises(RegistryError, match="there is no thing 'one'"),
    ):
        things.find("one")


def test_a_name_of_a_conftest_holds_in_the_folders_below(things, tmp_path):
    conftest_at(tmp_path / "evals", things)
    with Scope(tmp_path, tmp_path / "evals/deep/er"):
        assert things.find("one").target is Thing


def test_the_deeper_conftest_wins_and_that_is_noted(things, tmp_path):
    conftest_at(tmp_path / "evals", things, target=dict)
    conftest_at(tmp_path / "evals/deep", things, target=list)
    with Scope(tmp_path, tmp_path / "evals/deep") as scope:
        assert things.find("one").target is list
    (note,) = scope.notes
    assert note.kind == "thing"
    assert note.name == "one"
    assert note.place == "evals/deep/conftest.py:3"
    assert note.replaced == "evals/conftest.py:3"


def test_conftests_beside_each_other_are_two_of_one_name(things, tmp_path):
    conftest_at(tmp_path / "a", things, target=dict)
    conftest_at(tmp_path / "b", things, target=list)
    with (
        Scope(tmp_path, tmp_path / "a", tmp_path / "b"),
        pytest.raises(RegistryError) as refused,
    ):
        things.find("one")
    assert refused.value.message == (
        "the thing 'one' is registered twice in this run: in b/conftest.py:3 and in "
        "a/conftest.py:3"
    )
    assert refused.value.hint == "give one of them another name"


def test_a_conftest_that_is_imported_again_replaces_what_it_registered(
    things, tmp_path
):
    conftest_at(tmp_path, things, target={"k": 1})
    conftest_at(tmp_path, things, target={"k": 2})
    with Scope(tmp_path, tmp_path):
        assert things.find("one").target == {"k": 2}


def test_a_scope_of_modules_has_the_names_of_these_conftests(things, tmp_path):
    conftest_at(tmp_path / "evals", things)
    with (
        Scope(tmp_path, modules=[scoring]),
        pytest.raises(RegistryError, match="there is no thing 'one'"),
    ):
        things.find("one")


def test_a_scope_of_modules_has_what_these_conftests_register(things, tmp_path):
    conftest = types.ModuleType("conftest")
    vars(conftest).update(things=things, Thing=Thing)
    code = compile("things.register('one')(Thing)", f"{tmp_path}/conftest.py", "exec")
    exec(code, vars(conftest))  # noqa: S102 - as pytest does
    with Scope(tmp_path, modules=[conftest]):
        assert things.find("one").target is Thing


def test_one_file_that_registers_two_things_under_one_name_is_refused(things, tmp_path):
    module = {"things": things}
    text = "things.register('one')({'k': 1})\nthings.register('one')({'k': 2})\n"
    with pytest.raises(RegistryError, match="registered twice"):
        exec(compile(text, f"{tmp_path}/conftest.py", "exec"), module)  # noqa: S102


def test_two_files_that_register_two_things_under_one_name_are_refused(
    things, tmp_path
):
    text = "things.register('one')({'k': 1})"
    first = compile(text, f"{tmp_path}/first.py", "exec")
    second = compile(text, f"{tmp_path}/second.py", "exec")
    exec(first, {"things": things})  # noqa: S102
    with pytest.raises(RegistryError, match="registered twice"):
        exec(second, {"things": things})  # noqa: S102


def test_the_scope_before_is_active_again(tmp_path):
    before = Scope.active
    with Scope(tmp_path) as outer:
        with Scope(tmp_path):
            pass
        assert Scope.active is outer
    assert Scope.active is before


def test_the_one_in_place_of_a_built_in_thing_is_noted_as_such(things, tmp_path):
    things.offer(lambda _name: {"one": Registry})
    conftest_at(tmp_path, things)
    with Scope(tmp_path, tmp_path) as scope:
        assert things.find("one").target is Thing
    (note,) = scope.notes
    assert note.place == "conftest.py:3"
    assert note.replaced == ""


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (registry.metrics, "there is no metric 'no such one'"),
        (registry.loaders, "there is no loader 'no such one'"),
        (registry.scorers, "there is no scorer 'no such one'"),
        (registry.reporters, "there is no reporter 'no such one'"),
        (registry.gate_rules, "there is no gate rule 'no such one'"),
        (registry.targets, "there is no target 'no such one'"),
        (registry.behaviours, "there is no behaviour 'no such one'"),
    ],
)
def test_an_unknown_name_is_said_with_its_kind(names, message):
    with pytest.raises(RegistryError) as unknown:
        names.find("no such one")
    assert unknown.value.message.startswith(message)


# -- refused ---------------------------------------------------------------------------------


def test_a_registration_without_a_name_is_refused_with_the_way_to_write_it(things):
    with pytest.raises(RegistryError) as refused:
        things.register(Thing)
    assert refused.value.message.startswith(
        f"@register_thing needs a name, and got {__name__}.Thing ("
    )
    assert refused.value.hint == 'write @register_thing("a_name")'


def test_a_decorator_has_no_space():
    with pytest.raises(RegistryError) as refused:
        Registry("gate rule", has_builtins=False).register(Thing)
    assert refused.value.hint == 'write @register_gate_rule("a_name")'


@pytest.mark.parametrize(
    "name",
    ["exact", "absolute", "relative", "statistical", "practical", "noninferior"],
)
def test_a_reserved_name_is_refused(name):
    with pytest.raises(RegistryError) as refused:
        gate_rules.register(name)
    assert refused.value.message == f"the gate rule {name!r} is built in"
    assert refused.value.hint == "give yours another name"


def test_names_with_a_comma_are_shown_as_a_list(things):
    with pytest.raises(RegistryError) as refused:
        things.find("one,two , three")
    assert refused.value.hint == "write a list: [one, two, three]"


def test_the_name_that_was_probably_meant_is_data_of_the_error(things):
    things.register("accuracy")(Thing)
    with pytest.raises(RegistryError) as refused:
        things.find("acuracy")
    assert refused.value.meant == "accuracy"


# -- what is the same ------------------------------------------------------------------------


def test_two_objects_of_one_definition_are_the_same():
    assert same(Thing, Thing)
    assert not same(Thing, dict)
    assert not same({"a": 1}, {"a": 2})


def test_a_class_is_placed_at_the_line_where_it_is_written():
    name, _, place = origin(Thing).partition(" (")
    assert name == f"{__name__}.Thing"
    assert place.startswith(f"{__file__}:")


def test_a_built_in_of_python_has_no_place():
    assert origin(len) == "builtins.len"
    assert origin({"a": 1}) == "builtins.dict"


def test_the_things_of_this_package_are_ours():
    assert is_ours(Registry)
    assert not is_ours(Thing)


@pytest.mark.parametrize(
    ("pattern", "name", "numbers"),
    [
        ("pass@{k}", "pass@3", {"k": 3}),
        ("pass@{k}", "pass@{k}", {}),
        ("pass@{k}", "pass@0", None),
        ("top@{k}of{n}", "top@10of3", {"k": 10, "n": 3}),
        ("mean.{k}", "meanx3", None),
        ("mean", "median", None),
    ],
)
def test_the_numbers_of_a_family_are_read_from_a_name(pattern, name, numbers):
    assert numbers_in(pattern, name) == numbers


def test_two_things_of_one_name_are_both_named_with_their_places(things):
    things.register("one")(Thing)
    with pytest.raises(RegistryError) as refused:
        things.register("one")(dict)
    here = test_two_things_of_one_name_are_both_named_with_their_places
    start = here.__code__.co_firstlineno
    assert refused.value.message == (
        f"the thing 'one' is registered twice: by {__name__}.Thing "
        f"({__file__}:{start + 1}) and by builtins.dict ({__file__}:{start + 3})"
    )
