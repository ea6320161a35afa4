"""Records behave as frozen dataclasses of the standard library do."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from pytest_evalmetrics.records import record


def make_classes(decorate):
    class Base:
        name: str
        near: float = 0.5

    class Thing(Base := decorate(Base)):
        more: list = field(default_factory=list)
        hidden: int = field(default=1, compare=False, repr=False)

        def __post_init__(self):
            if not self.name:
                raise ValueError("a name is missing")

    Base.__qualname__, Thing.__qualname__ = "Base", "Thing"
    return decorate(Thing)


Ours, Theirs = make_classes(record), make_classes(dataclass(frozen=True))
NAN = float("nan")


@pytest.mark.parametrize("use", [
    lambda t: repr(t("a", more=[1])),
    lambda t: asdict(t("a", 2.0)),
    lambda t: [(f.name, f.default) for f in fields(t)],
    lambda t: repr(replace(t("a"), near=3.0)),
    lambda t: t("a") == t("a", hidden=2),
    lambda t: t("a") == t("b"),
    lambda t: t("a", NAN) == t("a", NAN),
    lambda t: t("a") == "a",
    lambda t: hash(t("a", more=())) == hash(t("a", more=(), hidden=2)),
    lambda t: t("a").more is t("a").more,
    lambda t: t.__match_args__,
    lambda t: vars(copy.deepcopy(t("a", more=[[1]]))),
])  # fmt: skip
def test_values(use):
    assert use(Ours) == use(Theirs)


@pytest.mark.parametrize("use", [
    lambda t: t(),
    lambda t: t("a", 1, [], 2, 3),
    lambda t: t("a", name="b"),
    lambda t: t("a", nmae="b"),
    lambda t: t(""),
    lambda t: setattr(t("a"), "name", "b"),
    lambda t: setattr(t("a"), "new", "b"),
    lambda t: delattr(t("a"), "name"),
    lambda t: hash(t("a")),
])  # fmt: skip
def test_errors(use):
    with pytest.raises((TypeError, ValueError, FrozenInstanceError)) as theirs:
        use(Theirs)
    with pytest.raises(theirs.type):
        use(Ours)


def test_they_cross_processes():
    from pytest_evalmetrics.results import Interval

    one = Interval(0.1, 0.2, level=0.95, method="t")
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
