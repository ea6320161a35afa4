"""What counts as a key, and how much of one is hidden: the bounds of both."""

import json

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport.secrets import (
    Secret,
    find_secret,
    is_placeholder,
    keys_in,
    looks_like_key,
    redact,
    secrets_in_url,
)

OWN = "Zq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc"  # of the key, beyond its public start
KEY = f"sk-proj-{OWN}"
SECRET = Secret("k", "K", KEY)


def windows(text, size):
    return [text[at : at + size] for at in range(len(text) - size + 1)]


def hidden_in(parts):
    """Return the parts that are hidden; each stands between brackets."""
    return [part for part in parts if redact(f"[{part}]", [SECRET]) == "[***]"]


# -- parts of a key ------------------------------------------------------------------------------


def test_any_eight_characters_of_a_key_are_hidden():
    parts = windows(OWN, 8)
    assert hidden_in(parts) == parts


def test_seven_characters_of_a_key_are_not():
    assert hidden_in(windows(OWN, 7)) == []


def test_any_sixteen_digits_of_a_keys_hexadecimal_are_hidden():
    parts = windows(KEY.encode().hex(), 16)
    assert hidden_in(parts) == parts


def test_fifteen_digits_of_a_keys_hexadecimal_are_not():
    assert hidden_in(windows(KEY.encode().hex(), 15)) == []


@pytest.mark.parametrize("separator", [" ", ":"])
def test_any_eight_bytes_of_a_keys_spaced_hexadecimal_are_hidden(separator):
    parts = windows(KEY.encode().hex(separator), 23)
    assert hidden_in(parts) == parts
    assert hidden_in(windows(KEY.encode().hex(separator), 22)) == []


def test_the_public_start_of_a_key_is_not_hidden():
    assert redact("sk-proj- and sk-proj-x", [SECRET]) == "sk-proj- and sk-proj-x"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"{KEY}{KEY}", "***"),
        (f"{KEY} {KEY}", "*** ***"),
        (f"{OWN[:10]}{OWN[5:20]}", "***"),
        (f"x{KEY}x{KEY[:20]}x", "x***xsk-proj-***x"),
    ],
)
def test_what_touches_is_hidden_as_one(text, hidden):
    assert redact(text, [SECRET]) == hidden


def test_positions_hold_behind_a_letter_whose_lower_case_is_longer():
    assert redact(f"\u0130\u0130{KEY}\u0130", [SECRET]) == "\u0130\u0130***\u0130"


@pytest.mark.parametrize(
    ("key", "part", "is_hidden"),
    [
        # two characters to a piece: no words
        ("Ab1Cd2Ef3Gh4Ij5K", "Ab1Cd2Ef3", True),
        # of a short part, pieces of 2.5 characters may be words
        ("sk-abc1de2fgh3ij4kl", "abc1de2f", True),
        ("sk-abcd1efgh2ijklmno", "abcd1efgh2", False),
        # of a long one, pieces of 3.5 characters
        ("sk-abcde1fghij2klmno3p", "abcde1fghij2klmno", True),
        ("sk-abcdef1ghijkl2mnopqr3stuvwx", "abcdef1ghijkl2mnopqr3", False),
        # it is long from 16 characters on
        ("sk-abcde1fghij2klmno3p", "abcde1fghij2klmn", True),
        ("sk-abcde1fghij2klmno3p", "abcde1fghij2klm", False),
    ],
)
def test_only_a_part_that_can_not_be_words_is_hidden(key, part, is_hidden):
    text = f"<{part}>"
    assert (redact(text, [Secret("k", "K", key)]) == "<***>") is is_hidden


# -- the whole, in the escapes of others ---------------------------------------------------------

NAMED = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
    "/": "&sol;",
    "+": "&plus;",
    "=": "&equals;",
    "_": "&lowbar;",
}


