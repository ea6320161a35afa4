"""What validates a benchmark file is made without pydantic, and equals what pydantic makes."""

from typing import Annotated

import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.spec import (
    behaviour_keys,
    benchmark,
    gate_keys,
    metric_keys,
    model_keys,
    scorer_keys,
    sources,
)
from pytest_evalmetrics.spec.validation import Limits, schema_of

# what pydantic adds that does not change how a value is validated
WITHOUT_EFFECT = {
    "collect_init_only",
    "computed_fields",
    "default_factory_takes_data",
    "frozen",
    "init",
    "metadata",
    "ref",
    "slots",
}
FORMS = {
    "benchmark": benchmark.BenchmarkSpec,
    "reference": benchmark.ReferenceSpec,
    "rollouts": sources.RolloutsField,
    "rollouts of runs": sources.RunsField,
    "dataset": sources.DatasetField,
    "params": sources.ParamsSpec,
    "sample": sources.SampleSpec,
    "join": sources.JoinSpec,
    "pivot": sources.PivotSpec,
    "joint fields": sources.JointField,
    "early stop": sources.EarlyStopSpec,
    "quarantine": gate_keys.QuarantineField,
    "model": model_keys.ModelSpec,
    "prompt_template": model_keys.PromptField,
    "tools": model_keys.ToolsField,
    "response_format": model_keys.ResponseFormatField,
    "target": model_keys.TargetField,
    "budget": model_keys.BudgetSpec,
    "labels": model_keys.LabelsField,
    "anchors": model_keys.AnchorsField,
    "metrics": metric_keys.MetricsField,
    "behaviour": behaviour_keys.BehaviourSpec,
    "scorers": scorer_keys.ScorersField,
    **metric_keys.METRIC_TYPES,
}


def plain(schema, definitions):
    """Return a schema in one piece, without what has no effect."""
    if isinstance(schema, (list, tuple)):
        return [plain(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "definitions":
        own = {part["ref"]: part for part in schema["definitions"]}
        return plain(schema["schema"], definitions | own)
    if schema.get("type") == "definition-ref":
        return plain(definitions[schema["schema_ref"]], definitions)
    parts = {}
    for key, part in schema.items():
        if key not in WITHOUT_EFFECT:
            parts[key] = plain(part, definitions)
    return parts


@pytest.mark.parametrize("name", FORMS)
def test_keys_are_validated_as_pydantic_would(name):
    by_pydantic = TypeAdapter(FORMS[name]).core_schema
    assert plain(schema_of(FORMS[name]), {}) == plain(by_pydantic, {})


def test_a_type_that_keys_do_not_have_is_refused():
    with pytest.raises(TypeError, match=r"no schema is known of set\[int\]"):
        schema_of(set[int])


def test_limits_of_a_value_that_may_be_absent_are_those_of_the_value():
    schema = schema_of(Annotated[int | None, Limits(ge=1)])
    assert schema == {"type": "nullable", "schema": {"type": "int", "ge": 1}}
