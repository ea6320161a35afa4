"""The committed baseline of one item: read, compared, and written where a run updates.

It is written only by ``--snapshot-update``, from an evaluation that is complete; and deleted only
by ``--evalmetrics-delete-unused``, see `unused`.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from syrupy.assertion import SnapshotAssertion

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.document import render
from pytest_evalmetrics.baselines.extension import BaselineExtension, BaselineLocation
from pytest_evalmetrics.baselines.naming import baseline_file, shown_below
from pytest_evalmetrics.baselines.reading import parse, stamped, text_of, values
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    import pytest

    from pytest_evalmetrics.baselines.document import Document
    from pytest_evalmetrics.results import BenchmarkResult

__all__ = ["Store"]


class Store:
    """The baseline of one item.

    Parameters
    ----------
    item
        The benchmark's item, or the test that checks it; has an ``obj``, as syrupy expects.
    name
        The benchmark's name, where the item is a test.
    """

    def __init__(self, item: pytest.Item, name: str = "") -> None:
        self._session = getattr(item.config, "_syrupy", None)
        self._option = item.config.option
        self.path = baseline_file(item.path, name or item.name)
        self._location = BaselineLocation(item, name, str(self.path))
        self._assertion: SnapshotAssertion | None = None
        self._unusable = (
            _no_syrupy(item.config)
            if self._session is None
            else (Declared.of(item.config).trouble(item.path, name or item.name), None)
        )
        marked = any(map(_may_hold, item.iter_markers("xfail")))
        self._is_known_to_fail = marked and not item.config.getoption("runxfail", default=False)
        self.shown = shown_below(self.path, item.config.rootpath)
        self.rows_path = self.path.with_name(f"{self.path.stem}.rows.jsonl.gz")

    @property
    def is_asked_to_update(self) -> bool:
        """Whether the user asks this run to write the baseline."""
        if self._session is None:
            return False
        new_only = self._option.update_new_snapshots_only and not os.path.lexists(self.path)
        return bool(self._option.update_snapshots or new_only)

    @property
    def updates(self) -> bool:
        """Whether this run writes the baseline, if its evaluation is complete."""
        return self.is_asked_to_update and not self._is_known_to_fail and not self._unusable[0]

    def watch(self) -> None:
        """Let syrupy look for orphans, whatever becomes of the evaluation."""
        if self._session is not None:
            self._assertion = SnapshotAssertion(
                session=self._session,
                extension_class=BaselineExtension,
                test_location=self._location,
                update_snapshots=self.updates,
            )

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and how its file is called; None without a baseline.

        Raises
        ------
        BaselineError
            If it can't be read, is not this benchmark's alone, or syrupy is switched off.
        """
        what, hint = self._unusable
        if what:
            raise BaselineError(what, hint=hint)
        text = text_of(self.path, self.shown)
        return None if text is None else (text, self.shown)

    def read_rows(self) -> bytes | None:
        """Return the rows that the baseline keeps, compressed; None where there are none."""
        try:
            return self.rows_path.read_bytes()
        except OSError:
            return None

    def settle(
        self, result: BenchmarkResult, found: Document | None, rows: bytes | None = None
    ) -> BenchmarkResult:
        """Let syrupy count the outcome, and write the baseline where this run updates.

        Parameters
        ----------
        result
            What came out.
        found
            The baseline that this run would record; None where it must not.
        rows
            The rows that it keeps, compressed.

        Returns
        -------
        BenchmarkResult
            It, told what was recorded, or why not.
        """
        if self._assertion is None or self._unusable[0]:
            return result
        if self.updates:
            if found is None:
                return self._refuse(result)
            changed = self._dropped(result)
            return changed if changed is not None else self._record(result, found, rows)
        if found is not None:
            judged = [c.verdict for c in result.checks if c.gate == "baseline"]
            self._compare("", holds=not any(verdict.fails for verdict in judged))
        if self.is_asked_to_update:
            note = "its baseline is as it was: what is known to fail (xfail) is not recorded"
            return replace(result, notes=(*result.notes, note))
        return result

    def _record(
        self, result: BenchmarkResult, found: Document, rows: bytes | None
    ) -> BenchmarkResult:
        before, old = self._old()
        new = stamped({**found, "provenance": {"recorded": _now(), **found["provenance"]}})
        if old is not None and _but_when(old) == _but_when(new):
            new["provenance"]["recorded"] = old["provenance"].get("recorded")
        text = render(new)
        failure = self._keep_rows(old, new, rows) or self._assert(text, holds=text == before)
        if failure is not None:
            return _with_check(
                result,
                f"{self.shown}: this baseline can't be written: {_why(failure)}",
                "give the right or the room to write there; what was there is as it was",
            )
        recorded = {
            "file": self.shown,
            "written": text != before,
            "metrics": _changes(old, new),
        }
        return replace(result, recorded=recorded)

    def _keep_rows(self, old: Document | None, new: Document, rows: bytes | None) -> OSError | None:
        """Write the rows whole or not at all; those that are there already keep their bytes."""
        try:
            if rows is None:
                if old is not None and "rows" in old["provenance"]:
                    self.rows_path.unlink(missing_ok=True)
                return None
            same = old is not None and old["provenance"].get("rows") == new["provenance"]["rows"]
            if same and self.rows_path.exists():
                return None
            self.rows_path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.rows_path.with_name(f".{temporary_name()}.tmp")
            temporary.write_bytes(rows)
            temporary.replace(self.rows_path)
        except OSError as error:
            return error
        return None

    def _dropped(self, result: BenchmarkResult) -> BenchmarkResult | None:
        """Refuse to drop or replace tasks of the old baseline, unless the user accepts it."""
        if self._option.evalmetrics_accept_tasks:
            return None
        reasons = [
            f"{check.agent}: {check.reason}" if check.agent else check.reason
            for check in result.checks
            if check.evidence.get("task_list")
            and (check.evidence["lost"]["count"] or check.evidence["edited"]["count"])
        ]
        if not reasons:
            return None
        return _with_check(
            result,
            "no baseline was recorded, because it would drop tasks: " + "; ".join(reasons),
            "run all tasks; or, where the change is intended, add --evalmetrics-accept-tasks",
        )

    def _refuse(self, result: BenchmarkResult) -> BenchmarkResult:
        reasons = [
            check.reason
            for check in result.checks
            if check.gate in ("data", "expect") and check.verdict.fails
        ]
        return _with_check(
            result,
            "no baseline was recorded, because this evaluation is not complete"
            + (f": {reasons[0]}" if reasons else ""),
            "complete the run first; or say in `expect:` what is missing on purpose",
        )

    def _old(self) -> tuple[str | None, Document | None]:
        """Return what is there, as text and as a baseline: what is broken is replaced."""
        text = None
        try:
            read = self.read()
            text = None if read is None else read[0]
            return text, None if text is None else parse(text, file=self.shown)
        except BaselineError:
            return text, None

    def _assert(self, text: str, *, holds: bool) -> Exception | None:
        with warnings.catch_warnings():
            # syrupy 7.0.0 looks for the name of the test in that of the file that it writes
            warnings.filterwarnings("ignore", message=r"\s*Can not relate snapshot")
            return self._compare(text, holds=holds)

    def _compare(self, text: str, *, holds: bool) -> Exception | None:
        assertion = cast("SnapshotAssertion", self._assertion)
        cast("BaselineExtension", assertion.extension).holds = holds
        _ = assertion == text  # compares, and writes; `assert` would explain two large texts
        told = assertion.executions[assertion.num_executions - 1]
        told.asserted_data = None  # which syrupy would keep until the end of the run
        return told.exception