@pytest.mark.parametrize("sign", NAMED)
def test_a_sign_that_html_names_is_recognised(sign):
    key = f"sunflower{sign}meadow"
    secret = Secret("k", "K", key)
    assert redact(key.replace(sign, NAMED[sign]), [secret]) == "***"


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_key_behind_up_to_three_layers_of_escapes_is_hidden(layers):
    text = 'sun"flower\\meadow'
    secret = Secret("k", "K", text)
    for _ in range(layers):
        text = json.dumps(text)
    assert "***" in redact(text, [secret])
    assert secret.is_in(text)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_key_in_percent_codes_of_percent_codes_is_hidden(layers):
    text = "sunflower-meadow"
    for _ in range(layers):
        text = "".join(f"%{ord(sign):02x}" for sign in text)
    assert redact(f"[{text}]", [Secret("k", "K", "sunflower-meadow")]) == "[***]"


def test_a_text_without_the_key_keeps_its_escapes():
    text = "a%20b &amp; c\\n"
    assert redact(text, [SECRET]) == text


def test_a_new_key_leaves_the_identity_of_a_call_as_it_was():
    assert SECRET.left_out_of(f"a {KEY} and {OWN}") == f"a *** and {OWN}"
    placeholder = Secret("k", "K", "not-needed")
    assert placeholder.left_out_of("a not-needed") == "a not-needed"


def test_what_is_shorter_than_eight_characters_hides_nothing():
    assert redact("x3vQ9zK", [Secret("k", "K", "x3vQ9zK")]) == "x3vQ9zK"
    assert redact("x3vQ9zKp", [Secret("k", "K", "x3vQ9zKp")]) == "***"


# -- placeholders --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("xyxyxyxy", True),  # of two characters
        ("xyzxyzxy", False),
        ("key-xxx", True),
        ("key-xx", False),
        ("key-1", True),
        ("key-890", True),  # counted up
        ("key-31", False),
        ("key-777", True),
        ("key-sunflower", False),
        ("", True),
    ],
)
def test_a_placeholder_is_made_of_words_for_one_and_of_fillers(value, is_one):
    assert is_placeholder(value) is is_one
    assert Secret("k", "K", value).is_placeholder is is_one


# -- keys by mistake -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_key"),
    [
        ("Zq3vX9wLp2RtY7uB", True),
        ("Zq3vX9wLp2RtY7u", False),  # 15 characters
        ("sk-learn-classification-benchmark", False),
        ("3f9a1c7e5b2d8046", True),
    ],
)
def test_a_text_of_16_characters_that_can_not_be_words_looks_like_a_key(text, is_key):
    assert looks_like_key(text) is is_key


# as their providers describe them
FORMS = [
    "sk-Zq3vX9wLp2RtY7uBn4Ka",
    "sk-proj-Zq3vX9wLp2RtY7uBn4Ka",
    "pk_live_Zq3vX9wLp2RtY7uBn4Ka",
    "ghp_Zq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc",
    "github_pat_Zq3vX9wLp2RtY7uBn4KaJ8",
    "glpat-Zq3vX9wLp2RtY7uBn4Ka",
    "hf_Zq3vX9wLp2RtY7uBn4Ka",
    "xoxb-Zq3vX9wLp2RtY7uBn4Ka",
    "AKIAZ3VX9WLP2RTY7UBN",
    "AIzaZq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc",
    "nvapi-Zq3vX9wLp2RtY7uBn4Ka",
    "gsk_Zq3vX9wLp2RtY7uBn4Ka",
    "r8_Zq3vX9wLp2RtY7uBn4Ka",
    "eyJ0eXAiOiJKV1Qi.eyJzdWIiOiIx.Xb5Nc1Vm9Rt4",
]


@pytest.mark.parametrize("key", FORMS)
def test_a_key_of_a_well_known_provider_is_found_in_a_file(key):
    (secret,) = keys_in(f"url: http://h\nkey: '{key}'\n")
    assert (secret.name, secret.variable, secret.reveal()) == ("in the file", "", key)


