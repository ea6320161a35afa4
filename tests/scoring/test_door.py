"""What the other rooms use of scoring."""

from pytest_evalmetrics.scoring import door


def test_all_that_the_door_offers_is_there():
    names = [name for name in door.__all__ if hasattr(door, name)]
    assert names == list(door.__all__)


def test_what_comes_in_through_the_door_is_listed():
    offered = {
        name
        for name, value in vars(door).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "").startswith("pytest_evalmetrics.scoring")
    }
    assert offered <= set(door.__all__)