def _may_hold(mark: pytest.Mark) -> bool:
    """Whether a mark may apply: only where each of its conditions is plainly false it does not."""
    conditions = [*mark.args, *([mark.kwargs["condition"]] if "condition" in mark.kwargs else [])]
    return not conditions or any(c is not False for c in conditions)


def _no_syrupy(config: pytest.Config) -> tuple[str, str]:
    hint = "drop `-p no:syrupy`, or set `baseline: false` for this benchmark"
    if config.pluginmanager.has_plugin("snapshot"):
        hint = (
            "pytest-snapshot has an option --snapshot-update too: switch it off instead, with "
            "`-p no:snapshot`"
        )
    return "baselines are kept through syrupy, which is switched off", hint


def _with_check(result: BenchmarkResult, reason: str, hint: str) -> BenchmarkResult:
    check = Check("baseline", "baseline", Verdict.INCONCLUSIVE, reason=reason, hint=hint)
    return replace(result, checks=(*result.checks, check))


def _changes(old: Document | None, new: Document) -> dict[str, list[Any]]:
    """Say of each metric what it was and what it is; None where there is none."""
    before = {} if old is None else {agent: values(old, agent) for agent in old["agents"]}
    after = {agent: values(new, agent) for agent in new["agents"]}
    if len(before) == len(after) == 1:  # it may have been renamed
        before = dict(zip(after, before.values(), strict=True))
    agents = dict.fromkeys((*after, *before))
    changes = {}
    for agent in agents:
        was, now = before.get(agent, {}), after.get(agent, {})
        for name in dict.fromkeys((*now, *was)):
            shown = f"{agent}: {name}" if len(agents) > 1 else name
            changes[shown] = [was.get(name), now.get(name)]
    return changes


def _but_when(doc: Document) -> dict[str, Any]:
    provenance = {k: v for k, v in doc["provenance"].items() if k != "recorded"}
    return {**doc, "provenance": provenance}


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
