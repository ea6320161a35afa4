"""The formats that come with the package, and how a file of each is recognised.

A format's loader is imported only where a file is of that format.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.registry import loaders
from pytest_evalmetrics.rollouts.format_keys import (
    DEEPEVAL_CASES,
    DEEPEVAL_METRICS,
    HARBOR_JOB,
    HARBOR_TRIAL,
    LM_EVAL_RESULTS,
    PROMPTFOO_ROW,
    csv_separator,
    sets,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.rollouts.loader import LoaderFactory
    from pytest_evalmetrics.rollouts.source import Source

# rows with it are NeMo Gym's, although verifiers' look alike
_NEMO_GYM: Final = "_ng_task_index"
_ZIP_MEMBER: Final = 30  # where a zip's first member has its name
_LOG_MEMBERS: Final = (
    b"_journal/",
    b"header.json",
    b"reductions.json",
    b"samples/",
    b"summaries",
)
_is_csv_name = re.compile(r".+\.[ct]sv(\.gz|\.zst)?").fullmatch
_is_column_name = re.compile(r'"?[\w .:/%@#()*+-]+"?').fullmatch


class Format(msgspec.Struct, frozen=True):
    """One format: its name, what imports its loader, and how its files look."""

    name: str
    load: Callable[[], LoaderFactory]
    keys: tuple[frozenset[str], ...] = ()  # a file has all the keys of one of these,
    shown_by: Callable[[Source], bool] | None = None  # or this is true of it

    def recognises(self, source: Source) -> bool:
        """Check whether a file looks like one of this format."""
        has_keys = any(source.keys >= keys for keys in self.keys)
        if has_keys and _NEMO_GYM not in source.keys:
            return True
        return self.shown_by is not None and self.shown_by(source)


def recognise(source: Source) -> Format:
    """Detect a file's format by its content; the last format accepts anything."""
    return next(known for known in FORMATS if known.recognises(source))


def find_loader(name: str | None, source: Source) -> LoaderFactory:
    """Find the loader of a format; one is recognised by the file's content without a name."""
    if name is None:
        return recognise(source).load()
    loader: LoaderFactory = loaders.find(name).target
    return loader


def _is_log_archive(source: Source) -> bool:
    return source.is_zip and source.head[_ZIP_MEMBER:].startswith(_LOG_MEMBERS)


def _is_trials_folder(source: Source) -> bool:
    if not source.is_folder:
        return False
    from pytest_evalmetrics.rollouts.loaders.harbor import (
        is_trials_folder,  # for a folder
    )

    return is_trials_folder(source.path)


def _is_csv(source: Source) -> bool:
    """Take text called so, or of several names on the first line and as many cells on the next."""
    if source.head[:1] in (b"{", b"[", b""):
        return False
    if _is_csv_name(source.path.name):
        return True
    try:
        lines = source.head.decode().splitlines()[:2]
        names, cells = [line for line in lines if line.strip()]
    except ValueError:  # no text, or less than two lines
        return False
    separator = csv_separator(names)
    columns = [name.strip() for name in names.split(separator)]
    if len(columns) < 2 or len(set(columns)) < len(columns):
        return False
    if not all(map(_is_column_name, columns)):
        return False
    ends_in_quotes = cells.count('"') % 2 == 1
    return ends_in_quotes or _count_cells(cells, separator) == len(columns)


def _count_cells(line: str, separator: str) -> int:
    import csv  # for what is not JSON

    return len(next(csv.reader([line], delimiter=separator), []))


def _is_json_document(source: Source) -> bool:
    return source.is_array or source.is_objects


_INSPECT_AI: Final = sets("eval.task eval.model")
_LM_EVAL: Final = (*sets("doc_id doc filtered_resps"), *LM_EVAL_RESULTS)
_PROMPTFOO: Final = (
    PROMPTFOO_ROW,
    *sets("results.results", "results.version results.prompts"),
)
_TRACES: Final = sets("traces task.key", "traces task.hash", "traces task.data")
_VERIFIERS: Final = sets(
    "prompt completion reward example_id",
    *(f"prompt completion reward id {key}" for key in ("task", "info", "answer")),
)
_DEEPEVAL: Final = sets(
    *(
        f"{cases} {key}"
        for cases in DEEPEVAL_CASES
        for key in ("testPassed", "metricsScores")
    ),
    *(f"{cases}.{metrics}" for cases in DEEPEVAL_CASES for metrics in DEEPEVAL_METRICS),
)
_PYDANTIC_EVALS: Final = sets(
    "name cases cases.scores cases.assertions cases.task_duration",
    "name cases failures.error_message failures.error_stacktrace",
    "name cases failures analyses",
)
_SWE_BENCH: Final = sets("resolved_ids unresolved_ids")
_EVALPLUS: Final = sets("eval hash date")
_BFCL: Final = sets("accuracy correct_count total_count")
_HELM: Final = sets(
    "instance_id train_trial_index stats.name",
    # the statistics over all instances, which the loader refuses
    "name.name name.split sum_squared",
)
_NEMO_EVALUATOR: Final = sets(
    "problem_idx repeat reward scoring_details",
    # the bundle of a run, which the loader refuses
    "config_hash sdk_version benchmark.scores",
)
_EVERY_EVAL_EVER: Final = sets(
    "schema_version evaluation_id sample_id evaluation.score",
    "schema_version evaluation_id evaluation_results model_info",
)
_OPIK: Final = sets("test_results.test_case test_results.score_results")
_PHOENIX: Final = sets("experiment_id task_runs evaluation_runs")
_MLFLOW_TRACES: Final = sets("info.trace_id data.spans", "info.request_id data.spans")
_LANGFUSE: Final = sets(
    "data.traceId data.name data.dataType meta",
    "data.subject data.name data.dataType meta",
    # version 3 without `fields=subject`, which the loader refuses
    "data.projectId data.name data.dataType data.environment meta.limit",
)
# -- the loaders, each imported where a file is of its format ---------------------------------


