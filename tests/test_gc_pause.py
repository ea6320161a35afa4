"""Pauses of the garbage collector end as they began."""

import gc

import pytest

from pytest_evalmetrics.gc_pause import collector_paused


def test_the_collector_is_off_while_it_is_paused():
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


@collector_paused()
def fail():
    raise ValueError("broken")


def test_the_collector_is_on_again_after_an_error():
    with pytest.raises(ValueError, match="broken"):
        fail()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
