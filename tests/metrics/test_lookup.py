"""A user's own metrics: what they may be, and what is said of one that is wrong."""

import itertools
import sys

import pytest

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.metrics import Names, plan

REWARDS = TaskRewards.from_lists([[1.0, 0.0], [], [1.0]])
_numbers = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of the user's, and return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    written = []

    def write(text):
        name = f"users_metrics_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def compute(reference, rewards=REWARDS, options=None):
    return Names(options).bind(reference).value(rewards)


def test_two_metrics_of_one_name_are_an_error_naming_both(module):
    text = "class Thing:\n    name = '{}'\n    def compute(self, task_rewards): return 0.5\n"
    one, other, third = (module(text.format(name)) for name in ("same", "same", "pass@7"))
    names = Names()
    names.bind(f"{one}:Thing")
    names.bind(f"{one}:Thing")  # the same again is fine
    with pytest.raises(RegistryError) as caught:
        names.bind(f"{other}:Thing")
    assert f"'{other}:Thing' calls itself 'same'" in caught.value.message
    assert f"{one}.Thing" in caught.value.message
    assert names.bind(f"{third}:Thing").value(REWARDS) == 0.5  # the built-in one gives way


def test_a_users_worst_task_and_median_take_the_names_of_the_built_in_ones(module):
    from pytest_evalmetrics import registry  # noqa: PLC0415 - the user's import

    name = module(
        "from pytest_evalmetrics import register_metric\n"
        "class Median:\n"
        "    name = 'median'\n"
        "    def compute(self, task_rewards): return 0.123\n"
    )
    names = Names()
    assert names.bind(f"{name}:Median").value(REWARDS) == 0.123
    assert str(names.bind(f"{name}:Median")) == "median"
    assert compute("median") == 0.75  # in another benchmark it is the built-in one
    registered = module(
        "from pytest_evalmetrics import register_metric\n"
        "@register_metric('worst_task')\n"
        "class WorstTask:\n"
        "    name = 'worst_task'\n"
        "    def compute(self, task_rewards): return 0.456\n"
    )
    before = registry.metrics._entries[:]
    try:
        __import__(registered)
        assert compute("worst_task") == 0.456
    finally:
        registry.metrics._entries[:] = before


def test_both_of_one_name_in_one_benchmark_are_an_error(module):
    name = module("class M:\n    name = 'median'\n    def compute(self, tasks): return 1\n")
    names = Names()
    names.bind("median")
    with pytest.raises(RegistryError, match=r"calls itself 'median', and so does .*Median"):
        names.bind(f"{name}:M")


def test_a_vectorised_form_is_preferred(module):
    name = module(
        "import numpy as np\n"
        "class Both:\n"
        "    bounded = True\n"
        "    def compute(self, task_rewards): raise AssertionError\n"
        "    def task_values(self, rewards):\n"
        "        return np.where(rewards.counts > 0, rewards.counts / 4, np.nan)\n"
        "class Array:\n"
        "    def compute_array(self, rewards): return rewards.values.max()\n"
        "class Ratio:\n"
        "    def task_parts(self, rewards): return rewards.counts, rewards.counts * 2\n"
    )
    names = Names()
    both = names.bind(f"{name}:Both")
    assert both.value(REWARDS) == 0.375
    assert both.bounded
    assert both.parts(REWARDS).additive
    assert names.bind(f"{name}:Array").value(REWARDS) == 1.0
    assert names.bind(f"{name}:Array").parts(REWARDS) is None
    assert names.bind(f"{name}:Ratio").value(REWARDS) == 0.5


@pytest.mark.parametrize("result", ["True", "None", "'0.5'", "float('nan')", "float('-inf')",
                                    "[0.5]", "1j", "__import__('numpy').bool_(True)",
                                    "__import__('numpy').float64('nan')"])  # fmt: skip
def test_what_is_no_finite_number_is_an_error(module, result):
    name = module(f"\n\ndef mine(tasks):\n    return {result}\n")
    with pytest.raises(MetricError) as caught:
        compute(f"{name}:mine")
    assert caught.value.message.startswith("metric 'mine' returned ")
    assert "a finite number is expected" in caught.value.message
    assert caught.value.where == f"{name}.py:3"


