"""Behaviour of a benchmark's agents: observed in their rows, compared and judged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import metrics
from pytest_evalmetrics.behaviour import (
    compare_behaviour,
    described,
    observed_of,
    recorded,
)
from pytest_evalmetrics.behaviour.changes import ALPHA, Sides, pooled
from pytest_evalmetrics.behaviour.columns import Observer, OwnFeature
from pytest_evalmetrics.behaviour.distances import distance_of
from pytest_evalmetrics.behaviour.gate import (
    GateTerms,
    as_recorded,
    check_changes,
    check_rollouts,
)
from pytest_evalmetrics.errors import DataError, RegistryError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.model.behaviour import BehaviourFacts, ScoreChange
from pytest_evalmetrics.model.gate_notes import (
    NoRecordedBehaviour,
    OtherFormOfAnswers,
    SampledBehaviour,
    UnreadTranscripts,
)
from pytest_evalmetrics.model.rollout_table import pool
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.comparing import gated_tasks
from pytest_evalmetrics.pipeline.gate_settings import acceptance_of, settings_of
from pytest_evalmetrics.pipeline.reducing import without
from pytest_evalmetrics.rollouts.recorded import NoRecordsError, records_at
from pytest_evalmetrics.transcripts import turns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.behaviour.distances import Distance
    from pytest_evalmetrics.model.comparison import Ints
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards
    from pytest_evalmetrics.pipeline.comparing import ComparisonTerms
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.pipeline.reducing import AgentRun, Reduced
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec
    from pytest_evalmetrics.spec.sources import FilesSpec, RunsSpec

# rollouts from which on a part of the tasks is observed: more are no surer, and slow
_MOST: Final = 6_000
_MOST_ANSWERS: Final = 3_000  # the same for answers
_HALF_A_POINT: Final = 0.005  # of a score that counts as the same


class BehaviourMeans(msgspec.Struct, frozen=True):
    """What a benchmark observes its rollouts with, found before anything is paid for."""

    own: tuple[OwnFeature, ...]  # the features that are not built in
    distance: Distance  # of answers


class Answers(msgspec.Struct, frozen=True):
    """How answers are compared, and what is kept of each."""

    distance: Distance
    # takes the secrets out of an answer that is kept as a text
    hide: Callable[[str], str] = str

    def kept(self, answer: str) -> str:
        """Return what is kept of an answer."""
        if self.distance.keeps_texts:
            answer = self.hide(answer)
        return self.distance.kept(answer)


class Observed(msgspec.Struct, frozen=True):
    """What the agents of a run do, in the tasks that were observed."""

    # by agent: the columns of behaviour, of these tasks alone
    tables: Mapping[str, RolloutTable]
    answers: Answers


class BehaviourOutcome(msgspec.Struct, frozen=True):
    """The behaviour of all agents beside the reference."""

    facts: tuple[BehaviourFacts, ...] = ()
    checks: tuple[Check, ...] = ()


# -- observe ---------------------------------------------------------------------------------


def means_of(benchmark: Benchmark, spec: BehaviourSpec) -> BehaviourMeans:
    """Find what a benchmark's rollouts are observed with; an error names its line."""
    own = tuple(_own_features(benchmark, spec))
    try:
        return BehaviourMeans(own, distance_of(spec))
    except (DataError, RegistryError) as error:
        key = "distance" if spec.embeddings is None else "embeddings"
        error.line = benchmark.line_of("behaviour", key)
        raise


def observe(
    loaded: Loaded, rows: Rows, spec: BehaviourSpec, means: BehaviourMeans
) -> Observed:
    """Read what each rollout does, from its row and what was answered."""
    # rules hold for each rollout, and need all of them
    table = loaded.table if spec.has_rules else _sampled(loaded.table)
    sketched = _sketched(table, _sizes(loaded.table))
    scoring = rows.prepared.scoring
    hide: Callable[[str], str] = str
    if scoring is not None:
        hide = scoring.hide
    answers = Answers(means.distance, hide)
    observer = Observer(len(table), means.own, sketched, answers.kept)
    with collector_paused(), suppress(NoRecordsError):
        for place, where, row in _placed(table, _rows_of(loaded, rows, table)):
            observer.observe(place, turns_of(row), where=where)
    return Observed(dict(observed_of(table, observer).by_agent()), answers)


