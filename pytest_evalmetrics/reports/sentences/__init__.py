"""The sentences about checks, for every reader: why, what is required, the way out.

They are made from a check's facts alone, and nothing reads them to learn a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.model.reasons import TaskListChanged, Unpassable
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Verdict

# the topics register the sentences of their reasons and notes
from pytest_evalmetrics.reports.sentences import behaviour as behaviour
from pytest_evalmetrics.reports.sentences import changes as changes
from pytest_evalmetrics.reports.sentences import completeness as completeness
from pytest_evalmetrics.reports.sentences import failures as failures
from pytest_evalmetrics.reports.sentences import gate_notes as gate_notes
from pytest_evalmetrics.reports.sentences import references as references
from pytest_evalmetrics.reports.sentences import rollout_notes as rollout_notes
from pytest_evalmetrics.reports.sentences import run_notes as run_notes
from pytest_evalmetrics.reports.sentences import scoring_notes as scoring_notes
from pytest_evalmetrics.reports.sentences import tasks as tasks
from pytest_evalmetrics.reports.sentences import thresholds as thresholds
from pytest_evalmetrics.reports.sentences.behaviour import (
    behaviour_details as behaviour_details,
)
from pytest_evalmetrics.reports.sentences.behaviour import (
    behaviour_sentence as behaviour_sentence,
)
from pytest_evalmetrics.reports.sentences.bounds import allowed_text as allowed_text
from pytest_evalmetrics.reports.sentences.bounds import bound_of as bound_of
from pytest_evalmetrics.reports.sentences.bounds import rule_text as rule_text
from pytest_evalmetrics.reports.sentences.comparisons import blind_text as blind_text
from pytest_evalmetrics.reports.sentences.comparisons import (
    change_sentence,
    remarks,
)
from pytest_evalmetrics.reports.sentences.comparisons import is_compared as is_compared
from pytest_evalmetrics.reports.sentences.comparisons import (
    names_metric as names_metric,
)
from pytest_evalmetrics.reports.sentences.comparisons import values_text as values_text
from pytest_evalmetrics.reports.sentences.dispatch import text_of as text_of
from pytest_evalmetrics.reports.sentences.failures import (
    attempt_sentence as attempt_sentence,
)
from pytest_evalmetrics.reports.sentences.failures import (
    drift_sentence as drift_sentence,
)
from pytest_evalmetrics.reports.sentences.references import place_of as place_of
from pytest_evalmetrics.reports.sentences.references import stale_text as stale_text
from pytest_evalmetrics.reports.sentences.ways_out import fixing, way_out

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import Check

_NAMED = 10  # tasks on a line


def reason_of(check: Check) -> str:
    """Say why a check does not hold, or what is worth knowing where it does."""
    unpassable = _unpassable_of(check)
    if unpassable is not None:
        return _unpassable(unpassable, check)
    texts = _sentences(check)
    if check.verdict is not Verdict.PASS:
        texts = [*_change(check), *texts]
    elif not check.accepted:
        texts += remarks(check)
    words = "; ".join(text for text in texts if text)
    if check.tier is Tier.ADVISORY:
        return f"advisory: {words}"
    return words


def hint_of(check: Check) -> str:
    """Give the way out of a check that does not hold; empty if there is none."""
    unpassable = _unpassable_of(check)
    if unpassable is not None:
        if not unpassable.task_count:
            return hint_of(_against_itself(check))
        fill = "set `expect: {missing_reward: 0.0}`"
        return f"complete and record the run again, or {fill}"
    if not check.verdict.fails:
        return ""
    if not check.reasons and check.comparison is not None:
        return fixing(check)
    for reason in check.reasons:
        way = way_out(reason, check)
        if way:
            return way
    return ""


def _sentences(check: Check) -> list[str]:
    """Write the reasons of a check; of an accepted one those of its task list alone."""
    return [
        text_of(reason, check.acceptance)
        for reason in check.reasons
        if not check.accepted or isinstance(reason, TaskListChanged)
    ]


def _unpassable_of(check: Check) -> Unpassable | None:
    """Return why a new baseline's own rows would not pass it; None where they would."""
    if check.reasons and isinstance(check.reasons[0], Unpassable):
        return check.reasons[0]
    return None


def _change(check: Check) -> list[str]:
    if check.comparison is None or not is_compared(check):
        return []
    return [change_sentence(check.name, check.comparison)]


def _unpassable(reason: Unpassable, check: Check) -> str:
    rest = reason_of(_against_itself(check))
    text = f"the same rows would not pass the baseline that this run records: {rest}"
    if reason.task_count:
        tasks = listed(reason.tasks, _NAMED, reason.task_count)
        text += f"; some rollouts of these tasks have no number: {tasks}"
    return text


def _against_itself(check: Check) -> Check:
    """Return the check of the new baseline's rows against themselves."""
    return structs.replace(
        check, verdict=Verdict.INCONCLUSIVE, reasons=check.reasons[1:]
    )
