"""The form of all records: reports, baselines and histories hold it, and other versions read it."""

import importlib
import inspect
import math
import pkgutil
import re
import typing
from enum import StrEnum

import msgspec
import pytest
from msgspec import structs

from pytest_evalmetrics import model
from pytest_evalmetrics.model.bounds import Bound
from pytest_evalmetrics.model.comparison import TaskGroup
from pytest_evalmetrics.model.note_facts import NoteFacts
from pytest_evalmetrics.model.results import Power

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.iter_modules(model.__path__, "pytest_evalmetrics.model.")
]


def classes_of(kind):
    """List the classes of a kind that the modules define."""
    classes = []
    for module in MODULES:
        for value in vars(module).values():
            is_own = inspect.isclass(value) and value.__module__ == module.__name__
            if is_own and issubclass(value, kind):
                classes.append(value)
    return classes


def named(classes):
    return pytest.mark.parametrize("kind", classes, ids=lambda kind: kind.__name__)


def snake_case(name):
    """Write the name of a class as a key of JSON."""
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


RECORDS = classes_of(msgspec.Struct)
TAGGED = [record for record in RECORDS if record.__struct_config__.tag]
# they hold arrays or functions, which are no JSON
IN_MEMORY = (
    "TaskRewards",
    "TaskRows",
    "Row",
    "Category",
    "RolloutTable",
    "RowScores",
    "PairedMetric",
    "LostRollouts",
    "Comparison",
    "TestResult",
)
WRITTEN = [record for record in RECORDS if record.__name__ not in IN_MEMORY]


def test_the_records_are_those_of_all_modules():
    assert len(RECORDS) > 200
    assert len(TAGGED) > 100
    assert len(WRITTEN) == len(RECORDS) - len(IN_MEMORY)


def test_records_are_values_that_nobody_changes():
    changeable = [kind for kind in RECORDS if not kind.__struct_config__.frozen]
    assert changeable == []


def test_a_kind_is_known_in_json_by_its_name():
    names = {kind: snake_case(kind.__name__) for kind in TAGGED}
    for kind in Bound.__args__:
        names[kind] = names[kind].removesuffix("_bound")
    assert {kind: kind.__struct_config__.tag for kind in TAGGED} == names


# -- words -----------------------------------------------------------------------------------

# verdicts are written as people read them
SPOKEN = {
    "Verdict": {"PASS": "PASS", "WARN": "WARN", "INCONCLUSIVE": "INCONCLUSIVE", "FAIL": "FAIL"},
    "MeasuredBy": {"ANSWERS": "answers of"},
    "PowerSource": {
        "BASELINE_AND_ROLLOUTS": "baseline and rollouts",
        "ASSUMPTION": "an even spread of pass rates",
    },
}  # fmt: skip


def test_a_word_is_written_as_its_name_unless_people_read_it():
    written = {}
    expected = {}
    for kind in classes_of(StrEnum):
        spoken = SPOKEN.get(kind.__name__, {})
        for word in kind:
            written[kind, word.name] = word.value
            expected[kind, word.name] = spoken.get(word.name, word.name.lower())
    assert written == expected


# -- what a record does not state ------------------------------------------------------------

# what stands for a field that is not stated, where that is not nothing
STATED = {
    "BaselineDocument.schema_version": 1,
    "Churn.measure": "words",
    "BehaviourFacts.score": "unknown",
    "ThresholdBound.end": "point",
    "RuleSettings.benchmarks": 1,
    "ComparisonFacts.level": 0.95,
    "ComparisonFacts.runs": 1,
    "ComparisonFacts.min_coverage": 1.0,
    "ComparisonFacts.excluded": TaskGroup(0, ()),
    "ComparisonFacts.added": TaskGroup(0, ()),
    "ComparisonFacts.removed": TaskGroup(0, ()),
    "LevelShift.is_sure": True,
    "Range.low": -math.inf,
    "Range.high": math.inf,
    "MetricFacts.has_interval": True,
    "Check.tier": "required",
    "AgentResult.task_ids": "names",
    "ScoreSummary.score_type": "range",
}
NOTHING = (None, "", 0, 0.0, False, (), {})


def defaults_of(record):
    """Return the defaults of a record's fields."""
    defaults = {}
    for field in structs.fields(record):
        value = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            value = field.default_factory()
        if value not in (msgspec.NODEFAULT, msgspec.UNSET):
            defaults[field.name] = value
    return defaults


def test_what_a_record_does_not_state_is_nothing_but_for_a_few_fields():
    stated = {}
    for kind in WRITTEN:
        for name, value in defaults_of(kind).items():
            if value not in NOTHING:
                stated[f"{kind.__name__}.{name}"] = value
    assert stated == STATED


def test_a_field_that_may_be_none_is_none_where_it_is_not_stated():
    others = []
    for kind in WRITTEN:
        defaults = defaults_of(kind)
        for field in structs.fields(kind):
            may_be_none = type(None) in typing.get_args(field.type)
            if may_be_none and defaults.get(field.name) is not None:
                others.append((kind, field.name))
    assert others == []


@named([record for record in WRITTEN if record is not Power])
def test_what_a_record_does_not_state_has_the_type_that_it_would_have(kind):
    types = {field.name: field.type for field in structs.fields(kind)}
    defaults = defaults_of(kind)
    read = {
        name: msgspec.convert(value, types[name], from_attributes=True)
        for name, value in defaults.items()
    }
    assert read == defaults


# -- notes that are shown as one -------------------------------------------------------------

SUBJECTS = [
    {"AcceptedBefore", "AcceptedNow"},
    {"NoAnchorScores", "UnscoredAnchors"},
    {"CutAnswers", "UncountedTokens"},
    {
        "UnreadTranscripts",
        "SampledBehaviour",
        "NoRecordedBehaviour",
        "OtherFormOfAnswers",
    },
    {"SliceWithoutRewards", "UndefinedSlice"},
    {"PairedById", "PairedByPosition"},
    {"RunNoiseOfHistory", "RunNoiseOfNeighbours", "FewBaselineRuns"},
    {
        "BrokenHistoryLine",
        "OtherHistorySchema",
        "FurtherBrokenLines",
        "RunsNotCompared",
        "HistoryStartsAnew",
    },
    {"CorrectedMean", "TooFewLabels"},
    {"ReplacedName", "ReplacedBuiltin"},
    {"StoppedEarly", "StoppedAtLastLook", "AllAtOnce"},
    {"KeyInFile", "KeyInUrl", "KeysInTaskIds"},
]


def test_kinds_of_notes_on_one_subject_are_shown_as_one():
    kinds_by_subject = {}
    for kind in classes_of(NoteFacts):
        # a name with an underscore is that of a base class
        if kind.subject and not kind.__name__.startswith("_"):
            kinds_by_subject.setdefault(kind.subject, set()).add(kind.__name__)
    found = sorted(map(sorted, kinds_by_subject.values()))
    assert found == sorted(map(sorted, SUBJECTS))
