import base64
import copy
import json
import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport.secrets import (
    Secret,
    find_secret,
    keys_in,
    looks_like_key,
    redact,
    secrets_in_url,
)

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


# as providers make them, and some that are hard to write
KEYS = [
    "sk-proj-Zq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc",
    "sk-ant-api03-f8Kd0sLq2Wx7Zb5Nc1Vm9Rt4Yp6Hj3Ga",
    "hf_aZ4xQ9mT2wK7bR5nL8vJ3pC6yH1gF0d",
    "nvapi-9Xk2Lm5Qw8Zr3Tn7Vb1Yc4Ph6Jd0Gs",
    "3f9a1c7e5b2d8046af13c5e790b2d468",
    "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.e30.Xb5Nc1Vm9Rt4Yp6Hj",
    VALUE,
    'quote"d\\k3y/w1th+m0re==%',
]


@pytest.mark.parametrize("value", [*KEYS, "correct horse battery", "sunflower"])
@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_way_of_writing_it_survives(value, before, after):
    secret = Secret("k", "K", value)
    for form in (
        value,
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        quote_plus(value),
    ):
        hidden = redact(f"{before}{form}{after}", [secret])
        assert value not in hidden
        assert form not in hidden
        assert "***" in hidden


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
    "JavaScript's code points": lambda v: "".join(f"\\u{{{ord(c):x}}}" for c in v),
    "octal escapes": lambda v: "".join(f"\\{ord(c):03o}" for c in v),
    "hexadecimal with spaces": lambda v: v.encode().hex(" "),
    "hexadecimal with colons": lambda v: v.encode().hex(":").upper(),
    "a URL's bytes in upper case": lambda v: "".join(f"%{ord(c):02X}" for c in v),
    "base64 without its padding": lambda v: (
        base64.urlsafe_b64encode(v.encode()).decode().rstrip("=")
    ),
    "base64 of a JSON object with it": lambda v: base64.b64encode(
        json.dumps({"key": v}).encode()
    ).decode(),
    "JSON in JSON in JSON": lambda v: json.dumps(json.dumps(json.dumps(v))),
    "a literal of Python in one": lambda v: repr(repr(v + "'\"")),
    "its bytes": lambda v: "".join(f"\\x{ord(c):02x}" for c in v),
    "hexadecimal": lambda v: v.encode().hex(),
    "upper case": str.upper,
    "lower case": str.lower,
}


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("key", [*KEYS[:5], "correct-horse-battery", "sunflower"])
def test_the_whole_is_hidden_in_every_encoding(way, key):
    secret = Secret("k", "K", key)
    text = f"<p>{WRITTEN[way](key)}</p>"
    hidden = redact(text, [secret])
    assert "***" in hidden
    assert len(hidden) <= len("<p>***</p>") + 24
    assert secret.is_in(text)


PARTS = {
    "its start": lambda v: f"{v[:22]}...",
    "its end": lambda v: f"...{v[-10:]}",
    "its middle": lambda v: v[14:26],
    "35 characters of its base64": lambda v: base64.b64encode(v.encode())[:35].decode(),
    "the end of its base64": lambda v: base64.b64encode(f"x{v}".encode())[20:].decode(),
    "over two lines": lambda v: f"{v[:20]}\n{v[20:]}",
    "base64 in lines, as in mail": lambda v: base64.encodebytes(
        b"a" * 40 + v.encode()
    ).decode(),
    "between asterisks": lambda v: f"{v[:4]}****{v[-10:]}",
    "a part of its hexadecimal with spaces": lambda v: v.encode().hex(" ")[9:60],
    "a part of its hexadecimal": lambda v: v.encode().hex()[12:40],
}


@pytest.mark.parametrize("way", PARTS)
@pytest.mark.parametrize("key", KEYS[:5])
def test_a_part_that_can_not_be_a_word_is_hidden_too(way, key):
    secret = Secret("k", "K", key)
    text = f"<p>{PARTS[way](key)}</p>"
    assert "***" in redact(text, [secret])
    assert not secret.is_in(text)  # of the key itself nothing can be kept from a score


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("sk-correct-horse-battery", "a horse with a battery is correct"),
        ("my-company-production-2024", "our company started production in 2024"),
        ("MyCompanyProdKey77", "the CompanyProd team"),
        ("service-account-localhost-8080", "the account of localhost"),
    ],
)
def test_a_part_that_is_a_word_is_no_secret(key, text):
    assert redact(text, [Secret("k", "K", key)]) == text


