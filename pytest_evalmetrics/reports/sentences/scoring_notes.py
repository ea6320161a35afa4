"""Notes on the rows that are scored, on answers, judges and keys."""

from __future__ import annotations

from typing import Final

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.scoring_notes import (
    ConstantRequest,
    CutAnswers,
    DefaultReward,
    DrawnSample,
    FailedRequestsLeftOut,
    JudgeAgainstItself,
    JudgeAgainstPeople,
    KeyInFile,
    KeyInUrl,
    KeysInTaskIds,
    LimitedRows,
    UncountedTokens,
    UnscoredAnchors,
    UnscoredRows,
    UntrustedValues,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.phrases import remarked

_GROUPS: Final = 6  # of a sample, on a line

# -- which rows ------------------------------------------------------------------------------


@sentence.register(DrawnSample)
def drawn_sample(note: DrawnSample) -> str:
    """Count the tasks, and those of each group."""
    text = f"sample: {of_many(note.drawn, note.tasks, 'task')}"
    if not note.by:
        return text
    groups = [f"{group.name} {group.drawn} of {group.tasks}" for group in note.groups]
    return f"{text}, by {note.by}: {listed(groups, _GROUPS)}"


@sentence.register(LimitedRows)
def limited_rows(note: LimitedRows) -> str:
    """Count the rows that are taken."""
    rows = of_many(note.taken, note.rows, "row")
    first = f"params.limit_samples takes the first {rows}"
    return f"incomplete on purpose: {first}, and no baseline is recorded"


@sentence.register(FailedRequestsLeftOut)
def failed_requests_left_out(note: FailedRequestsLeftOut) -> str:
    """Count the rollouts, and the tasks that have none left."""
    rollouts = of_many(note.failed, note.rollouts, "rollout")
    text = (
        f"left out of every metric: {rollouts}, whose request failed, because "
        "params.ignore_request_failure says so"
    )
    if not note.lost_tasks:
        return text
    return f"{text}; {of_many(note.lost_tasks, note.tasks, 'task', 'has')} none left"


# -- how a benchmark is set up ---------------------------------------------------------------


@sentence.register(DefaultReward)
def default_reward(note: DefaultReward) -> str:
    """Name the score, and the key that chooses another one."""
    stricter = f"the stricter score of {note.scorer}"
    return f"the reward is {note.score}, {stricter}: write `reward:` for another one"


@sentence.register(ConstantRequest)
def constant_request(note: ConstantRequest) -> str:
    """Name the key of the request."""
    return f"{note.key} has no template: each row asks the same"


@sentence.register(UntrustedValues)
def untrusted_values(note: UntrustedValues) -> str:
    """Name the values, and the filter that quotes them."""
    values = ", ".join(note.values)
    quoted = f"{{{{ {note.values[0]} | untrusted }}}}"
    return (
        f"the prompt of {note.scorer} has {values} as written in the row, where a text "
        f"can talk to the judge: write {quoted}"
    )


@sentence.register(KeyInFile)
def key_in_file(note: KeyInFile) -> str:  # noqa: ARG001
    """Say who can read the key."""
    return (
        "the benchmark file holds a key: it is hidden in reports, but everyone who "
        "reads the file has it; write the name of an environment variable instead"
    )


@sentence.register(KeyInUrl)
def key_in_url(note: KeyInUrl) -> str:
    """Say who can read the key."""
    key = "a key"
    if note.variable:
        key = f"the value of {note.variable}"
    return (
        f"a URL holds {key}: it is hidden in reports, but proxies and servers log "
        "URLs; api_key_secret sends it in a header"
    )


@sentence.register(KeysInTaskIds)
def keys_in_task_ids(note: KeysInTaskIds) -> str:
    """Count the ids."""
    ids = many(note.tasks, "task id")
    return f"{ids} with a key in it: it is hidden in baselines and reports"


# -- what scorers and models did -------------------------------------------------------------


@sentence.register(UnscoredRows)
def unscored_rows(note: UnscoredRows) -> str:
    """Count the rows, and give the first failure."""
    rows = of_many(note.count, note.rows, "row", "has")
    such_as = "such as"
    if note.count == 1:
        such_as = "at"
    example = f"{such_as} {note.example.row}: {note.example.reason}"
    example = remarked(example, note.example.hint)
    text = f"{rows} no {', '.join(note.scores)} ({note.kind}), {example}"
    if note.of_baseline:
        return f"of the baseline's rows: {text}"
    return text


@sentence.register(CutAnswers)
def cut_answers(note: CutAnswers) -> str:
    """Count the answers, and name the setting."""
    answers = of_many(note.cut, note.answers, "answer", "was")
    return (
        f"{answers} cut off at the most tokens that the model may write "
        "(finish_reason: length): raise max_tokens; the score truncated says which"
    )


@sentence.register(UncountedTokens)
def uncounted_tokens(note: UncountedTokens) -> str:
    """Count the answers."""
    answers = f"{note.uncounted} of {note.answers} answers"
    return f"{answers} don't say how many tokens they took"


# -- judges ----------------------------------------------------------------------------------


@sentence.register(JudgeAgainstItself)
def judge_against_itself(note: JudgeAgainstItself) -> str:
    """Give Krippendorff's alpha, or why there is none."""
    alpha = note.words
    if note.alpha is not None:
        alpha = f"alpha {note.alpha:.3g}"
    return (
        f"{note.score}: the judge agrees with itself by Krippendorff's {alpha}, over "
        f"{note.answers} answers to each of {note.rows} rows"
    )


@sentence.register(JudgeAgainstPeople)
def judge_against_people(note: JudgeAgainstPeople) -> str:
    """Count the rows on which they agree."""
    if note.agreed is None:
        return f"judge check: {note.words}"
    kappa = note.words
    if note.kappa is not None:
        kappa = f"kappa {note.kappa:.4g}"
    rows = f"{note.agreed} of {note.rows} labelled rows"
    return f"judge check: {note.score} is what people say in {rows} ({kappa})"


@sentence.register(UnscoredAnchors)
def unscored_anchors(note: UnscoredAnchors) -> str:
    """Count the anchors."""
    anchors = of_many(note.lost, note.anchors, "anchor", "has")
    return (
        f"{anchors} no {note.score} of its own: not scored, or the same row as another "
        "one"
    )
