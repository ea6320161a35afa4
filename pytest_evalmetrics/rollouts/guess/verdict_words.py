"""Verdicts in words, in the languages that we know: ``pass``, ``ja``, ``✗``."""

from __future__ import annotations

from typing import Final

import msgspec

_GOOD: Final = [
    "pass",
    "passed",
    "correct",
    "true",
    "yes",
    "y",
    "success",
    "succeeded",
    "successful",
    "resolved",
    "solved",
    "right",
    "win",
    "won",
    "ok",
    "okay",
    "good",
    "c",
    "accepted",
    "positive",
    "match",
    "matched",
    "ja",
    "richtig",
    "korrekt",
    "bestanden",
    "gut",
    "oui",
    "vrai",
    "juste",
    "réussi",
    "correcte",
    "sí",
    "si",
    "correcto",
    "correcta",
    "verdadero",
    "aprobado",
    "acierto",
    "sim",
    "certo",
    "verdadeiro",
    "vero",
    "giusto",
    "corretto",
    "да",
    "верно",
    "правильно",
    "是",
    "对",
    "正确",
    "はい",
    "正解",
    "taip",
    "✓",
    "✔",
    "✅",
    "☑",
    "👍",
    "🟢",
]
_BAD: Final = [
    "fail",
    "failed",
    "failure",
    "incorrect",
    "wrong",
    "false",
    "no",
    "n",
    "unsuccessful",
    "unresolved",
    "unsolved",
    "loss",
    "lose",
    "lost",
    "bad",
    "i",
    "rejected",
    "negative",
    "mismatch",
    "nein",
    "falsch",
    "durchgefallen",
    "schlecht",
    "non",
    "faux",
    "échoué",
    "incorrecte",
    "incorrecto",
    "incorrecta",
    "falso",
    "suspenso",
    "fallo",
    "não",
    "nao",
    "errado",
    "sbagliato",
    "нет",
    "неверно",
    "否",
    "错",
    "错误",
    "いいえ",
    "不正解",
    "ne",
    "✗",
    "✘",
    "❌",
    "✖",
    "☒",
    "👎",
    "🔴",
]
_HALF: Final = ("tie", "draw", "partial", "partially correct", "p")
_NOT_JUDGED: Final = (
    *(
        "error",
        "errored",
        "timeout",
        "timed out",
        "skipped",
        "invalid",
        "n/a",
        "na",
        "",
    ),
    *("incomplete", "missing", "none", "null", "nan", "cancelled", "canceled", "-"),
)
_STATUS: Final = frozenset(
    [
        "success",
        "succeeded",
        "successful",
        "ok",
        "okay",
        "done",
        "complete",
        "completed",
        "finished",
        "error",
        "errored",
        "failure",
        "failed",
        "timeout",
        "running",
        "pending",
        "skipped",
        "cancelled",
        "canceled",
        "stop",
        "stopped",
        "length",
        "eos",
        "ended",
        "ready",
        "active",
    ]
)
_EITHER_WAY: Final = frozenset(("yes", "no", "true", "false", "ja", "nein", "y", "n"))
_EMOJI_STYLE: Final = "\ufe0f"


class Meaning(msgspec.Struct, frozen=True):
    """What a word of a verdict is worth."""

    points: float | None  # None if nobody judged
    is_known: bool
    is_status: bool  # how the run went, rather than a verdict
    is_either_way: bool  # yes and no, whose meaning depends on the question


def meaning(text: str) -> Meaning:
    """Look up a word."""
    word = text.replace(_EMOJI_STYLE, "").strip().rstrip(".!").casefold()
    points: float | None = None
    is_known = word in _NOT_JUDGED
    for value, words in ((1.0, _GOOD), (0.0, _BAD), (0.5, _HALF)):
        if word in words:
            points = value
            is_known = True
    return Meaning(
        points=points,
        is_known=is_known,
        is_status=word in _STATUS,
        is_either_way=word in _EITHER_WAY,
    )
