"""Signs in an answer's text: refusals, formats, citations and the language."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_BEGINNING: Final = 300  # characters in which a refusal stands
_READ: Final = 300  # characters that tell the language
_FEWEST_WORDS: Final = 3  # of one language that show it
_is_refusal = re.compile(
    r"\b(?:i(?: am|['\u2019]m)? (?:can(?:no|['\u2019])t|unable to|not able to|won['\u2019]t"
    r"|will not|must decline|sorry,? but i)\b"
    r"|(?:can(?:no|['\u2019])t|unable to) (?:help|assist|comply)"
    r"|as an ai\b|i (?:have to|need to|must) (?:decline|refuse))",
).search
_REFUSING: Final = (
    *("can't", "can\u2019t", "cannot", "unable to", "not able to"),
    *("won't", "won\u2019t", "will not", "decline", "refuse", "sorry", "as an ai"),
)
_CITING: Final = ("://", "[", "\u3010")
_citations = re.compile(r"https?://|\[\d{1,3}\]|\u3010").findall
_fenced = re.compile(r"\A\s*```(?:json)?\s*\n(.*)```\s*\Z", re.DOTALL).match
_decode = msgspec.json.Decoder().decode
_SCRIPTS: Final = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7af"),
    ("zh", "\u4e00", "\u9fff"),
    ("cyrillic", "\u0400", "\u04ff"),
    ("greek", "\u0370", "\u03ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("hebrew", "\u0590", "\u05ff"),
    ("hindi", "\u0900", "\u097f"),
    ("thai", "\u0e00", "\u0e7f"),
)
_WORDS: Final = {
    "en": "the of and to in is that for it with as was are be this you not have from",
    "de": "der die das und ist nicht ein eine zu den mit von auf für sich dem auch es",
    "fr": "le la les des et est une un du dans que pour pas vous sur avec ce il au",
    "es": "el los las y es una un del que para por con no se su lo al como más",
    "it": "il gli e è una un del che per non con si di della sono nel più anche",
    "pt": "o os as e é uma um do que para não com se da em no mais por dos",
    "nl": "de het een en is van niet dat met voor op te zijn je aan er ook",
}
_LANGUAGES_OF: Final[dict[str, tuple[str, ...]]] = {}
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)


def is_refusal(answer: str) -> bool:
    """Check whether an answer begins with a refusal, in English."""
    beginning = answer[:_BEGINNING].lower()
    # a search for plain words is ten times as fast
    if not any(word in beginning for word in _REFUSING):
        return False
    return _is_refusal(beginning) is not None


def count_citations(answer: str) -> int:
    """Count addresses and numbers of sources in an answer."""
    if not any(mark in answer for mark in _CITING):
        return 0
    return len(_citations(answer))


def is_json(answer: str) -> bool:
    """Check whether an answer is a JSON object or list, also in a code block."""
    fenced = None
    if answer[:4].lstrip().startswith("```"):
        fenced = _fenced(answer)
    text = (fenced[1] if fenced else answer).strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def language_of(answer: str) -> str:
    """Guess the language, or the script, of an answer; empty if it is too short to tell."""
    beginning = answer[:_READ]
    if not beginning.isascii():
        for name, first, last in _SCRIPTS:
            letters = sum(first <= letter <= last for letter in beginning)
            if 5 * letters >= len(beginning):
                return name
    counts: dict[str, int] = {}
    for word in beginning.lower().split():
        for language in _LANGUAGES_OF.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    if not counts:
        return ""
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= _FEWEST_WORDS else ""
