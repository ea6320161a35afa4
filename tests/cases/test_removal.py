"""Secrets and personal details in texts, and the fields of a trace that hold them."""

import pytest

from pytest_evalmetrics.cases.removal import Redactor, Removed


def marked(text, *records, keep=()):
    return Redactor(records, keep).marked(text)


# -- fields that hold names ------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        "user_name",
        "userName",
        "user.name",
        "user.full_name",
        "userId",
        "user_id",
        "customer_name",
        "client.fullname",
        "contact_name",
        "patient_name",
        "employee_id",
        "person.name",
        "enduser.id",
        "caller_name",
        "sender.name",
        "first_name",
        "lastname",
        "full_name",
        "given_name",
        "family_name",
        "surname",
        "display_name",
        "DISPLAY_NAME",
        "metadata.crm.customer_name",
    ],
)
def test_a_name_that_a_known_field_holds_is_replaced(field):
    assert marked("Dear Grace Hopper!", {field: "Grace Hopper"}) == "Dear [name 1]!"


@pytest.mark.parametrize("field", ["name", "model_name", "tool", "username_hint", "id"])
def test_what_another_field_holds_stays(field):
    assert marked("Dear Grace Hopper!", {field: "Grace Hopper"}) == "Dear Grace Hopper!"


def test_fields_are_found_in_objects_and_lists_at_any_depth():
    record = {"extra": [{"users": [{"user": {"name": "Ada"}}]}]}
    assert marked("Ada asks", record) == "[name 1] asks"


def test_names_of_all_records_are_replaced_the_longest_first():
    records = [{"first_name": "Ada"}, {"n": 1}, {"first_name": "Grace"}]
    assert marked("Ada met Grace", *records) == "[name 2] met [name 1]"


def test_a_full_name_is_replaced_before_its_parts():
    record = {"first_name": "Ada", "full_name": "Ada Lovelace"}
    text = marked("Ada Lovelace writes, Ada for short", record)
    assert text == "[name 1] writes, [name 2] for short"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("ask ADA, please", "ask [name 1], please"),
        ("ask Adam, please", "ask Adam, please"),
        ("ask xAda", "ask xAda"),
        ("Ada's plan", "[name 1]'s plan"),
    ],
)
def test_a_name_is_a_whole_word_in_any_case(text, without):
    assert marked(text, {"first_name": "Ada"}) == without


def test_a_name_of_two_letters_is_too_short():
    assert marked("Al is all", {"first_name": "Al"}) == "Al is all"
    assert marked("Ali is all", {"first_name": "Ali"}) == "[name 1] is all"


def test_a_name_with_signs_of_regular_expressions_is_found():
    assert marked("Dear A. (B)", {"first_name": "A. (B"}) == "Dear [name 1])"


# -- fields and words that hold secrets ------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        "api_key",
        "apikey",
        "headers.api-key",
        "access_token",
        "auth-token",
        "authtoken",
        "password",
        "db.passwd",
        "client_secret",
        "Bearer",
    ],
)
def test_a_secret_that_a_known_field_holds_is_replaced_wherever_it_stands(field):
    assert marked("it says xhunter2x", {field: "hunter2"}) == "it says x[key 1]x"


def test_a_secret_of_two_letters_is_too_short():
    assert marked("ab is ab", {"password": "ab"}) == "ab is ab"
    assert marked("abc", {"password": "abc"}) == "[key 1]"


def test_a_secret_is_written_as_it_is():
    assert marked("Hunter2", {"password": "hunter2"}) == "Hunter2"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("api_key=abc123", "api_key=[key 1]"),
        ("API-KEY: 'abc123'", "API-KEY: '[key 1]'"),
        ('{"access_token": "abc123"}', '{"access_token": "[key 1]"}'),
        ("{'password': 'abc123'}", "{'password': '[key 1]'}"),
        ("my API key: abc123", "my API key: [key 1]"),
        ("access token: abc123", "access token: [key 1]"),
        ("passwd = abc123; x", "passwd = [key 1]; x"),
        ("secret:abc123,", "secret:[key 1],"),
        ("secret: abc12", "secret: abc12"),  # five signs
        ("bearer abcdef012345==", "bearer [key 1]"),
        ("bearer abcdef01234", "bearer abcdef01234"),  # eleven
    ],
)
def test_what_is_assigned_to_a_secret_is_replaced(text, without):
    assert marked(text) == without


# -- personal details ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("4111111111111111", "[account 1]"),
        ("4111-1111-1111-1111", "[account 1]"),
        ("123456789012", "123456789012"),  # twelve digits
        ("1234567890123", "[account 1]"),
        ("GB82WEST12345698765432", "[account 1]"),
        ("GB82 WEST 1234 5698 7654 32", "[account 1]"),
        ("+1 (212) 555-0100", "[phone 1]"),
        ("212.555.0100", "[phone 1]"),
        ("(030) 1234567", "[phone 1]"),
        ("0171/2345678", "[phone 1]"),
        ("x@y", "x@y"),
        ("x@y.org.", "[email 1]."),
    ],
)
def test_personal_details_have_their_forms(text, without):
    assert marked(text) == without


def test_the_surest_kind_counts():
    assert marked("0171 2345678@example.org") == "0171 [email 1]"


# -- marks -----------------------------------------------------------------------------------


def test_kinds_are_counted_by_themselves_and_by_their_values():
    redactor = Redactor([])
    assert redactor.marked("a@x.org, b@x.org, +44 20 7946 0958") == (
        "[email 1], [email 2], [phone 1]"
    )
    assert redactor.marked("b@x.org, c@x.org") == "[email 2], [email 3]"


def test_the_places_of_each_mark_are_counted():
    redactor = Redactor([{"first_name": "Ada"}])
    redactor.marked("a@x.org and a@x.org")
    redactor.marked("Ada, a@x.org")
    redactor.marked("nothing")
    assert redactor.removed() == [
        Removed(kind="email", mark="[email 1]", places=3),
        Removed(kind="name", mark="[name 1]", places=1),
    ]


def test_what_is_kept_is_not_listed():
    redactor = Redactor([], keep=["email"])
    assert redactor.marked("a@x.org, +44 20 7946 0958") == "a@x.org, [phone 1]"
    assert [removed.mark for removed in redactor.removed()] == ["[phone 1]"]
