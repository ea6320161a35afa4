"""Gates made by hand: metrics on both sides, and the checks that come of them."""

from comparison.making import rule
from msgspec.structs import replace

from pytest_evalmetrics.comparison import ComparisonInput
from pytest_evalmetrics.gates.regression import Gated, check_regression


def checked(
    pair,
    settings=None,
    *,
    clusters=None,
    min_coverage=0.9,
    benchmarks=1,
    runs=None,
    independent=None,
    run_noise=None,
    **gated,
):
    """Judge one metric; `gated` are further fields of what is gated."""
    pair = pair if clusters is None else replace(pair, clusters=clusters)
    compared = ComparisonInput(
        pair=pair,
        rule=settings or rule(),
        gate_id="g",
        runs=runs,
        independent=independent,
        run_noise=run_noise,
    )
    (check,) = check_regression(
        [Gated(compared=compared, min_coverage=min_coverage, **gated)],
        benchmarks=benchmarks,
    )
    return check


def several(pairs, rules=None, *, ids=None, look=None, independent=None):
    """Judge several metrics together; those of one agent have one id."""
    rules = rules or [rule()] * len(pairs)
    ids = ids or ["g"] * len(pairs)
    compared = [
        ComparisonInput(
            pair=pair, rule=settings, gate_id=gate_id, independent=independent
        )
        for pair, settings, gate_id in zip(pairs, rules, ids, strict=True)
    ]
    return check_regression([Gated(compared=one) for one in compared], look=look)
