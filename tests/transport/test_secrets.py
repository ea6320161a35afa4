import base64
import copy
import json
import pickle
import string
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.transport.secrets import Secret, find_secret, redact

VALUE = "sk-s3cr3t/with+more=="


def test_the_first_variable_that_is_set_wins():
    environ = {"a-b": "exact", "A-B": "upper", "A_B": "underscores\n"}
    secrets = []
    for _ in range(3):
        secret = find_secret("a-b", environ)
        secrets.append((secret.variable, secret.reveal()))
        del environ[secret.variable]
    assert secrets == [("a-b", "exact"), ("A-B", "upper"), ("A_B", "underscores")]


@pytest.mark.parametrize(
    ("name", "tried"),
    [
        (
            "my-remote/api-key",
            "my-remote/api-key, MY-REMOTE/API-KEY, MY_REMOTE_API_KEY",
        ),
        ("my_key", "my_key, MY_KEY"),
        ("MY_KEY", "MY_KEY"),
    ],
)
def test_a_missing_one_names_the_variables_and_no_value(name, tried):
    last = tried.split(", ")[-1]
    with pytest.raises(EvalMetricsError) as error:
        find_secret(name, {"OTHER": VALUE, last: "  "})
    text = str(error.value)
    assert f"{name!r} is not in the environment ({last} is set, but empty)" in text
    assert text.endswith(f"set one of these environment variables: {tried}")
    assert VALUE not in text


@pytest.mark.parametrize("value", ["abc\ndef", "abc\x00", "schlüssel"])
def test_what_no_header_can_hold_is_refused_without_being_shown(value):
    with pytest.raises(
        EvalMetricsError, match="environment variable k holds a chara"
    ) as error:
        find_secret("k", {"k": value})
    assert value not in str(error.value)


def test_it_is_never_shown():
    secret = Secret("my-key", "MY_KEY", VALUE)
    shown = [str(secret), f"{secret}", f"{secret!r:>40}", repr({1: [secret]})]
    with pytest.raises(LookupError) as error:
        {}[secret]
    whole = traceback.TracebackException.from_exception(
        error.value, capture_locals=True
    )
    shown.extend(whole.format())
    assert "secret = Secret('my-key', ***)" in "".join(shown)
    assert VALUE not in "".join(shown)


def test_it_does_not_leave_the_process():
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not written"):
            leave(Secret("k", "K", VALUE))


def test_equality_and_hash_are_by_value():
    assert Secret("k", "K", "a" * 8) == Secret("k", "other", "a" * 8)
    assert Secret("k", "K", "a" * 8) != Secret("k", "K", "b" * 8)
    assert Secret("k", "K", "a") != "a"
    assert len({Secret("k", "K", "a"), Secret("k", "K", "a")}) == 1


@given(
    st.text(
        st.sampled_from(string.ascii_letters + string.digits + '-_/+="\\ %'), min_size=4
    ).filter(lambda v: not set(v) <= set("*")),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_no_way_of_writing_it_survives(value, before, after):
    secret = Secret("k", "K", value)
    for form in (
        value,
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        quote_plus(value),
    ):
        if form in before + after:
            continue
        text = f"{before}{form}{after}"
        hidden = redact(text, [secret])
        assert value not in hidden
        assert form not in hidden
        assert "***" in hidden


KEYS = st.text(string.ascii_letters + string.digits, min_size=20, max_size=60)
WRITTEN = {
    "as it is": str,
    "base64": lambda v: base64.b64encode(f"Bearer {v}".encode()).decode(),
    "base64 of a user and it": lambda v: base64.urlsafe_b64encode(
        f"u1:{v}".encode()
    ).decode(),
    "JSON's code points": lambda v: "".join(f"\\u{ord(c):04X}" for c in v),
    "HTML's decimals": lambda v: "".join(f"&#{ord(c)};" for c in v),
    "HTML's hexadecimals": lambda v: "".join(f"&#x{ord(c):x};" for c in v),
    "a URL's bytes": lambda v: "".join(f"%{ord(c):02x}" for c in v),
    "JSON in JSON": lambda v: json.dumps("".join(f"\\u{ord(c):04x}" for c in v))[1:-1],
    "a URL in a URL": lambda v: quote("".join(f"%{ord(c):02x}" for c in v)),
    "its bytes": lambda v: "".join(f"\\x{ord(c):02x}" for c in v),
    "hexadecimal": lambda v: v.encode().hex(),
    "upper case": str.upper,
    "lower case": str.lower,
    "its start": lambda v: f"{v[:17]}...",
    "its end": lambda v: f"...{v[-8:]}",
    "its middle": lambda v: v[8:18],
}


@pytest.mark.parametrize("way", WRITTEN)
@given(key=KEYS, prefix=st.sampled_from(["", "sk-", "sk-proj-", "hf_"]))
def test_no_escape_and_no_part_of_it_survives(way, key, prefix):
    secret = Secret("k", "K", prefix + key)
    written = WRITTEN[way](prefix + key)
    hidden = redact(f"<p>{written}</p>", [secret])
    assert "***" in hidden
    assert len(hidden) <= len("<p>***</p>") + 3 + len(prefix) * 12 + (
        16 if "base64" in way else 6
    )
    assert secret.is_in(f"<p>{written}</p>")


@given(st.text(max_size=200))
def test_what_holds_nothing_of_it_stays(text):
    secrets = [
        Secret("k", "K", "sk-proj-Zq3vX9wLp2RtY7uB"),
        Secret("b", "B", "beta-key"),
    ]
    assert redact(text, secrets) == text
    assert redact("a key such as sk-proj-... is public", secrets).count("*") == 0
    assert redact(f"x {secrets[0].reveal()} y beta-key z", secrets) == "x *** y *** z"


def test_a_placeholder_is_hidden_in_messages_but_not_seen_in_answers():
    placeholder = Secret("k", "K", "none")
    assert redact("key none", [placeholder]) == "key ***"
    assert not placeholder.is_in('{"text": "none of these"}')
    assert Secret("k", "K", "hunter2").is_in('{"text": "it is hunter2"}')
    assert Secret("k", "K", 'quote"d-key').is_in(json.dumps({"a": 'quote"d-key'}))
