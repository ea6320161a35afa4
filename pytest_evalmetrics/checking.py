"""The fixture ``evalmetrics``: a test's own numbers, gated as those of a benchmark file are."""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard, overload

from msgspec import structs

from pytest_evalmetrics.baselines.files import (
    benchmark_name,
    name_of_test,
    shown_below,
)
from pytest_evalmetrics.config import benchmark_in_python, load_benchmarks
from pytest_evalmetrics.errors import (
    CheckError,
    EvalMetricsError,
    GateFailed,
    did_you_mean,
)
from pytest_evalmetrics.items.inputs import AskedOf, names_for
from pytest_evalmetrics.items.runs import failure_of, run_benchmark
from pytest_evalmetrics.reports.failure import (
    below_the_call,
    failure_of_words,
    joined,
)
from pytest_evalmetrics.rollouts import table_in_memory
from pytest_evalmetrics.session.evaluation_session import session_of
from pytest_evalmetrics.session.item_reports import PAYLOADS
from pytest_evalmetrics.session.registration import let_register

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path
    from types import FrameType

    import pytest

    from pytest_evalmetrics.model.results import BenchmarkResult

_SHOWN = 8  # lines of a call
_NO_KEYS = (
    "self",
    "rewards",
    "name",
    "scores",
    "labels",
    "fail",
)  # of a benchmark file


class EvalMetrics:
    """Gates numbers from a test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._file = item.nodeid.partition("::")[0]  # as messages name it
        self._test = name_of_test(item)
        self._names: set[str | None] = set()
        item.stash.setdefault(PAYLOADS, [])
        session_of(item.config)
        let_register(item.config)

    def check(
        self,
        rewards: object,
        *,
        name: str | None = None,
        metrics: Sequence[str] | str | None = None,
        key_metrics: Sequence[str] | str | None = None,
        thresholds: Mapping[str, object] | None = None,
        baseline: bool | Mapping[str, object] | None = None,
        expect: Mapping[str, object] | None = None,
        num_samples: int | None = None,
        pass_threshold: float | None = None,
        pass_estimator: str | None = None,
        breakdown: Sequence[str] | str | None = None,
        cluster: str | None = None,
        independent: bool | None = None,
        scores: Mapping[str, object] | None = None,
        labels: Mapping[str, object] | None = None,
        tier: str | None = None,
        description: str | None = None,
        fail: bool = True,
    ) -> BenchmarkResult:
        """Reduce rewards to metrics, and gate them; the result is true where every gate holds.

        Parameters
        ----------
        rewards
            One sequence of numbers per task, a dict of task to numbers, an array of shape
            (tasks, samples), or flat, one number per task. None and NaN are missing.
        name
            Tells several checks of one test apart; names its entry and its baseline.
        metrics, key_metrics, thresholds, baseline, expect, num_samples, pass_threshold, \