def _sampled(table: RolloutTable) -> RolloutTable:
    """Choose the tasks that are compared: all, unless an agent has very many rollouts."""
    rows = _rows_within(table, _MOST, _sizes(table))
    return table if rows.all() else table.where(rows)


def _sketched(table: RolloutTable, sizes: Mapping[str, int]) -> set[int] | None:
    """Choose the rows whose answers are compared; None for all."""
    rows = _rows_within(table, _MOST_ANSWERS, sizes)
    return None if rows.all() else set(np.flatnonzero(rows).tolist())


def _sizes(table: RolloutTable) -> dict[str, int]:
    """Count the rollouts of each agent."""
    return {agent: len(part) for agent, part in table.by_agent()}


def _rows_within(
    table: RolloutTable, most: int, sizes: Mapping[str, int]
) -> NDArray[np.bool_]:
    """Choose about so many rows of each agent, whose whole run has a size; shape (rows,)."""
    rows = [
        _chosen(part, most, of=sizes[agent])[part.task]
        for agent, part in table.by_agent()
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *rows])


def _chosen(table: RolloutTable, most: int, *, of: int) -> NDArray[np.bool_]:
    """Choose tasks by a hash, shape (tasks,): so many rollouts `of` those of the run.

    They are the same on both sides, also where only their ids moved.
    """
    if of <= most:
        return np.ones(len(table.tasks), dtype=bool)
    level = int(2**64 * most / of)
    rows = np.zeros(len(table.tasks), dtype=np.int64)
    rows[table.task] = np.arange(len(table))
    contents = None
    if table.content is not None:
        contents = table.content[rows].tolist()
    keys = [str(task).encode("utf-8", "surrogatepass") for task in table.tasks]
    if contents is not None:
        keys = [held or key for held, key in zip(contents, keys, strict=True)]
    digests = [blake2b(key, digest_size=8).digest() for key in keys]
    return np.array([int.from_bytes(digest) <= level for digest in digests])


def _own_features(benchmark: Benchmark, spec: BehaviourSpec) -> list[OwnFeature]:
    """Find the features that are not built in."""
    from pytest_evalmetrics.registry import behaviours

    features: list[OwnFeature] = []
    for name in spec.own_features:
        try:
            found = behaviours.find(name)
        except RegistryError as error:
            key = "limits" if name in spec.limits else "features"
            error.line = benchmark.line_of("behaviour", key, name)
            raise
        features.append(OwnFeature(name, found.target))
    return features


def _rows_of(
    loaded: Loaded, rows: Rows, table: RolloutTable
) -> Iterator[tuple[int, str, Mapping[str, object]]]:
    """Yield the number of each row of a table, its place in the files, and the row."""
    scoring = rows.prepared.scoring
    if table.read_as is None:
        return
    wanted = set(table.read_as.tolist())
    if scoring is None:
        benchmark = loaded.benchmark
        yield from records_at(benchmark.spec.rows, benchmark.file.parent, wanted)
        return
    for row, _ in scoring.as_scored(wanted):
        yield row.index, row.where, {**row.item, **row.sample_data}


def _placed(
    table: RolloutTable, rows: Iterator[tuple[int, str, Mapping[str, object]]]
) -> Iterator[tuple[int, str, Mapping[str, object]]]:
    """Yield the rows with their places in a table in place of their numbers."""
    if table.read_as is None:
        return
    places = dict(zip(table.read_as.tolist(), range(len(table)), strict=True))
    for number, where, row in rows:
        yield places[number], where, row


# -- what a baseline keeps -------------------------------------------------------------------


def with_documents(reduced: Reduced, observed: Observed) -> Reduced:
    """Add what agents do to what their baseline would keep."""
    agents = []
    for agent in reduced.agents:
        table = observed.tables.get(agent.agent)
        document = agent.document
        if table is not None and document is not None:
            texts = observed.answers.distance.keeps_texts
            behaviour = described(_sampled(table), texts=texts)
            document = structs.replace(document, behaviour=behaviour)
        agents.append(structs.replace(agent, document=document))
    return structs.replace(reduced, agents=tuple(agents))


# -- compare and judge -----------------------------------------------------------------------


