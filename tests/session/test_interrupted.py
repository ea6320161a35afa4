"""What an interrupted run says of itself, and how it goes on."""

import pytest

INTERRUPTS = """\
def pytest_runtest_setup(item):
    raise KeyboardInterrupt
"""
ONLINE = """\
benchmark:
  name: math
  dataset: [{q: 1, a: 1}, {q: 2, a: 2}]
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ q }}"
  scorers: [{type: exact_match, reference: "{{ a }}"}]
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.5"}
"""


@pytest.fixture
def interrupted(project):
    """Run pytest, which is interrupted before its benchmark is evaluated."""

    def run(*args):
        project.write("conftest.py", INTERRUPTS)
        return project.run(*args)

    return run


def test_recorded_rollouts_are_read_by_the_same_command(
    project, interrupted, monkeypatch
):
    # a forked run has imported what makes calls
    monkeypatch.setenv("EVALMETRICS_TESTS_SPAWN", "1")
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    interrupted().stdout.fnmatch_lines(
        [
            "interrupted: 0 benchmarks evaluated, 1 not",
            "run the same command again for the others",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "way_on"),
    [
        (
            (),
            (
                "run the same command again: answers that were paid for are kept in the "
                "journal"
            ),
        ),
        (
            ("--evalmetrics-no-journal",),
            "without a journal no paid answer is kept: run it again with one",
        ),
    ],
)
def test_paid_answers_are_kept_in_a_journal(project, interrupted, arguments, way_on):
    project.write("math.bench.yaml", ONLINE)
    interrupted(*arguments).stdout.fnmatch_lines(
        ["interrupted: 0 benchmarks evaluated, 1 not", way_on]
    )
