"""A user's own metrics: what they may be, and what is said of one that is wrong."""

import pytest
from evaluated import evaluated


@pytest.fixture
def computed(project):
    """Run a benchmark for each text of a module, with metrics that it defines."""

    def run(*texts, metrics="Mine"):
        project.write("pytest.ini", "[pytest]\npythonpath = .\n")
        project.rollouts([[1.0, 0.0], [None], [1.0]])
        for number, text in enumerate(texts):
            project.write(f"users_{number:02}.py", text)
            listed = [f"'users_{number:02}:{name}'" for name in metrics.split()]
            keys = f"metrics: [{', '.join(listed)}]\nexpect: {{rollouts: any, max_missing: 50%}}"
            project.bench(keys, f"b{number:02}.bench.yaml")
        return project.run("-v")

    return run


def test_a_vectorised_form_is_preferred(project, computed):
    text = (
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
    computed(text, metrics="Both Array Ratio").assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert [metrics[name] for name in ("Both", "Array", "Ratio")] == [0.375, 1.0, 0.5]


def test_a_users_median_takes_the_name_of_the_built_in_one(project, computed):
    own = "class Mine:\n    name = '{}'\n    def compute(self, task_rewards): return 0.123\n"
    computed(own.format("median"), own.format("pass@7")).assert_outcomes(passed=2)
    median, pass_at_7 = (entry["agent_metrics"] for entry in project.aggregate())
    assert (median["median"], pass_at_7["pass@7"]) == (0.123, 0.123)
    # in another benchmark it is the built-in one
    project.bench("metrics: [median]\nexpect: {rollouts: any, max_missing: 50%}")
    project.run("math.bench.yaml").assert_outcomes(passed=1)
    assert project.aggregate()[0]["agent_metrics"]["median"] == 0.75


def test_two_of_one_name_in_one_benchmark_are_an_error_naming_both(project, computed):
    own = "class Mine:\n    name = 'median'\n    def compute(self, task_rewards): return 1\n"
    project.bench("metrics: [median, 'users_00:Mine']", "c.bench.yaml")
    result = computed(f"{own}class Another(Mine): ...\n", metrics="Mine Another")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*b00.bench.yaml:4: *users_00:Another' calls itself 'median', and so does *.Mine*",
            "*c.bench.yaml:4: *users_00:Mine' calls itself 'median', and so does *.Median*",
        ]
    )


def test_what_is_no_metric_is_refused_when_it_is_looked_up(computed):
    messages = {
        "class Mine:\n    def compute(self): return 1\n": "can't be called*compute()*",
        "class Mine:\n    def compute(self, rewards, k): return 1\n": (
            "*it is compute(rewards, k), expected compute(self, task_rewards)"
        ),
        "def Mine(): return 1\n": "can't be called with the rewards alone: it is Mine()",
        "\nclass Mine:\n    pass\n": "has no compute(self, task_rewards)",
        "Mine = 3\n": "has no compute(self, task_rewards)",
        "class Mine:\n    compute = 3\n": "has no compute(self, task_rewards)",
        "async def Mine(tasks): return 1\n": "is async",
        "class Mine:\n    def __init__(self, k): pass\n    def compute(self, t): return 1\n": (
            "failed in __init__: TypeError: *missing 1 required"
        ),
    }
    result = computed(*messages)
    result.assert_outcomes(failed=len(messages))
    lines = [
        f"*'users_{i:02}:Mine' {text}*" for i, text in enumerate(messages.values())
    ]
    places = ["*users_03.py:2:*has no compute*", "*b04.bench.yaml:4:*has no compute*"]
    result.stdout.fnmatch_lines_random([*lines, *places])


VECTORISED = """\
import numpy as np
class Mine:
    def task_values(self, rewards):
        with np.errstate(all='ignore'):
            {}
"""
RESULTS = ["True", "None", "'0.5'", "float('nan')", "float('-inf')", "[0.5]", "1j"]
RESULTS += ["__import__('numpy').bool_(True)", "__import__('numpy').float64('nan')"]


def test_a_failed_computation_is_reported_with_the_users_line(project, computed):
    one_per_task = "*users_{}.py:*TypeError: expected one number per task*"
    messages = {
        **{
            f"\n\ndef Mine(tasks):\n    return {result}\n": (
                "*users_{}.py:3: metric 'Mine' returned *a finite number is expected*"
            )
            for result in RESULTS
        },
        "from helper import divide\nclass Mine:\n    def compute(self, tasks):\n"
        "        return divide(1, 0)\n": (
            "*helper.py:2: metric 'Mine' failed in compute: ZeroDivisionError: division by zero*"
        ),
        "async def later(): return 1\ndef Mine(tasks): return later()\n": (
            "*metric 'Mine' returned <coroutine*"
        ),
        "class Mine:\n    bounded = True\n    def compute(self, tasks): return 1.5\n": (
            "*'Mine' says that it is a rate in [[]0, 1], and is 1.5*"
        ),
        VECTORISED.format("return rewards.counts[:1]"): one_per_task,
        VECTORISED.format("return 0.5"): one_per_task,
        VECTORISED.format("return np.array(['a'] * len(rewards))"): one_per_task,
        VECTORISED.format("return rewards.counts / 0.0"): "*users_{}.py:*returned *",
        VECTORISED.format(
            "return np.full(len(rewards), np.nan)"
        ): "*users_{}.py:*returned nan*",
        VECTORISED.format("raise KeyError('x')"): "*users_{}.py:*KeyError: 'x'*",
    }
    project.write("helper.py", "def divide(a, b):\n    return a / b\n")
    result = computed(*messages)
    result.assert_outcomes(failed=len(messages))
    lines = [line.replace("{}", f"{i:02}") for i, line in enumerate(messages.values())]
    result.stdout.fnmatch_lines_random(lines)


def test_the_std_of_one_rollout_is_not_defined(project):
    project.rollouts([[1.0]])
    project.bench("metrics: [std/reward]")
    evaluated(project).says("INCONCLUSIVE *std/reward* returned nan*")
