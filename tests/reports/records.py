"""Small results of benchmarks, for the tests of what is written about them."""

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound, ThresholdBound
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    RuleName,
    RuleSettings,
    TaskChange,
)
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.results import (
    AgentResult,
    BenchmarkResult,
    Check,
    RunReport,
)
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict

RULE = RuleSettings(
    rule=RuleName.PRACTICAL,
    direction=Direction.HIGHER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.02,
)
NUMBERS = {
    "baseline": 0.9,
    "current": 0.7,
    "drop": 0.2,
    "drop_low": 0.1,
    "drop_high": 0.3,
    "p": 0.002,
    "p_adjusted": 0.004,
    "test": "exact sign flip",
    "tasks": 40,
    "units": 40,
    "rollouts_baseline": 80,
    "rollouts_current": 80,
    "samples_baseline": (2, 2),
    "samples_current": (2, 2),
    "worse": 12,
    "better": 1,
}


def facts(**changes):
    """Make a comparison over 40 tasks that fell from 0.9 to 0.7."""
    return ComparisonFacts(**{**NUMBERS, **changes})


def task(name, before=(1.0, 1.0), now=(0.0, 0.0)):
    """Make a task that got worse."""
    return TaskChange(name, before, now, drop=1.0)


def compared(name="pass@1", verdict=Verdict.FAIL, *, changes=None, **fields):
    """Make the check of a metric that is compared with its committed baseline."""
    fields = {"comparison": facts(**(changes or {})), **fields}
    return Check(
        **{
            "gate": Gate.BASELINE,
            "name": name,
            "verdict": verdict,
            "value": 0.7,
            "bound": RuleBound(RULE),
            "acceptance": Acceptance.SNAPSHOT,
            "line": 5,
            **fields,
        }
    )


def unchanged(name="pass@1", **fields):
    """Make the check of a metric that passes as it was."""
    same = {"current": 0.9, "drop": 0.0, "p": 1.0, "p_adjusted": 1.0}
    return compared(name, Verdict.PASS, changes={**same, "worse": 0}, **fields)


def estimate(name="pass@1", value=0.5, interval=(0.4, 0.6), **fields):
    """Make a metric over 40 tasks with its interval."""
    bounds = None
    if interval is not None:
        bounds = Interval(*interval, level=0.95, method="t")
    return Estimate(name, value, tasks=40, rollouts=80, interval=bounds, **fields)


def below(name="pass@1", verdict=Verdict.FAIL, **fields):
    """Make the check of a metric of 0.5 that has to be at least 0.7."""
    reason = kinds.OutOfBounds(
        metric=name,
        value=0.5,
        bound=0.7,
        side="below",
        end="point",
        confidence=None,
        tasks=(),
    )
    return Check(
        **{
            "gate": Gate.THRESHOLD,
            "name": name,
            "verdict": verdict,
            "value": 0.5,
            "bound": ThresholdBound(least=0.7, most=None),
            "reasons": (reason,),
            "estimate": estimate(name),
            "line": 7,
            **fields,
        }
    )


def above(name="pass@1", **fields):
    """Make the check of a metric of 0.5 that may be 0.4."""
    passing = {"bound": ThresholdBound(least=0.4, most=None), "reasons": ()}
    return below(name, Verdict.PASS, **{**passing, **fields})


def broken(words="no such file", verdict=Verdict.INCONCLUSIVE, **fields):
    """Make the check of a benchmark that could not be evaluated."""
    return Check(
        **{
            "gate": Gate.DATA,
            "name": "data",
            "verdict": verdict,
            "reasons": (kinds.Failed(words),),
            **fields,
        }
    )


def agent(name="agent", metrics=None, **fields):
    """Make the numbers of an agent over 40 tasks of two rollouts each."""
    metrics = metrics or {"pass@1": 0.7}
    return AgentResult(
        **{
            "agent": name,
            "tasks": 40,
            "rollouts": 80,
            "missing": 0,
            "estimates": {
                key: estimate(key, value, None) for key, value in metrics.items()
            },
            "key_metrics": metrics,
            **fields,
        }
    )


def benchmark(*checks, name="math", agents=None, **fields):
    """Make a benchmark of one agent with checks."""
    if agents is None:
        agents = (agent(),)
    return BenchmarkResult(
        **{
            "id": f"a.yaml::{name}",
            "name": name,
            "description": "",
            "file": "a.yaml",
            "line": 3,
            "agents": agents,
            "checks": checks,
            **fields,
        }
    )


def run(*benchmarks, **fields):
    """Make the report of a run."""
    return RunReport(benchmarks=benchmarks, **fields)
