"""What the names of fields tell of their values."""

from __future__ import annotations

import re
from enum import IntEnum, auto
from itertools import chain
from typing import Final

from pytest_evalmetrics.rollouts.name_words import last_part, word_set, words_of


class RewardName(IntEnum):
    """How much a name says for a number being the reward; the most first."""

    REWARD = auto()  # the field is called reward
    VERDICT = auto()  # correct, score, f1 ...
    UNKNOWN = auto()
    NEVER = auto()  # an id, a time, a count, a setting ...


class TaskName(IntEnum):
    """How much a name says for a value being the id of a task; the most first."""

    OWN = auto()  # question_id, task ...
    OTHER_ID = auto()  # ticket_id
    PLAIN_ID = auto()  # id, index
    QUESTION = auto()  # the question itself
    TITLE = auto()  # name, title
    UNKNOWN = auto()
    NEVER = auto()  # trace_id, answer ...


_REWARD: Final = word_set("reward rewards return")
_VERDICT: Final = word_set(
    "score scores correct correctness incorrect passed pass passes ok success "
    "successful resolved solved accuracy acc exact em match matched grade grades "
    "graded rating f1 win won verdict verdicts result results outcome outcomes "
    "quality judgement judgment accepted bleu rouge meteor chrf wer cer ter mae "
    "mse rmse perplexity ndcg mrr auc iou recall precision faithfulness faithful "
    "relevancy relevance similarity groundedness helpfulness harmlessness "
    "toxicity hallucination utility security safety value failed fail fails "
    "richtig punkte punktzahl bewertung ergebnis korrekt bestanden acierto "
    "correcto puntuacion puntaje resultado nota juste correctes exactitude "
    "correto acertou résultat resultat correcte esito corretto punteggio wynik "
    "ocena вердикт результат оценка 結果 判定 结果 判断 得分 결과 sonuç resultaat "
    "uitslag goed juist rätt riktig oikein"
)
_VERDICT_HOLDERS: Final = word_set(
    "score scores metric metrics reward rewards grade grades grading evaluation "
    "evaluations eval"
)
_TEXT_VERDICT: Final = word_set(
    "verdict judgement judgment grade outcome rating result value winner "
    "preference bewertung ergebnis resultado nota correct correctness passed pass "
    "esito wynik résultat resultat вердикт 結果 判定 结果 결과 sonuç resultaat"
)
_NO_REWARD: Final = word_set(
    "id ids uid uuid index idx seed epoch attempt attempts trial trials repeat "
    "repeats sample samples step steps line row rank number num count counts "
    "token tokens length len size bytes chars words turn turns time times "
    "timestamp date created started ended updated duration latency elapsed "
    "runtime walltime seconds secs sec ms cost usd price version year temperature "
    "top max min threshold weight variance var std stdev stderr use used cached "
    "has enabled valid logits logprob logprobs done finished truncated stopped "
    "retries retry exit code returncode rc errno prob probability likelihood port "
    "offset page priority difficulty level position order confidence expected "
    "gold target reference truth baseline tstamp ts"
)
# what a model answers, or should answer: no verdict on it
_ANSWERS: Final = word_set(
    "answer answers output outputs response responses prediction predictions "
    "predicted pred preds completion completions label labels gold target choice "
    "choices guess antwort antworten respuesta respuestas resposta reponse "
    "risposta extracted chosen selected picked option options"
)
_NO_REWARD_ALONE: Final = word_set("s n k p t at i")
_SETTINGS: Final = word_set(
    "usage config configs params parameters settings args arguments kwargs timing "
    "timings doc document documents input inputs sampling env environment limits "
    "request tools"
)
# what counts where its numbers are larger than 1: tests that passed
_COUNTED: Final = word_set(
    "passed failed fails passes correct incorrect solved resolved matched won wins "
    "accepted success successes richtig bestanden correctes"
)
_MAXIMA: Final = word_set("max maximum total possible available of n")
_EXTREMES_OF: Final = word_set(
    "token tokens length time steps turns retries cost usd latency ms seconds"
)
_ERRORS_OF_MEANS: Final = word_set("stderr sem ci ci95")
_ERRORS_IN_WORDS: Final = (("std", "err"), ("standard", "error"), ("std", "error"))
_BETTER: Final = word_set(
    "better maximize minimize maximise minimise direction objective"
)
_WAYS: Final = word_set(
    "lower higher larger smaller maximize minimize maximise minimise direction objective"
)
_COUNTS: Final = word_set("n num number total count")
_COUNTED_TASKS: Final = word_set("effective original samples docs rows")
_STATUS: Final = word_set("status state finish stop reason phase stage")

