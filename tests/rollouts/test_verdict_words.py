"""What the words of judges are worth, in many languages."""

import pytest

from pytest_evalmetrics.rollouts.guess.verdict_words import meaning

PASSED = {
    "English": "pass passed correct true yes y success succeeded successful resolved solved right "
    "win won ok okay good c accepted positive match matched",
    "German": "ja richtig wahr korrekt bestanden gut",
    "French": "oui vrai juste réussi correcte",
    "Spanish": "sí si correcto correcta verdadero aprobado acierto",
    "Portuguese": "sim certo verdadeiro aprovada aprovado",
    "Italian": "vero giusto corretto superato superata",
    "Dutch": "goed juist geslaagd ja",
    "Swedish": "rätt godkänd ja",
    "Norwegian": "riktig bestått ja",
    "Danish": "rigtigt ja",
    "Finnish": "oikein kyllä",
    "Polish": "tak poprawnie poprawna poprawne dobrze",
    "Czech": "ano správně",
    "Hungarian": "igen helyes",
    "Romanian": "corect",
    "Lithuanian": "taip",
    "Turkish": "evet doğru",
    "Russian": "да верно правильно верный правда",
    "Ukrainian": "так правильно",
    "Chinese": "是 对 正确 合格 通过",
    "Japanese": "はい 正解 合格 ○",
    "Korean": "예 네 정답 맞음 통과",
    "Arabic": "نعم صحيح",
    "Hebrew": "כן נכון",
    "Hindi": "हाँ सही",
    "Indonesian": "benar",
    "Vietnamese": "đúng",
    "signs": "✓ ✔ ✅ ☑ 👍 🟢",
}
FAILED = {
    "English": "fail failed failure incorrect wrong false no n unsuccessful unresolved unsolved "
    "loss lose lost bad i rejected negative mismatch",
    "German": "nein falsch durchgefallen schlecht",
    "French": "non faux échoué incorrecte",
    "Spanish": "no incorrecto incorrecta falso suspenso fallo reprobado",
    "Portuguese": "não nao errado falso reprovada reprovado",
    "Italian": "no falso sbagliato errato errata",
    "Dutch": "fout onjuist nee gezakt",
    "Swedish": "fel nej underkänd",
    "Norwegian": "feil nei",
    "Danish": "forkert nej",
    "Finnish": "väärin ei",
    "Polish": "nie niepoprawnie niepoprawna niepoprawne źle",
    "Czech": "ne špatně",
    "Hungarian": "nem helytelen",
    "Romanian": "nu incorect greșit",
    "Lithuanian": "ne",
    "Turkish": "hay\u0131r yanl\u0131\u015f",
    "Russian": "нет неверно неправильно ложь неверный",
    "Ukrainian": "ні неправильно",
    "Chinese": "否 错 错误 不合格 未通过",
    "Japanese": "いいえ 不正解 不合格 \u00d7",
    "Korean": "아니오 아니요 오답 틀림 실패",
    "Arabic": "لا خطأ",
    "Hebrew": "לא",
    "Hindi": "नहीं गलत",
    "Indonesian": "salah",
    "Vietnamese": "sai",
    "signs": "✗ ✘ ❌ ✖ ☒ 👎 🔴",
}


def points_of(words):
    return {word: meaning(word).points for word in words}


@pytest.mark.parametrize("language", PASSED)
def test_words_that_say_that_a_task_is_passed(language):
    words = PASSED[language].split()
    assert points_of(words) == dict.fromkeys(words, 1)


@pytest.mark.parametrize("language", FAILED)
def test_words_that_say_that_a_task_is_failed(language):
    words = FAILED[language].split()
    assert points_of(words) == dict.fromkeys(words, 0)


@pytest.mark.parametrize("word", ["tie", "draw", "partial", "partially correct", "p"])
def test_words_that_say_that_a_task_is_half_passed(word):
    assert meaning(word).points == 0.5


@pytest.mark.parametrize(
    "word",
    [
        *("error", "errored", "timeout", "timed out", "skipped", "invalid", "n/a"),
        *("na", "", "incomplete", "missing", "none", "null", "nan", "cancelled"),
        *("canceled", "-", "n.a", "#n/a", "\u2013", "\u2014", "not applicable"),
        *("not judged", "not graded", "not evaluated", "not scored", "not run"),
    ],
)
def test_words_that_say_that_nobody_judged(word):
    known = meaning(word)
    assert known.is_known
    assert known.is_not_judged
    assert known.points is None


@pytest.mark.parametrize("word", ["pass", "fail", "tie", "unclear", "not passed"])
def test_other_words_do_not_say_that_nobody_judged(word):
    assert not meaning(word).is_not_judged


@pytest.mark.parametrize(
    "word",
    [
        *("not passed", "not_correct", "not-solved", "no match", "nicht bestanden"),
        *("non superato", "non corretto", "pas correcte", "não aprovado"),
        *("nao aprovado", "niet geslaagd", "ikke bestått", "inte godkänd"),
        "не верно",
    ],
)
def test_a_negated_pass_is_a_failure(word):
    known = meaning(word)
    assert known.is_known
    assert known.points == 0


@pytest.mark.parametrize(
    "word", ["unclear", "not wrong", "not", "passed not", "it is passed", "A", "b", "4"]
)
def test_words_of_unknown_worth(word):
    known = meaning(word)
    assert not known.is_known
    assert known.points is None


@pytest.mark.parametrize(
    ("word", "points"),
    [
        (" Pass ", 1),
        ("FAILED!", 0),
        ("Correct.", 1),
        ("✔\ufe0f", 1),
        ("✖\ufe0f", 0),
        ("PARTIALLY_CORRECT", 0.5),
        ("timed-out", None),
        ("N/A", None),
        ("Правильно!", 1),
    ],
)
def test_case_blanks_and_the_style_of_signs_do_not_count(word, points):
    known = meaning(word)
    assert known.is_known
    assert known.points == points


@pytest.mark.parametrize(
    "word",
    [
        *("success", "succeeded", "successful", "ok", "okay", "done", "complete"),
        *("completed", "finished", "error", "errored", "failure", "failed", "timeout"),
        *("running", "pending", "skipped", "cancelled", "canceled", "stop", "stopped"),
        *("length", "eos", "ended", "ready", "active", "Success"),
    ],
)
def test_words_that_may_say_how_a_run_went(word):
    assert meaning(word).is_status


@pytest.mark.parametrize("word", ["pass", "correct", "yes", "fail", "wrong", "tie"])
def test_words_that_say_nothing_of_how_a_run_went(word):
    assert not meaning(word).is_status


@pytest.mark.parametrize(
    "word", ["yes", "no", "true", "false", "ja", "nein", "y", "n", "Yes"]
)
def test_words_whose_worth_depends_on_what_was_asked(word):
    assert meaning(word).is_either_way


@pytest.mark.parametrize("word", ["pass", "fail", "correct", "wrong", "tie", "✓"])
def test_words_whose_worth_does_not_depend_on_what_was_asked(word):
    assert not meaning(word).is_either_way
