"""A baseline, and the text of its file.

The file is made for reading in a pull request: key metrics first, then one line per task
with its scores, then where it all came from. The same run gives the same bytes. A file that
is read back is trusted in nothing.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import one_per_line, spaced
from pytest_evalmetrics.model.baseline import (
    SCHEMA_VERSION,
    AgentDocument,
    BaselineDocument,
    BehaviourDocument,
    Cell,
    Cells,
    MetricDocument,
    Provenance,
)
from pytest_evalmetrics.model.rollout_table import MISSING, RolloutTable
from pytest_evalmetrics.spec.metric_names import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.results import AgentResult

# floats above it skip whole numbers
_WHOLE = 2**53
_RECORD = "record a new one with `pytest --evalmetrics-update`"
_TAKE_AGAIN = f"take it from version control again, or {_RECORD}"


def baseline_document(
    benchmark: str, agents: Mapping[str, AgentDocument], provenance: Provenance
) -> BaselineDocument:
    """Put a baseline together, whatever the order in which rows name their agents."""
    return BaselineDocument(
        benchmark=benchmark,
        agents=dict(sorted(agents.items())),
        provenance=provenance,
    )


# -- from a run ------------------------------------------------------------------------------


@collector_paused()
def agent_document(
    result: AgentResult,
    table: RolloutTable,
    columns: Iterable[str],
    *,
    gated: Sequence[str] = (),
) -> AgentDocument:
    """Describe one agent's run, with `columns` of each rollout; `gated` metrics come first."""
    gated_estimates = [result.estimates[name] for name in gated]
    reduced = {estimate.score for estimate in gated_estimates}
    fields_of_groups = fields_of(gated) - reduced
    cells: dict[str, tuple[Cell, ...]] = {}
    for name in columns:
        cells[name] = _cells(table, name, as_labels=name in fields_of_groups)
    tasks: dict[str, dict[str, Cells]] = {}
    bounds = pairwise(table.offsets.tolist())
    for task, (start, stop) in zip(table.tasks, bounds, strict=True):
        tasks[str(task)] = {name: column[start:stop] for name, column in cells.items()}
    return AgentDocument(
        key_metrics=_key_metrics(result, gated_estimates),
        tasks=tasks,
        ids="positions" if table.positional else None,
        content=_content(table),
    )


def _key_metrics(
    result: AgentResult, gated: Sequence[Estimate]
) -> dict[str, MetricDocument]:
    """Describe the gated metrics, then the other key metrics by name."""
    values_by_name = {estimate.name: estimate.value for estimate in gated}
    for name in sorted(result.key_metrics):
        values_by_name.setdefault(name, result.key_metrics[name])
    return {
        name: _metric(value, result.estimates.get(name))
        for name, value in values_by_name.items()
    }


def _metric(value: float, estimate: Estimate | None) -> MetricDocument:
    if estimate is None:
        return MetricDocument(value=_number(value))
    interval = None
    if estimate.interval is not None:
        low = _six_digits(estimate.interval.low)
        high = _six_digits(estimate.interval.high)
        interval = (low, high)
    return MetricDocument(
        value=_number(value),
        tasks=estimate.tasks,
        rollouts=estimate.rollouts,
        interval=interval,
    )


def _content(table: RolloutTable) -> dict[str, str] | None:
    hashes = table.contents
    if hashes is None:
        return None
    names = [str(task) for task in table.tasks]
    return dict(zip(names, hashes.astype(str).tolist(), strict=True))


def _cells(table: RolloutTable, name: str, *, as_labels: bool) -> tuple[Cell, ...]:
    """Write a column: numbers, or labels where groups have them or not all are numbers."""
    category = table.categories.get(name)
    scores = None if as_labels else table.scores.get(name)
    if scores is not None and (category is None or not np.isnan(scores).any()):
        return _plain_numbers(scores)
    if category is None:
        raise KeyError(f"the table has no column {name!r}")
    labels = [None if label == MISSING else label for label in category.labels]
    return tuple([labels[code] for code in category.codes.tolist()])


def _plain_numbers(column: NDArray[np.float64]) -> tuple[float | None, ...]:
    """Convert a column for JSON: whole numbers to integers, missing values to None."""
    finite = np.isfinite(column)
    whole = finite & (np.trunc(column) == column) & (np.abs(column) < _WHOLE)
    if whole.all():
        return tuple(column.astype(np.int64).tolist())
    plain = column.astype(object)
    plain[whole] = column[whole].astype(np.int64)
    plain[~finite] = None
    return tuple(plain.tolist())


def _number(value: float) -> float | None:
    """Convert a value for JSON: a whole number to an integer, a non-finite one to None."""
    if not math.isfinite(value):
        return None
    is_whole = value == int(value) and abs(value) < _WHOLE
    return int(value) if is_whole else value


def as_written(cell: Cell) -> Cell:
    """Return a cell as a run writes it, where it was read back as a float."""
    return _number(cell) if isinstance(cell, float) else cell


def _six_digits(value: float) -> float | None:
    return _number(float(f"{value:.6g}"))


# -- text ------------------------------------------------------------------------------------


@collector_paused()
def render(baseline: BaselineDocument) -> str:
    """Write a baseline as text: indented, but a metric, and a task, on one line."""
    head = {
        "schema_version": baseline.schema_version,
        "benchmark": baseline.benchmark,
    }
    head_lines = one_per_line(head, 0).removesuffix("\n}")
    agents = ",\n".join(
        f"    {spaced(name)}: {{\n      {_rendered_agent(agent)}\n    }}"
        for name, agent in baseline.agents.items()
    )
    provenance = json.dumps(
        msgspec.to_builtins(baseline.provenance),
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )
    indented = provenance.replace("\n", "\n  ")
    return (
        f'{head_lines},\n  "agents": {{\n{agents}\n  }},\n'
        f'  "provenance": {indented}\n}}\n'
    )