def judge(
    benchmark: Benchmark,
    observed: Observed,
    runs: Sequence[AgentRun],
    terms: ComparisonTerms | None,
    *,
    updates: bool,
    benchmarks: int,
) -> BehaviourOutcome:
    """Compare the behaviour of each agent with the reference, and check the rules.

    A run that `updates` the baseline shows the changes and asserts only the rules. So many
    `benchmarks` share the level of a false alarm.
    """
    spec = benchmark.spec.behaviour
    if spec is None:
        return BehaviourOutcome()
    before = {}
    if terms is not None:
        before = _recorded(benchmark, terms, observed.answers)
    facts: list[BehaviourFacts] = []
    checks: list[Check] = []
    for run in runs:
        now = _tasks_of(observed.tables[run.result.agent], run.table)
        sides = None
        if terms is not None:
            sides = _sides(benchmark, terms, run, now, before)
        gate_terms = GateTerms(
            spec=spec,
            agent=run.shown,
            line_of=benchmark.line_of,
            acceptance=acceptance_of(benchmark),
            alpha=ALPHA / (benchmarks * len(runs)),
        )
        checks += check_rollouts(gate_terms, now)
        if terms is not None:
            changes = check_changes(gate_terms, None if sides is None else sides.sides)
            if updates:
                changes = map(as_recorded, changes)
            checks += changes
        facts.append(_facts(run, now, sides, terms, observed.answers))
    return BehaviourOutcome(tuple(facts), tuple(checks))


def _tasks_of(table: RolloutTable, other: RolloutTable) -> RolloutTable:
    """Keep the tasks that another table has."""
    kept = set(map(str, other.tasks))
    return without(table, {str(task) for task in table.tasks} - kept)


def _facts(
    run: AgentRun,
    now: RolloutTable,
    sides: _AlignedSides | None,
    terms: ComparisonTerms | None,
    answers: Answers,
) -> BehaviourFacts:
    is_read = ~np.isnan(next(iter(now.scores.values())))
    facts = BehaviourFacts(
        agent=run.result.agent,
        rollouts=len(now),
        unread=int(np.count_nonzero(~is_read)),
        tasks=len(now.tasks),
        of_tasks=len(run.table.tasks),
        lacks_baseline=terms is not None and sides is None,
        acceptance=None if terms is None else terms.reference.acceptance,
    )
    if sides is None:
        return facts
    changes, churn = compare_behaviour(sides.sides, sides.scores, answers.distance)
    return structs.replace(
        facts,
        changes=changes,
        churn=churn,
        lacks_answers=terms is not None and _lacks_answers(terms, answers),
    )


def _lacks_answers(terms: ComparisonTerms, answers: Answers) -> bool:
    """Check whether the baseline keeps answers in the other form."""
    documents = terms.reference.behaviour.values()
    wanted = answers.distance.keeps_texts
    return any(document.texts is not wanted for document in documents)


class _AlignedSides(msgspec.Struct, frozen=True):
    """The behaviour on both sides, and the scores of the same rollouts."""

    sides: Sides
    scores: tuple[TaskRewards, TaskRewards] | None


def _sides(
    benchmark: Benchmark,
    terms: ComparisonTerms,
    run: AgentRun,
    now: RolloutTable,
    before: Mapping[str, Sequence[RolloutTable]],
) -> _AlignedSides | None:
    """Align the tasks of both sides; None if nothing is known of the reference."""
    counterpart = terms.reference.agent_for(run.result.agent, alone=not run.shown)
    if counterpart is None or counterpart not in before:
        return None
    runs = before[counterpart]
    whole = pooled(runs)
    then, _ = metrics.align(now, gated_tasks(terms, whole, run))
    reward = benchmark.spec.reward
    recorded_runs = terms.reference.runs[counterpart][-len(runs) :]
    table = _tasks_of(pool(recorded_runs), whole)
    current = _tasks_of(run.table, now)
    rewards, _ = metrics.align(current, gated_tasks(terms, table, run))
    scores = None
    if reward in rewards.scores and reward in current.scores:
        scores = (rewards.rewards(reward), current.rewards(reward))
    sides = Sides(
        before=then,
        now=now,
        runs=len(runs),
        clusters=_clusters(benchmark, current),
        gate_id=f"{benchmark.spec.name}::{run.result.agent}::behaviour",
        independent=benchmark.spec.independent,
    )
    return _AlignedSides(sides, scores)


def _clusters(benchmark: Benchmark, table: RolloutTable) -> Ints | None:
    field = benchmark.spec.cluster
    if field is None or field not in table.categories:
        return None
    return table.categories[field].codes[table.offsets[:-1]].astype(np.int64)