_OWN: Final = word_set(
    "task problem question instance example doc item case test prompt query "
    "puzzle exercise challenge issue frage aufgabe pregunta tarea pergunta "
    "exercice q"
)
_OWN_ALONE: Final = word_set(
    "qid tid taskid task problem testcase aufgabe exercise case"
)
_ATTEMPT: Final = word_set(
    "trial trace run span session score request response message event record row "
    "log job experiment attempt rollout completion generation conversation dialog "
    "dialogue thread episode user worker model agent system commit batch file "
    "project dataset parent judge annotator call tool eval evaluation result "
    "submission uuid guid hash tenant org author"
)
_ID: Final = word_set("id ids index idx key no nr number name uid")
_ID_ENDS: Final = word_set("id ids uid key")
_PLAIN_ID: Final = word_set("id uid index idx key")
_QUESTION: Final = word_set(
    "question prompt problem instruction query input inputs frage pregunta pergunta"
)
_TITLE: Final = word_set("name title label")
_OUTPUT: Final = word_set(
    "answer answers response responses output outputs completion prediction "
    "predictions pred preds explanation reason reasoning message error text "
    "content raw comment note notes code patch trajectory generation generated "
    "antwort respuesta model agent status state verdict result timestamp date "
    "time created updated reference expected gold target description context "
    "contexts split"
)
_SAMPLE: Final = word_set(
    "sample attempt trial epoch repeat repetition rollout run seed try iteration k"
)
_STEPS: Final = word_set("step timestep turn round checkpoint frame action move")
_AGENT: Final = word_set("model agent system engine modell")
_GROUP: Final = word_set(
    "subset split category subject lang language domain dataset suite benchmark "
    "topic section type group source set field area sprache turn"
)
_KINDS_OF_TASKS: Final = word_set(
    "difficulty level kind type tag tags priority severity weight points max size "
    "length version source format style"
)
_BY: Final = ("by", "per", "pro", "nach")
_METRIC: Final = word_set(
    "metric scorer evaluator name judge judges grader annotator rater criterion "
    "dimension"
)
_PART_LISTS: Final = word_set(
    "message messages step steps turn turns call calls event events span spans "
    "log logs context contexts document documents doc docs chunk chunks passage "
    "passages history conversation dialogue trajectory trace traces action "
    "actions observation observations choice choices tool tools file files check "
    "checks assertion assertions criterion criteria rubric rubrics component components"
)
_ATTEMPT_LISTS: Final = word_set(
    "attempts trials rollouts samples runs generations completions responses "
    "epochs repeats results predictions outputs evaluations tries"
)
_NUMBERED_VERDICTS: Final = word_set(
    "score scores correct passed pass success result reward rewards grade rating verdict "
    "outcome resolved solved acc accuracy ok"
)
_TASK_LISTS: Final = word_set(
    "tasks problems questions instances examples items cases tests testcases "
    "prompts queries puzzles exercises challenges issues entries aufgaben fragen"
)
_SUBSET_LISTS: Final = word_set(
    "suites testsuites subsets splits categories subjects groups sections topics "
    "domains datasets benchmarks languages areas sets modules files classes"
)
_RUN_LISTS: Final = word_set(
    "runs experiments attempts trials epochs seeds repeats rollouts iterations "
    "models agents systems"
)


_ends_in_number = re.compile(r"(.*?)[\s_#-]*\d+").fullmatch
_numbered = re.compile(r"([^\W\d_]+)[\s_-]*\d+").fullmatch


def _parts_above(path: str) -> list[str]:
    parts = path.split(".")[:-1]
    return list(chain.from_iterable(map(words_of, parts)))


def reward_name(path: str) -> RewardName:
    """Judge the name of a number."""
    words = words_of(last_part(path))
    above = _parts_above(path)
    is_verdict = bool((_VERDICT | _REWARD).intersection(words))
    is_setting = bool(_SETTINGS.intersection(above))
    # the first that holds
    rules = (
        (RewardName.NEVER, not words or bool(_NO_REWARD.intersection(words))),
        (RewardName.NEVER, is_setting or _NO_REWARD_ALONE.issuperset(words)),
        (RewardName.NEVER, is_status(path) and not _VERDICT.intersection(words)),
        (RewardName.REWARD, words == ("reward",)),
        (RewardName.NEVER, bool(_ANSWERS.intersection(words)) and not is_verdict),
        (RewardName.VERDICT, is_verdict or bool(_VERDICT_HOLDERS.intersection(above))),
    )
    return next((name for name, holds in rules if holds), RewardName.UNKNOWN)


def may_be_a_count(path: str) -> bool:
    """Check whether a whole number may count tests, rather than be a grade, by its name."""
    return bool(_COUNTED.intersection(words_of(last_part(path))))


def is_maximum(path: str) -> bool:
    """Check whether a number may be the most that a score can be, by its name."""
    words = words_of(last_part(path))
    return bool(_MAXIMA.intersection(words)) and not _EXTREMES_OF.intersection(words)


def is_error_of_a_mean(path: str) -> bool:
    """Check whether a number may be the standard error of a mean, by its name."""
    words = words_of(last_part(path))
    return bool(_ERRORS_OF_MEANS.intersection(words)) or words[-2:] in _ERRORS_IN_WORDS


def says_direction(path: str) -> bool:
    """Check whether a field says which way a score is better, by its name."""
    words = words_of(last_part(path))
    return bool(_BETTER.intersection(words)) and bool(_WAYS.intersection(words))