def test_a_key_that_stands_twice_in_a_file_is_found_once_and_in_order():
    first, second = FORMS[2], FORMS[0]
    found = keys_in(f"{first} {second} {first}")
    assert [secret.reveal() for secret in found] == [first, second]


@pytest.mark.parametrize(
    "variable",
    ["API_KEY", "my_token", "Secret", "DB_PASSWORD", "passwd", "credentials"],
)
def test_a_variable_with_the_name_of_a_secret_is_one_in_a_url(variable):
    environ = {variable: "sunflower"}
    (secret,) = secrets_in_url("http://h/sunflower/score", environ)
    assert (secret.name, secret.variable) == (variable, variable)
    assert secret.reveal() == "sunflower"


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"PLACE": "sunflower"}, "http://h/sunflower"),
        ({"API_KEY": "flower7"}, "http://h/flower7"),  # too short
        ({"API_KEY": "password"}, "http://h/password"),  # a placeholder
        ({"API_KEY": "sunflower"}, "http://sunflower/score"),  # the host
    ],
)
def test_what_is_no_secret_in_a_url(environ, url):
    assert secrets_in_url(url, environ) == []


@pytest.mark.parametrize(
    "url",
    [
        f"http://h/{OWN}/score",
        f"http://h/score?key={OWN}&x=1",
        f"http://h/score?{OWN}",
        f"http://h/score?x=1&{OWN}#part",
    ],
)
def test_a_key_in_a_url_is_found_without_a_variable(url):
    (secret,) = secrets_in_url(url, {})
    assert (secret.name, secret.variable) == ("in the URL", "")
    assert secret.reveal() == OWN


def test_a_variable_explains_the_key_in_a_url():
    environ = {"PLACE": OWN}
    (secret,) = secrets_in_url(f"http://h/{OWN}", environ)
    assert secret.variable == "PLACE"


# -- from the environment ------------------------------------------------------------------------


def test_a_secret_that_can_not_be_sent_says_what_to_set():
    with pytest.raises(EvalMetricsError) as raised:
        find_secret("my-key", {"MY_KEY": "schl\xfcssel"})
    assert raised.value.message == (
        "the environment variable MY_KEY holds a character that can't be sent"
    )
    assert raised.value.hint == "set MY_KEY to the key alone, in printable ASCII"
    assert raised.value.about == "my-key"


def test_a_key_in_place_of_its_name_says_what_to_do():
    with pytest.raises(EvalMetricsError) as raised:
        find_secret(KEY, {})
    assert raised.value.message == (
        "api_key_secret holds a key (sk-***), expected the name of the environment "
        "variable that holds it"
    )
    assert raised.value.hint == (
        "replace the key, because the file has revealed it; set a variable to the new "
        "one, and write the variable's name"
    )
    assert raised.value.about == KEY


def test_a_missing_secret_says_which_variables_may_hold_it():
    with pytest.raises(EvalMetricsError) as raised:
        find_secret("my/key", {})
    assert raised.value.message == "the secret 'my/key' is not in the environment"
    assert raised.value.hint == (
        "set one of these environment variables: my/key, MY/KEY, MY_KEY"
    )
    assert raised.value.about == "my/key"


def test_all_variables_that_are_empty_are_named():
    with pytest.raises(EvalMetricsError) as raised:
        find_secret("my-key", {"my-key": "", "MY_KEY": " "})
    assert raised.value.message == (
        "the secret 'my-key' is not in the environment (my-key, MY_KEY is set, but empty)"
    )


def test_the_variables_of_this_process_are_the_environment(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    secret = find_secret("my-key")
    assert (secret.name, secret.variable, secret.reveal()) == ("my-key", "MY_KEY", KEY)
    (in_url,) = secrets_in_url(f"http://h/{KEY}")
    assert in_url.variable == "MY_KEY"