def _recorded(
    benchmark: Benchmark, terms: ComparisonTerms, answers: Answers
) -> dict[str, list[RolloutTable]]:
    """Find what the reference's agents do in each run: as recorded, or in its files."""
    reference = terms.reference
    spec = benchmark.spec.behaviour
    files = settings_of(benchmark).rollouts
    if files is not None:
        return _observed_in_files(benchmark, files, reference.runs, answers)
    own = () if spec is None else spec.own_features
    found: dict[str, list[RolloutTable]] = {}
    for agent, newest in reference.behaviour.items():
        documents = [*newest.earlier, newest]
        tables = reference.runs[agent][-len(documents) :]
        documents = documents[-len(tables) :]
        found[agent] = [
            recorded(document, table, own=own, has_texts=answers.distance.keeps_texts)
            for document, table in zip(documents, tables, strict=True)
        ]
    return found


def _observed_in_files(
    benchmark: Benchmark,
    files: RunsSpec,
    runs: Mapping[str, Sequence[RolloutTable]],
    answers: Answers,
) -> dict[str, list[RolloutTable]]:
    """Read what each run of the reference does from its files."""
    spec = benchmark.spec.behaviour
    if spec is None:
        return {}
    own = _own_features(benchmark, spec)
    each_run = [replace(files, path=paths) for paths in files.runs] or [files]
    found: dict[str, list[RolloutTable]] = {}
    for agent, tables in runs.items():
        # an agent that some runs lack can't be told apart in them
        if len(tables) != len(each_run):
            continue
        found[agent] = [
            _observed_run(benchmark, of_run, table, own, answers)
            for of_run, table in zip(each_run, tables, strict=True)
        ]
    return found


def _observed_run(
    benchmark: Benchmark,
    files: FilesSpec,
    table: RolloutTable,
    own: Sequence[OwnFeature],
    answers: Answers,
) -> RolloutTable:
    chosen = _sampled(table)
    sketched = _sketched(chosen, _sizes(table))
    observer = Observer(len(chosen), own, sketched, answers.kept)
    table = chosen
    if table.read_as is not None:
        wanted = set(table.read_as.tolist())
        with collector_paused(), suppress(NoRecordsError):
            rows = records_at(files, benchmark.file.parent, wanted)
            for place, where, row in _placed(table, rows):
                observer.observe(place, turns_of(row), where=where)
    return observed_of(table, observer)


def notes_of(facts: BehaviourFacts) -> Iterator[Note]:
    """Note what could not be compared."""
    if facts.unread:
        yield UnreadTranscripts(facts.unread, facts.rollouts)
    if facts.tasks < facts.of_tasks:
        yield SampledBehaviour(facts.tasks, facts.of_tasks)
    if facts.lacks_baseline:
        yield NoRecordedBehaviour(facts.acceptance)
    if facts.lacks_answers:
        yield OtherFormOfAnswers(facts.acceptance)


def with_scores(
    outcome: BehaviourOutcome, runs: Sequence[AgentRun], checks: Sequence[Check]
) -> tuple[BehaviourFacts, ...]:
    """Say of each agent what became of its scores, as its checks found."""
    shown = {run.result.agent: run.shown for run in runs}
    facts = []
    for of_agent in outcome.facts:
        compared = [
            check
            for check in checks
            if check.gate is Gate.BASELINE
            and check.agent == shown.get(of_agent.agent)
            and check.comparison is not None
        ]
        facts.append(structs.replace(of_agent, score=_score_change(compared)))
    return tuple(facts)


def _score_change(compared: Sequence[Check]) -> ScoreChange:
    """Return the largest change of several metrics."""
    changes = [_change_of(check) for check in compared]
    for change in (ScoreChange.CHANGED, ScoreChange.NOT_SHOWN, ScoreChange.SAME):
        if change in changes:
            return change
    return ScoreChange.UNKNOWN


def _change_of(check: Check) -> ScoreChange:
    facts = check.comparison
    if facts is None or facts.baseline is None or facts.current is None:
        return ScoreChange.UNKNOWN
    if check.verdict is not Verdict.PASS or facts.improved:
        return ScoreChange.CHANGED
    half_a_point = _HALF_A_POINT * max(1.0, abs(facts.baseline))
    if abs(facts.current - facts.baseline) <= half_a_point:
        return ScoreChange.SAME
    return ScoreChange.NOT_SHOWN
