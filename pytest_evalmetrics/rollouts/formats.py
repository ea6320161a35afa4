"""The formats that come with the package, and how a file of each is recognised.

A format's loader is imported only where a file is of that format.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.rollouts.loader import LoaderFactory
    from pytest_evalmetrics.rollouts.source import Source

HARBOR_TRIAL: Final = frozenset({"task_name", "trial_name"})
HARBOR_JOB: Final = frozenset({"n_total_trials", "stats"})
LM_EVAL_SAMPLE: Final = frozenset({"doc_id", "doc", "filtered_resps"})
PROMPTFOO_ROW: Final = frozenset({"success", "score", "namedScores", "provider"})
DEEPEVAL_CASES: Final = ("testCases", "conversationalTestCases", "test_results")
DEEPEVAL_METRICS: Final = ("metricsData", "metrics_data", "metricsMetadata")
_DEEPEVAL: Final = frozenset(
    {
        *("testPassed", "metricsScores"),
        *(f"{case}.{metric}" for case in DEEPEVAL_CASES for metric in DEEPEVAL_METRICS),
    }
)
_PYDANTIC_EVALS: Final = (
    frozenset({"cases.scores", "cases.assertions", "cases.task_duration"}),
    frozenset({"failures.error_message", "failures.error_stacktrace"}),
    frozenset({"failures", "analyses"}),
)
_ZIP_MEMBER: Final = 30  # where a zip's first member has its name
_is_column_name = re.compile(r'"?[\w .:/%@#()*+-]+"?').fullmatch


class Format(msgspec.Struct, frozen=True):
    """One format: its name, its loader as ``module:class``, and whether a file looks like it."""

    name: str
    loader: str
    recognises: Callable[[Source], bool]

    def load(self) -> LoaderFactory:
        """Import the loader."""
        module, _, name = self.loader.partition(":")
        loader: LoaderFactory
        loader = getattr(import_module(f"pytest_evalmetrics.rollouts.{module}"), name)
        return loader


def recognise(source: Source) -> Format:
    """Find a file's format by its content; the last one takes what is left."""
    return next(each for each in FORMATS if each.recognises(source))


def is_lm_eval_results(keys: frozenset[str]) -> bool:
    """Whether these are the keys of lm-evaluation-harness's results, without samples."""
    return "results" in keys and bool(keys & {"configs", "n-shot", "group_subtasks"})


def csv_separator(line: str) -> str:
    """Choose the separator of a CSV file's cells by its first line."""
    return max(",\t;", key=line.count)


def _is_inspect_ai(source: Source) -> bool:
    if not source.is_zip:
        return {"eval.task", "eval.model"} <= source.keys
    if source.head[_ZIP_MEMBER:].startswith((b"_journal/", b"header.json", b"samples/")):
        return True
    from pytest_evalmetrics.rollouts.inspect_ai import is_log_archive  # noqa: PLC0415 - for a zip

    return is_log_archive(source)


def _is_harbor(source: Source) -> bool:
    if not source.is_folder:
        return source.keys >= HARBOR_TRIAL or source.keys >= HARBOR_JOB
    from pytest_evalmetrics.rollouts.harbor import is_trials_folder  # noqa: PLC0415 - for a folder

    return is_trials_folder(source.path)


def _is_promptfoo(source: Source) -> bool:
    return (
        source.keys >= PROMPTFOO_ROW
        or "results.results" in source.keys
        or {"results.version", "results.prompts"} <= source.keys
    )


def _is_verifiers(source: Source) -> bool:
    keys = source.keys
    named = "example_id" in keys or ("id" in keys and bool(keys & {"task", "info", "answer"}))
    return keys >= {"prompt", "completion", "reward"} and named and "_ng_task_index" not in keys


def _is_csv(source: Source) -> bool:
    """Take text whose first line is of several names, and whose second has as many cells."""
    if source.head[:1] in (b"{", b"[", b""):
        return False
    import csv  # noqa: PLC0415 - for what is no JSON

    try:
        names, cells = (line for line in source.head.decode().splitlines()[:2] if line.strip())
    except ValueError:  # no text, or less than two lines
        return False
    separator = csv_separator(names)
    columns = [name.strip() for name in names.split(separator)]
    return (
        len(columns) > 1
        and len(set(columns)) == len(columns)
        and all(map(_is_column_name, columns))
        and (
            len(next(csv.reader([cells], delimiter=separator), [])) == len(columns)
            or cells.count('"') % 2 == 1
        )
    )


def _is_lm_eval(source: Source) -> bool:
    return source.keys >= LM_EVAL_SAMPLE or is_lm_eval_results(source.keys)


def _is_verifiers_traces(source: Source) -> bool:
    return "traces" in source.keys and bool(source.keys & {"task.key", "task.hash", "task.data"})


def _is_deepeval(source: Source) -> bool:
    return not source.keys.isdisjoint(DEEPEVAL_CASES) and not source.keys.isdisjoint(_DEEPEVAL)


def _is_pydantic_evals(source: Source) -> bool:
    return {"name", "cases"} <= source.keys and any(source.keys >= s for s in _PYDANTIC_EVALS)


# tried in this order; what is wrong with a file of no other format is told by the last
FORMATS: Final = (
    Format("inspect_ai", "inspect_ai:InspectAi", _is_inspect_ai),
    Format("harbor", "harbor:Harbor", _is_harbor),
    Format("lm_eval", "lm_eval:LmEval", _is_lm_eval),
    Format("promptfoo", "promptfoo:Promptfoo", _is_promptfoo),
    Format("verifiers_traces", "verifiers:VerifiersTraces", _is_verifiers_traces),
    Format("verifiers", "verifiers:Verifiers", _is_verifiers),
    Format("deepeval", "deepeval:DeepEval", _is_deepeval),
    Format("pydantic_evals", "pydantic_evals:PydanticEvals", _is_pydantic_evals),
    Format("parquet", "parquet:Parquet", lambda source: source.head.startswith(b"PAR1")),
    Format("arrow", "parquet:Arrow", lambda source: source.head.startswith(b"ARROW1")),
    Format("csv", "tabular:Csv", _is_csv),
    Format("json", "json_files:JsonArray", lambda source: source.is_array),
    Format("jsonl", "json_files:JsonLines", lambda source: not source.is_array),
)