pass_estimator, breakdown, cluster, independent, tier, description
            As in a benchmark file.
        scores
            Further scores by name, each of the form of `rewards`: for metrics such as
            ``mean/output_tokens``.
        labels
            Labels of tasks by field, one per task: for `breakdown` and `cluster`.
        fail
            Whether a gate that does not hold fails the test; else the result says so.

        Raises
        ------
        GateFailed
            A gate does not hold.
        DataError
            The numbers can't be reduced.
        CheckError, ConfigError
            The call means nothing: two checks of one name, an unknown metric, no numbers.
        """
        settings = {
            key: value
            for key, value in locals().items()
            if key not in _NO_KEYS and value is not None
        }
        __tracebackhide__ = True
        frame = self._caller(sys._getframe(1))  # noqa: SLF001 - the test's line
        try:
            label = self._claim(name)
            benchmark = benchmark_in_python(
                settings,
                name=benchmark_name(self._test, name),
                file=self._item.path,
                line=frame.f_lineno,
                shown=self._file,
            )
            table = table_in_memory(rewards, scores=scores, labels=labels)
            result = run_benchmark(
                self._item,
                benchmark,
                AskedOf(label=label, file=self._file, table=table),
            )
        except EvalMetricsError as error:
            raise _shown_at(frame, error, self._file) from None
        failure = self._failure_of(result)
        if fail and failure is not None:
            raise _shown_at(frame, failure, self._file)
        return result

    @overload
    def run(
        self, path: str | PathLike[str], name: None = None, *, fail: bool = True
    ) -> dict[str, BenchmarkResult]: ...

    @overload
    def run(
        self, path: str | PathLike[str], name: str, *, fail: bool = True
    ) -> BenchmarkResult: ...

    def run(
        self, path: str | PathLike[str], name: str | None = None, *, fail: bool = True
    ) -> dict[str, BenchmarkResult] | BenchmarkResult:
        """Evaluate the benchmarks of a file; their baselines are the test's own, beside its file.

        Parameters
        ----------
        path
            The benchmark file, relative to the test file.
        name
            One of its benchmarks, whose result is returned; else all results by name are.
        fail
            Whether a gate that does not hold fails the test; all of them are evaluated first.

        Raises
        ------
        EvalMetricsError
            As of `check`.
        """
        __tracebackhide__ = True
        frame = self._caller(sys._getframe(1))  # noqa: SLF001 - the test's line
        try:
            results = self._results_of(self._item.path.parent / path, name)
        except EvalMetricsError as error:
            raise _shown_at(frame, error, self._file) from None
        outcomes = [self._failure_of(result) for result in results.values()]
        failures = [failure for failure in outcomes if failure is not None]
        if fail and failures:
            raise _shown_at(frame, _together(failures), self._file)
        if name is None:
            return results
        return results[name]

    def _results_of(self, file: Path, name: str | None) -> dict[str, BenchmarkResult]:
        """Evaluate the benchmarks of a file, or one of them."""
        shown = shown_below(file.resolve(), self._item.config.rootpath)
        if not file.is_file():
            hint = "name it relative to the test file"
            raise CheckError(f"there is no benchmark file {shown}", hint=hint)
        with names_for(self._item, file):
            benchmarks = load_benchmarks(file, shown=shown, scorers_known=True)
        by_name = {benchmark.spec.name: benchmark for benchmark in benchmarks}
        if name is not None and name not in by_name:
            guess = did_you_mean(name, by_name, what="it has")
            raise CheckError(f"{shown} has no benchmark {name!r}: {guess}")
        names = list(by_name)
        if name is not None:
            names = [name]
        results = {}
        for checked in names:
            asked = AskedOf(label=self._claim(checked), file=shown)
            spec = by_name[checked].spec
            own = replace(spec, name=benchmark_name(self._test, checked))
            benchmark = structs.replace(by_name[checked], spec=own)
            results[checked] = run_benchmark(self._item, benchmark, asked)
        return results

    def _failure_of(self, result: BenchmarkResult) -> EvalMetricsError | None:
        return failure_of(result, self._item.nodeid, titled=True)

    def _claim(self, name: object) -> str:
        """Reserve a name for one check; return the label of its result."""
        if name is not None and not _names_a_check(name):
            raise CheckError(f"{name!r} can't name a check: expected text without '::'")
        if name in self._names:
            which = "without a name"
            if name is not None:
                which = f"named {name!r}"
            hint = 'give each its own: evalmetrics.check(..., name="hard")'
            raise CheckError(f"two checks of this test are {which}", hint=hint)
        self._names.add(name)
        if name is None:
            return self._item.nodeid
        return f"{self._item.nodeid}::{name}"

    def _caller(self, frame: FrameType) -> FrameType:
        """Find the frame of the test file, where a helper calls us."""
        outer: FrameType | None = frame
        while outer is not None and outer.f_code.co_filename != str(self._item.path):
            outer = outer.f_back
        return outer or frame


def _names_a_check(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and bool(name.strip()) and "::" not in name


def _together(failures: Sequence[EvalMetricsError]) -> EvalMetricsError:
    """Join failures in one error; of data that can't be judged if one is."""
    kind = type(failures[0])
    for failure in failures:
        if not isinstance(failure, GateFailed):
            kind = type(failure)
            break
    together = kind("\n\n".join(map(str, failures)))
    together.failure = joined(
        [failure.failure for failure in failures if failure.failure is not None]
    )
    return together


def _shown_at(frame: FrameType, error: EvalMetricsError, file: str) -> EvalMetricsError:
    """Have pytest show the test's call and our message, without the frames between them."""
    code = frame.f_code
    begins, ends, *_ = list(code.co_positions())[frame.f_lasti // 2]
    first = begins or frame.f_lineno
    last = min(ends or first, first + _SHOWN - 1)
    call = [
        f"> {linecache.getline(code.co_filename, n).rstrip()}"
        for n in range(first, last + 1)
    ]
    at = f"{file}:{frame.f_lineno}: in {code.co_name}"
    failure = error.failure or failure_of_words(str(error))
    error.failure = below_the_call([at, *call], failure)
    return error