def _inspect_ai() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.inspect_ai import InspectAi

    return InspectAi


def _harbor() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.harbor import Harbor

    return Harbor


def _lm_eval() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.lm_eval import LmEval

    return LmEval


def _promptfoo() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.promptfoo import Promptfoo

    return Promptfoo


def _verifiers_traces() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.verifiers import VerifiersTraces

    return VerifiersTraces


def _verifiers() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.verifiers import Verifiers

    return Verifiers


def _deep_eval() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.deepeval import DeepEval

    return DeepEval


def _pydantic_evals() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.pydantic_evals import PydanticEvals

    return PydanticEvals


def _swe_bench() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.swebench import SweBench

    return SweBench


def _eval_plus() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.evalplus import EvalPlus

    return EvalPlus


def _bfcl() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.bfcl import Bfcl

    return Bfcl


def _helm() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.helm import Helm

    return Helm


def _nemo_evaluator() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.nemo_evaluator import NemoEvaluator

    return NemoEvaluator


def _every_eval_ever() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.every_eval_ever import EveryEvalEver

    return EveryEvalEver


def _opik() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.opik import Opik

    return Opik


def _phoenix() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.phoenix import Phoenix

    return Phoenix


def _mlflow_traces() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.mlflow import MlflowTraces

    return MlflowTraces


def _langfuse() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.loaders.langfuse import Langfuse

    return Langfuse


def _parquet() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.parquet import Parquet

    return Parquet


def _arrow() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.parquet import Arrow

    return Arrow


def _csv() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.tabular import Csv

    return Csv


def _json_array() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.json_files import JsonArray

    return JsonArray


def _json_lines() -> LoaderFactory:
    from pytest_evalmetrics.rollouts.json_files import JsonLines

    return JsonLines


# tried in this order; the last one reports what is wrong with an unrecognised file
FORMATS: Final = (
    Format("inspect_ai", _inspect_ai, _INSPECT_AI, _is_log_archive),
    Format("harbor", _harbor, (HARBOR_TRIAL, HARBOR_JOB), _is_trials_folder),
    Format("lm_eval", _lm_eval, _LM_EVAL),
    Format("promptfoo", _promptfoo, _PROMPTFOO),
    Format("verifiers_traces", _verifiers_traces, _TRACES),
    Format("verifiers", _verifiers, _VERIFIERS),
    Format("deepeval", _deep_eval, _DEEPEVAL),
    Format("pydantic_evals", _pydantic_evals, _PYDANTIC_EVALS),
    Format("swe_bench", _swe_bench, _SWE_BENCH),
    Format("evalplus", _eval_plus, _EVALPLUS),
    Format("bfcl", _bfcl, _BFCL),
    Format("helm", _helm, _HELM),
    Format("nemo_evaluator", _nemo_evaluator, _NEMO_EVALUATOR),
    Format("every_eval_ever", _every_eval_ever, _EVERY_EVAL_EVER),
    Format("opik", _opik, _OPIK),
    Format("phoenix", _phoenix, _PHOENIX),
    Format("mlflow_traces", _mlflow_traces, _MLFLOW_TRACES),
    Format("langfuse", _langfuse, _LANGFUSE),
    Format("parquet", _parquet, (), lambda source: source.head.startswith(b"PAR1")),
    Format("arrow", _arrow, (), lambda source: source.head.startswith(b"ARROW1")),
    Format("csv", _csv, (), _is_csv),
    Format("json", _json_array, (), _is_json_document),
    Format("jsonl", _json_lines, (), lambda _: True),
)


def _builtin_loaders(name: str | None) -> dict[str, LoaderFactory]:
    return {known.name: known.load() for known in FORMATS if name in (None, known.name)}


loaders.offer(_builtin_loaders)
