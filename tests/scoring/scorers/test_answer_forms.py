"""What is taken for a value of each form of a judge's answer, and what is refused."""

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring.scorers.answer_forms import (
    BOOLEAN,
    TEXT,
    ListForm,
    ObjectForm,
    ScaleForm,
)

SCALE = ScaleForm((1, 2, 3))
PAIR = ListForm(SCALE, length=2)
GRADE = ObjectForm({"reasoning": TEXT, "grade": SCALE})


@pytest.mark.parametrize(
    ("form", "value", "read"),
    [
        (TEXT, " right ", "right"),
        (BOOLEAN, True, True),
        (BOOLEAN, False, False),
        (BOOLEAN, "True", True),
        (BOOLEAN, " false ", False),
        (SCALE, 2, 2),
        (SCALE, 2.0, 2),
        (ListForm(SCALE), [], []),
        (PAIR, [3, 1.0], [3, 1]),
        (
            GRADE,
            {"reasoning": "so\n it is", "grade": 1, "more": 5},
            {"reasoning": "so it is", "grade": 1},
        ),
        (GRADE, {"grade": 1}, {"reasoning": "", "grade": 1}),
    ],
)
def test_a_value_of_a_form_is_read(form, value, read):
    given = form.read(value, "key")
    assert given == read
    assert type(given) is type(read)


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        (TEXT, " ", "text that is not empty"),
        (TEXT, 5, "text that is not empty"),
        (BOOLEAN, "yes", "true or false"),
        (BOOLEAN, 1, "true or false"),
        (BOOLEAN, None, "true or false"),
        (SCALE, 4, "1, 2 or 3"),
        (SCALE, 1.5, "1, 2 or 3"),
        (SCALE, True, "1, 2 or 3"),
        (SCALE, "2", "1, 2 or 3"),
        (PAIR, [1], "a list of 2"),
        (ListForm(SCALE), {"a": 1}, "expected a list"),
        (GRADE, {"reasoning": "so"}, "the judge's answer has no 'grade'"),
        (GRADE, "two", "the judge's answer has no 'grade'"),
    ],
)
def test_a_value_of_another_form_is_refused(form, value, message):
    with pytest.raises(RowError, match=message):
        form.read(value, "key")


def test_the_schema_of_an_object_is_closed_and_requires_all_its_keys():
    assert GRADE.schema == {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "grade": {"type": "integer", "enum": [1, 2, 3]},
        },
        "required": ["reasoning", "grade"],
        "additionalProperties": False,
    }


def test_the_schema_of_a_list_has_that_of_its_items():
    assert ListForm(BOOLEAN).schema == {"type": "array", "items": {"type": "boolean"}}