def _rendered_agent(agent: AgentDocument) -> str:
    metrics = msgspec.to_builtins(agent.key_metrics)
    parts = [
        f'"key_metrics": {one_per_line(metrics, 6)}',
        f'"tasks": {one_per_line(agent.tasks, 6)}',
    ]
    if agent.ids is not None:
        parts.append(f'"ids": {spaced(agent.ids)}')
    if agent.content is not None:
        parts.append(f'"content": {one_per_line(agent.content, 6)}')
    if agent.behaviour is not None:
        parts.append(f'"behaviour": {_rendered_behaviour(agent.behaviour)}')
    return ",\n      ".join(parts)


def _rendered_behaviour(behaviour: BehaviourDocument, indent: int = 8) -> str:
    """Write what rollouts do: a line a number, a tool, a task."""
    parts = [
        f'"summary": {one_per_line(behaviour.summary, indent)}',
        f'"shapes": {one_per_line(behaviour.shapes, indent)}',
        f'"columns": {spaced(behaviour.columns)}',
    ]
    if behaviour.texts:
        parts.append('"texts": true')
    if behaviour.zeros:
        parts.append(f'"zeros": {spaced(behaviour.zeros)}')
    parts.append(f'"tasks": {one_per_line(behaviour.tasks, indent)}')
    if behaviour.earlier:
        runs = ", ".join(
            _rendered_behaviour(run, indent + 2) for run in behaviour.earlier
        )
        parts.append(f'"earlier": [{runs}]')
    pad = " " * indent
    lines = f",\n{pad}".join(parts)
    return f"{{\n{pad}{lines}\n{pad[2:]}}}"


def text_of(path: Path, shown: str) -> str | None:
    """Read a baseline's file, called `shown` in messages; return None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        what = f"this baseline is not UTF-8: {error.reason} at byte {error.start}"
    except OSError as error:
        what = f"this baseline can't be read: {error.strerror or error}"
    raise BaselineError(what, file=shown, hint=_TAKE_AGAIN)


@collector_paused()
def parse(text: str, *, file: str, benchmark: str | None = None) -> BaselineDocument:
    """Read a baseline's text, of a given benchmark or of any."""
    try:
        baseline = msgspec.json.decode(text, type=BaselineDocument)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(text, error, file) from None
    if benchmark is not None and baseline.benchmark != benchmark:
        raise BaselineError(
            f"this is the baseline of {baseline.benchmark!r}, expected that of "
            f"{benchmark!r}",
            file=file,
            hint=(
                f"{_RECORD}; or, where the benchmark was renamed, rename it in this "
                "file too"
            ),
        )
    return baseline


def _unreadable(text: str, error: Exception, file: str) -> BaselineError:
    """Explain why a text is no baseline."""
    if "<<<<<<<" in text:
        return BaselineError(
            "this baseline holds the marks of a merge conflict",
            file=file,
            line=text.count("\n", 0, text.index("<<<<<<<")) + 1,
            hint=f"take one side of it from version control, or {_RECORD}",
        )
    if not text.strip():
        return BaselineError("this baseline is empty", file=file, hint=_TAKE_AGAIN)
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as broken:
        what = f"this baseline is not JSON: {broken}"
        return BaselineError(what, file=file, line=broken.lineno, hint=_TAKE_AGAIN)
    except (ValueError, RecursionError) as broken:
        what = f"this baseline is not JSON: {broken}"
        return BaselineError(what, file=file, hint=_TAKE_AGAIN)
    version = None
    if isinstance(parsed, dict):
        version = parsed.get("schema_version")
    if version in (None, SCHEMA_VERSION):
        return invalid(f"this is not a baseline: {error}", file)
    return BaselineError(
        f"this baseline has the schema version {version!r}, and {SCHEMA_VERSION} is known",
        file=file,
        hint=f"{_RECORD}, or use the version of pytest-evalmetrics that wrote it",
    )


def invalid(what: str, file: str) -> BaselineError:
    """Return the error of a baseline whose parts contradict each other."""
    hint = f"a baseline is not written by hand: {_RECORD}"
    return BaselineError(what, file=file, hint=hint)


# -- the digest that shows a later change ----------------------------------------------------


def as_read(baseline: BaselineDocument) -> BaselineDocument:
    """Return a baseline as it will be read back: each number a float."""
    data = msgspec.json.encode(baseline)
    return msgspec.json.decode(data, type=BaselineDocument)


@collector_paused()
def stamped(baseline: BaselineDocument) -> BaselineDocument:
    """Add a digest of the numbers, by which a later change of them is seen."""
    digest = _digest(as_read(baseline))
    provenance = structs.replace(baseline.provenance, digest=digest)
    return structs.replace(baseline, provenance=provenance)


@collector_paused()
def is_edited(baseline: BaselineDocument) -> bool:
    """Detect a baseline that changed after it was recorded, by hand or in a merge."""
    return baseline.provenance.digest != _digest(baseline)


def _digest(baseline: BaselineDocument) -> str:
    provenance = baseline.provenance
    covered = {
        "ruler": provenance.ruler,
        "under_test": provenance.under_test,
        "gates": provenance.gates,
        "rows": provenance.rows,
        "anchors": provenance.anchors,
    }
    present = {name: value for name, value in covered.items() if value is not None}
    data = msgspec.json.encode(baseline.agents, order="sorted")
    if present:
        data += msgspec.json.encode(present, order="sorted")
    return blake2b(data, digest_size=8).hexdigest()