def test_an_exception_is_told_with_the_users_line(module):
    helper = module("def divide(a, b):\n    return a / b\n")
    name = module(
        f"from {helper} import divide\nclass Bad:\n    def compute(self, task_rewards):\n"
        "        return divide(1, 0)\n"
    )
    with pytest.raises(MetricError) as caught:
        compute(f"{name}:Bad")
    assert caught.value.message == (
        "metric 'Bad' failed in compute: ZeroDivisionError: division by zero"
    )
    assert caught.value.where == f"{helper}.py:2"
    assert "fix it" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Bad:\n    def compute(self): return 1\n", r"can't be called .* compute\(\)"),
        (
            "class Bad:\n    def compute(self, rewards, k): return 1\n",
            r".*it is compute\(rewards, k\), expected compute\(self, task_rewards\)",
        ),
        ("def Bad(): return 1\n", r"can't be called with the rewards alone: it is Bad\(\)"),
        ("class Bad:\n    pass\n", r"has no compute\(self, task_rewards\)"),
        ("Bad = 3\n", r"has no compute\(self, task_rewards\)"),
        ("class Bad:\n    compute = 3\n", r"has no compute\(self, task_rewards\)"),
        ("async def Bad(tasks): return 1\n", "is async"),
        (
            "class Bad:\n    def __init__(self, k): pass\n    def compute(self, tasks): return 1\n",
            "failed in __init__: TypeError: .*missing 1 required",
        ),
    ],
)
def test_what_is_no_metric_is_refused_when_it_is_looked_up(module, text, message):
    name = module(text)
    with pytest.raises(MetricError, match=f"metric '{name}:Bad' {message}") as caught:
        Names().bind(f"{name}:Bad")
    if "= 3" not in text.splitlines()[0]:
        assert caught.value.where.startswith(f"{name}.py:")


def test_a_coroutine_is_no_number_and_leaves_no_warning(module):
    name = module("async def later(): return 1\ndef mine(tasks): return later()\n")
    with pytest.raises(MetricError, match="returned <coroutine"):
        compute(f"{name}:mine")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return rewards.counts[:1]", r"TypeError: expected one number per task"),
        ("return 0.5", r"TypeError: expected one number per task"),
        ("return np.array(['a'] * len(rewards))", r"TypeError: expected one number per task"),
        ("return rewards.counts / 0.0", r"returned inf|returned nan"),
        ("return np.full(len(rewards), np.nan)", r"returned nan"),
        ("raise KeyError('x')", r"KeyError: 'x'"),
    ],
)
def test_a_vectorised_form_is_checked_as_well(module, body, message):
    name = module(
        "import numpy as np\nclass Bad:\n    def task_values(self, rewards):\n"
        f"        with np.errstate(all='ignore'):\n            {body}\n"
    )
    with pytest.raises(MetricError, match=message) as caught:
        compute(f"{name}:Bad")
    assert "metric 'Bad'" in caught.value.message
    assert caught.value.where.startswith(f"{name}.py:")


def test_a_rate_outside_of_0_to_1_is_an_error(module):
    name = module("class R:\n    bounded = True\n    def compute(self, tasks): return 1.5\n")
    with pytest.raises(MetricError, match=r"'R' says that it is a rate in \[0, 1\], and is 1.5"):
        compute(f"{name}:R")


def test_the_std_of_one_rollout_is_not_defined():
    with pytest.raises(MetricError, match="returned nan"):
        compute("std/reward", TaskRewards.from_lists([[1.0]]))


def test_an_unknown_metric_is_told_before_anything_is_read_with_its_line(spec):
    lines = {("metrics",): 7, ("metrics", 1): 9}
    with pytest.raises(RegistryError, match="did you mean 'mean_reward'") as caught:
        plan(spec(metrics=["pass@1", "mean_rewrd"]), line_of=lambda *path: lines[path])
    assert caught.value.line == 9
    assert caught.value.file is None


def test_a_user_metrics_own_line_is_kept(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "planned_metrics_of_tests.py").write_text("\nclass Bad:\n    pass\n")
    with pytest.raises(MetricError) as caught:
        plan(spec(metrics=["planned_metrics_of_tests:Bad"]), line_of=lambda *_: 9)
    assert caught.value.where == "planned_metrics_of_tests.py:2"