def counts_tasks(path: str) -> bool:
    """Check whether a number may be that of the tasks of a mean, by its name."""
    words = words_of(last_part(path))
    if words in (("n",), ("support",), ("effective",), ("sample", "len")):
        return True
    is_count = len(words) > 1 and words[0] in _COUNTS
    return is_count and words[-1] in _TASK_LISTS | _COUNTED_TASKS


def is_status(path: str) -> bool:
    """Check whether a field says how a run went, by its name."""
    return bool(_STATUS.intersection(words_of(last_part(path))))


def may_hold_a_verdict_in_words(path: str) -> bool:
    """Check whether texts of unknown meaning may be verdicts, by their field's name."""
    return bool(_TEXT_VERDICT.intersection(words_of(last_part(path))))


def task_name(path: str) -> TaskName:
    """Judge the name of an id or a text."""
    words = words_of(last_part(path))
    if not words:
        return TaskName.NEVER
    is_single = len(words) == 1
    is_id = words[-1] in _ID
    # the noun of the id: task in user_task_id
    noun = words[-2] if is_id and not is_single else ""
    is_output = bool(_OUTPUT.intersection(words))
    # the first that holds
    rules = (
        (TaskName.OWN, noun in _OWN),
        (TaskName.OWN, is_single and words[0] in _OWN_ALONE),
        (TaskName.NEVER, is_id and bool(_ATTEMPT.intersection(words))),
        (TaskName.OTHER_ID, not is_single and words[-1] in _ID_ENDS),
        (TaskName.PLAIN_ID, is_single and words[0] in _PLAIN_ID),
        (TaskName.QUESTION, words[-1] in _QUESTION and not is_output),
        (TaskName.TITLE, is_single and words[0] in _TITLE),
        (TaskName.NEVER, is_output),
    )
    return next((name for name, holds in rules if holds), TaskName.UNKNOWN)


def is_output(path: str) -> bool:
    """Check whether a field holds what came of an attempt, by its name."""
    words = words_of(last_part(path))
    return bool(_OUTPUT.intersection(words)) and words[-1] not in _ID


def is_question(path: str) -> bool:
    """Check whether a field holds the question of a task, by its name."""
    return task_name(path) is TaskName.QUESTION or last_part(path) in _QUESTION


def is_sample(path: str) -> bool:
    """Check whether a field may number the attempts at a task, by its name."""
    words = [word for word in words_of(last_part(path)) if word not in _ID]
    return bool(words) and _SAMPLE.issuperset(words)


def is_numbered_attempt(name: str) -> bool:
    """Check whether a key is the name of an attempt and its number: ``attempt_0``, ``seed42``."""
    match = _numbered(name.strip())
    if match is None or len(match.group(1)) == 1:
        return False
    return match.group(1).lower() in _SAMPLE | _ATTEMPT_LISTS


def is_step_number(path: str) -> bool:
    """Check whether a field numbers the parts of one attempt, by its name."""
    words = words_of(last_part(path))
    return bool(words) and bool(_STEPS.intersection(words))


def stem_of_attempts(path: str) -> str | None:
    """Return what the fields of several attempts share: ``run`` of ``run1``; None of others."""
    match = _ends_in_number(last_part(path))
    if match is None:
        return None
    above = path[: len(path) - len(last_part(path))]
    words = words_of(match[1])
    if not words and above:
        words = words_of(last_part(above.removesuffix(".")))
    if not words or words[-1] not in _SAMPLE | _ATTEMPT_LISTS | _NUMBERED_VERDICTS:
        return None
    return above + match[1]


def is_agent(path: str) -> bool:
    """Check whether a field may name the model or agent, by its name."""
    words = [word for word in words_of(last_part(path)) if word not in _ID]
    return bool(words) and _AGENT.issuperset(words)


def is_group(path: str) -> bool:
    """Check whether a field may name the part of a benchmark that a task belongs to."""
    words = [word for word in words_of(last_part(path)) if word not in _ID]
    return bool(words) and words[-1] in _GROUP


def describes_task(path: str) -> bool:
    """Check whether a field may say of which kind a task is, by its name."""
    return bool(_KINDS_OF_TASKS.intersection(words_of(last_part(path))))


def is_metric(path: str) -> bool:
    """Check whether a field may name the score of a row, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[0] in _METRIC


def lists_parts(path: str) -> bool:
    """Check whether a list holds the parts of one attempt, such as messages, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[-1] in _PART_LISTS


def lists_tasks(path: str) -> bool:
    """Check whether a list holds tasks, rather than attempts at one, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[-1] in _TASK_LISTS


def lists_subsets(path: str) -> bool:
    """Check whether a list holds the parts of a benchmark, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[-1] in _SUBSET_LISTS


def is_by_subset(path: str) -> bool:
    """Check whether an object's keys are the parts of a benchmark: ``by_subject``."""
    words = words_of(last_part(path))
    return len(words) > 1 and words[-2] in _BY and words[-1] in _GROUP


def lists_runs(path: str) -> bool:
    """Check whether a list holds runs over the same tasks, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[-1] in _RUN_LISTS


def lists_attempts(path: str) -> bool:
    """Check whether a list may hold the attempts at a task, by its name."""
    words = words_of(last_part(path))
    return bool(words) and words[-1] in _ATTEMPT_LISTS