PLACEHOLDERS = [
    "none",
    "EMPTY",
    "x",
    "sk-no-key-required",
    "password",
    "ollama",
    "localhost",
    "not-needed",
    "lm-studio",
    "token-abc123",
    "sk-1234",
    "sk-xxxxxxxxxxxxxxxx",
    "your-api-key-here",
    "00000000",
    "hunter2",
    "sk-proj-xxxx-xxxx",
    "sk-or-v1-placeholder",
    "abcd1234",
    "N/A",
    "YOUR_OPENAI_API_KEY",
    "<your-api-key>",
    "${API_KEY}",
    "changeme123",
    "no_auth",
    "undefined",
    "sk-litellm-key",
    "12345678",
]


# where people and servers write keys
PLACES = {
    "a header": lambda v: f"Authorization: Bearer {v}\r\nx-api-key: {v}",
    "a URL's user": lambda v: f"https://u:{v}@host/v1",
    "a URL's query": lambda v: f"https://host/v1?api_key={v}&x=1",
    "a URL's path": lambda v: f"https://host/{v}/score",
    "a command": lambda v: f"curl -H 'Authorization: Bearer {v}'",
    "a mapping": lambda v: str({"headers": {"Authorization": f"Bearer {v}"}}),
    "a row's id": lambda v: f"task-{v}-7",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS[:5])
def test_it_is_hidden_wherever_it_stands(place, key):
    text = PLACES[place](key)
    assert redact(text, [Secret("k", "K", key)]) == PLACES[place]("***")


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_hides_nothing(value):
    secret = Secret("k", "K", value)
    text = f"the {value} is required, no key: {value.upper()}"
    assert redact(text, [secret]) == text
    assert not secret.is_in(text)


@pytest.mark.parametrize("value", [*KEYS, "sunflower", "beta-key", "tr0ub4dor&3"])
def test_a_key_is_no_placeholder(value):
    assert redact(f"it is {value}", [Secret("k", "K", value)]) == "it is ***"


@pytest.mark.parametrize("name", KEYS[:4])
def test_a_key_in_place_of_its_name_is_not_shown(name):
    with pytest.raises(EvalMetricsError, match="api_key_secret holds a key") as error:
        find_secret(name, {})
    assert name not in str(error.value)
    assert "replace the key" in str(error.value)


@pytest.mark.parametrize(
    "name", ["my-remote/api-key", "OPENAI_API_KEY", "k2", "EU1_KEY_V2"]
)
def test_the_name_of_a_variable_is_no_key(name):
    assert not looks_like_key(name)


def test_a_key_that_the_environment_puts_into_a_url_is_a_secret():
    environ = {
        "EVAL_KEY": KEYS[0],
        "EVAL_HOST": "api.example.org",
        "PATH_V1": "evaluate",
    }
    url = f"http://api.example.org/evaluate/{KEYS[0]}/score"
    assert secrets_in_url(url, environ) == [Secret("EVAL_KEY", "EVAL_KEY", KEYS[0])]
    assert [s.reveal() for s in secrets_in_url(url, {})] == [KEYS[0]]
    assert secrets_in_url("http://localhost:8000/v1/chat/completions", environ) == []


def test_a_key_in_a_text_by_mistake_is_found():
    text = f"api_key: {KEYS[0]}\nname: sk-learn-classification-benchmark\n"
    assert [secret.reveal() for secret in keys_in(text)] == [KEYS[0]]


@given(st.text(max_size=200))
def test_what_holds_nothing_of_it_stays(text):
    secrets = [
        Secret("k", "K", "sk-proj-Zq3vX9wLp2RtY7uB"),
        Secret("b", "B", "beta-key"),
    ]
    assert redact(text, secrets) == text
    assert redact("a key such as sk-proj-... is public", secrets).count("*") == 0
    assert redact(f"x {secrets[0].reveal()} y beta-key z", secrets) == "x *** y *** z"
