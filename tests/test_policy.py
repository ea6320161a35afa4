"""``evalmetrics_policy``, read and applied in this process."""

import pytest

from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.policy import Policy, RunPolicy, policy_of, requires

# pytest's plugin collects garbage five times at the end of each configuration
FAST = ("-p", "no:unraisableexception")


@pytest.fixture
def config(pytester):
    """Make the configuration of a run with a policy."""

    def make(policy, *arguments):
        ini = f"[pytest]\nevalmetrics_policy = {policy}\nmarkers =\n    safety\n    cost\n"
        pytester.path.joinpath("pytest.ini").write_text(ini)
        return pytester.parseconfigure(*FAST, *arguments)

    return make


def test_without_a_policy_nothing_is_required(config):
    assert policy_of(config("")) == Policy()
    assert not requires(Policy(), ["safety"])


def test_the_required_tags_of_all_words_count(config):
    policy = policy_of(config("required=safety,cost required=speed advisory=3"))
    assert policy == Policy(frozenset({"safety", "cost", "speed"}), most_advisory=3)


def test_one_advisory_failure_may_be_too_many(config):
    assert policy_of(config("advisory=1")).most_advisory == 1


def test_a_benchmark_with_one_required_tag_is_required():
    policy = Policy(required=frozenset({"safety", "cost"}))
    assert requires(policy, ["nightly", "safety"])
    assert not requires(policy, ["nightly"])


@pytest.mark.parametrize("word", ["advisory=0", "advisory=x", "required=", "safety"])
def test_another_word_is_refused_with_what_is_expected(config, word):
    with pytest.raises(pytest.UsageError) as refused:
        policy_of(config(word))
    assert str(refused.value) == (
        f"evalmetrics_policy: found {word!r}; expected required=TAG,TAG and advisory=N"
    )


# -- what a run lacks ------------------------------------------------------------------------

TESTS = """
import pytest

@pytest.mark.safety
def test_safe(): pass

def test_other(): pass
"""


@pytest.fixture
def recorded(pytester, config):
    """Make the policy of a run that collected two tests, one with a tag."""

    def record(policy, *arguments):
        pytester.makepyfile(test_it=TESTS)
        config(policy)
        items, _ = pytester.inline_genitems(*FAST, *arguments)
        run = RunPolicy(items[0].config)
        run.record(items)
        return run

    return record


def test_a_required_tag_that_a_benchmark_has_is_not_missing(recorded):
    assert list(recorded("required=safety").missing({})) == []


def test_a_required_tag_that_no_benchmark_has_is_missing(recorded):
    assert list(recorded("required=safety,cost").missing({})) == [
        "evalmetrics_policy: no benchmark has the required tag 'cost'"
    ]


@pytest.mark.parametrize("argument", ["test_it.py", "test_it.py::test_other", "--lf"])
def test_a_run_of_named_files_or_of_last_failures_lacks_no_tag(recorded, argument):
    assert list(recorded("required=cost", argument).missing({})) == []


def test_a_run_of_a_folder_lacks_the_tag(recorded):
    assert len(list(recorded("required=cost", ".").missing({}))) == 1


def test_a_required_benchmark_that_is_skipped_is_missing(recorded):
    skipped = {"test_it.py::test_safe": "later", "test_it.py::test_other": "never"}
    (missing,) = recorded("required=safety").missing(skipped)
    assert missing == (
        "evalmetrics_policy: test_it.py::test_safe is required by 'safety', and skipped: "
        "later"
    )


def test_what_a_worker_recorded_counts(recorded, config):
    worker = recorded("required=safety")
    controller = RunPolicy(config("required=safety"))
    controller.take(worker.hand_over())
    assert list(controller.missing({})) == []


# -- advisory failures -----------------------------------------------------------------------


def advised(name, tier):
    check = Check(gate=Gate.BASELINE, name="m", verdict=Verdict.WARN, tier=tier)
    return BenchmarkResult(
        id=name,
        name=name,
        description="",
        file="a.yaml",
        line=1,
        agents=(),
        checks=(check,),
    )


RESULTS = (
    advised("one", Tier.ADVISORY),
    advised("two", Tier.ADVISORY),
    advised("three", Tier.REQUIRED),
)


def test_as_many_advisory_failures_as_the_policy_names_fail_a_run(config):
    (reason,) = RunPolicy(config("advisory=2")).too_many(RESULTS)
    assert reason == (
        "evalmetrics_policy: 2 benchmarks with advisory failures, advisory=2 fails the run: "
        "one, two"
    )


@pytest.mark.parametrize("policy", ["advisory=3", "required=safety"])
def test_fewer_advisory_failures_and_any_without_a_number_fail_none(config, policy):
    assert list(RunPolicy(config(policy)).too_many(RESULTS)) == []
