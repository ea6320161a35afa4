from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.transport.fakes import KEY, secret

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.scoring.transport import Call, Occurrences

URL = "http://localhost:8000/evaluate"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/x",
        "ftp://host/x",
        "http://",
        "http://h:port/",
        "",
        "http://h:99999/",
        "http://[::1/x",
        "http://a..b/x",
        "http://bad host/x",
        f"http://{'a' * 70}.example/x",
    ],
)
def test_an_unusable_url_is_refused(url):
    with pytest.raises(EvalMetricsError, match="is not a usable URL"):
        Endpoint(url)


def test_a_password_in_the_url_is_refused_and_not_shown():
    for url in (
        "https://user:hunter2@host/x",
        "https://hunter2@host/x",
        "ftp://u:hunter2@host",
    ):
        with pytest.raises(EvalMetricsError) as error:
            Endpoint(url)
        assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout_s": 0}, "timeout_s is 0, expected more than 0"),
        ({"timeout_s": float("nan")}, "timeout_s is nan"),
        ({"max_retries": -1}, "max_retries is -1, expected 0 or more"),
        ({"parallelism": 0}, "parallelism is 0, expected 1 or more"),
    ],
)
def test_numbers_out_of_range_are_refused(settings, message):
    with pytest.raises(EvalMetricsError, match=message):
        Endpoint(URL, **settings)


ENDLESS = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"item": {"scores": [1.0, float("nan")]}}, r"body\.item\.scores\[1\] is nan"),
        ({"x": float("-inf")}, r"body\.x is -inf"),
        ({"x": {1, 2}}, r"body\.x is a set"),
        (object(), "body is a object"),
        (ENDLESS, "can't be written as JSON"),
    ],
    ids=["nan", "infinity", "a set", "an object", "endless"],
)
def test_a_body_that_json_can_not_write_is_that_rows_error(client, body, message):
    with pytest.raises(CallError, match=message) as error:
        client().ask(body)
    assert error.value.kind == "bad-request"


CALL = Call(
    Endpoint(URL),
    b'{"a":1,"b":"x"}',
    kind="remote/1",
    versions={"model": "m1", "prompt": "p"},
)


def test_the_key_is_the_same_for_ever():
    """A committed journal must be found by later versions: a change here makes it worthless."""
    assert CALL.key(str).hex() == "ee57f934e83f6e068ddf2ddaa608dc791e1c601e"


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, endpoint=Endpoint(URL + "2")),
        replace(CALL, payload=b'{"a":1,"b":"y"}'),
        replace(CALL, payload=b'{"b":"x","a":1}'),
        replace(CALL, payload=None),
        replace(CALL, kind="remote/2"),
        replace(CALL, versions={"model": "m2", "prompt": "p"}),
        replace(CALL, versions={}),
        replace(CALL, sample=1),
        replace(CALL, occurrence=1),
    ],
)
def test_whatever_an_answer_depends_on_changes_the_key(other):
    assert other.key(str) != CALL.key(str)


@pytest.mark.parametrize(
    "same",
    [
        replace(
            CALL,
            endpoint=Endpoint(URL, KEY, timeout_s=1.0, max_retries=9, parallelism=3),
        ),
        replace(CALL, label="other"),
        replace(CALL, versions={"prompt": "p", "model": "m1"}),
        replace(CALL, identity=CALL.payload, payload=b"1"),
    ],
)
def test_who_asks_and_how_does_not(same):
    assert same.key(str) == CALL.key(str)


def test_a_new_key_to_the_door_finds_the_old_answers(client):
    client(mode="normal")
    for value in ("sk-old-key", "sk-new-key"):
        answer = client.ask(
            {"token": value}, url=f"{URL}?key={value}", secret=secret(value)
        )
        assert answer.from_journal == ("new" in value)


@given(
    st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"", None]), st.integers(0, 2)),
        max_size=30,
    )
)
def test_occurrences_count_earlier_calls(contents):
    occurrences, before = Occurrences(), Counter()
    for content, sample in contents:
        key = (content or b"", sample)
        assert occurrences.next(content, sample) == before[key]
        before[key] += 1
