"""The names of metrics, ``metric[/score][[field=value]]``, with their ranges and directions.

``pass@1`` is of the benchmark's reward, ``pass@1/accuracy`` of another score,
``pass@1[difficulty=hard]`` over the rollouts whose field has that value, ``mean/output_tokens``
a base statistic of a score, pooled over all rollouts.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.spec.benchmark import BenchmarkSpec

# scores of each generated answer, and those of them that are counts
COUNTED_SCORES: Final = ("input_tokens", "output_tokens", "total_tokens", "truncated")
GENERATED_SCORES: Final = (*COUNTED_SCORES[:3], "latency_s", "cost", "truncated")
# scores of a benchmark with ``reference:``: its mean reward on a task, and the difference from it
REFERENCE: Final = "reference"
OVER_REFERENCE: Final = "over_reference"
MARK: Final = (
    "_evalmetrics"  # key of a generated rollout: the scorers' input, or its failure
)
STATISTICS: Final = ("mean", "max", "min", "median", "std")
PPI_MEAN: Final = "ppi/mean_reward"  # the mean reward, corrected by ``labels:``
JUDGE_METRICS: Final = ("judge_accuracy", "judge_kappa", "judge_quadratic_kappa")


class MetricName(msgspec.Struct, frozen=True):
    """The parts of a metric's name."""

    metric: str  # a registered name, package.module:attribute, or one of STATISTICS
    score: str | None = None  # None: the benchmark's reward
    field: str | None = None  # None: over all rollouts
    value: str | None = None

    @property
    def is_statistic(self) -> bool:
        """Whether it is a base statistic: ``median/reward`` is one, ``median`` is a metric."""
        return self.score is not None and self.metric in STATISTICS

    def over(self, field: str, value: str) -> MetricName:
        """Return the same metric, restricted to rollouts whose `field` has a `value`."""
        return structs.replace(self, field=field, value=value)

    def __str__(self) -> str:
        score = "" if self.score is None else f"/{self.score}"
        where = "" if self.field is None else f"[{self.field}={self.value}]"
        return f"{self.metric}{score}{where}"


@lru_cache(maxsize=1024)  # benchmarks of a run mostly name the same
def parse(text: str) -> MetricName:
    """Parse a metric's name; raise MetricError if it is invalid."""
    head, field, value = text, None, None
    if text.endswith("]"):
        # the first bracket with a `field=`; the rest of the text is the value
        bracket = re.search(r"\[([^\[\]=]+)=", text)
        if bracket is not None:
            head, field, value = (
                text[: bracket.start()],
                bracket[1],
                text[bracket.end() : -1],
            )
    metric, slash, score = head.partition("/")
    if not metric or (slash and not score):
        forms = "metric, metric/score, or either with [field=value]"
        hint = f"write {forms}: pass@1/accuracy[difficulty=hard]"
        raise MetricError(f"{text!r} is not a metric's name", hint=hint)
    return MetricName(metric, score if slash else None, field, value)


def fields_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the breakdown fields of metrics; the name of a hook's metric has none."""
    fields = set()
    for text in texts:
        with suppress(MetricError):
            fields.add(parse(text).field)
    return frozenset(field for field in fields if field)


# -- range, direction and rollouts needed, as the benchmark file states them ----------------

_OF_K: Final = re.compile(r"(?:pass@|pass\^|max@|pass_[0-9]+_of_)([0-9]{1,9})")
_RATE: Final = re.compile(r"pass_rate|pass@[0-9]+|pass\^[0-9]+|pass_[0-9]+_of_[0-9]+")
# of their score
_IN_RANGE: Final = re.compile(
    r"mean_reward|avg|median|worst_task|max@[0-9]+|p[1-9][0-9]?"
)
_PER_TASK: Final = re.compile(r"(?:time|tokens|cost)_per_task")


class Range(msgspec.Struct, frozen=True):
    """The closed range of a metric or score; infinite if unknown."""

    low: float = -math.inf
    high: float = math.inf
    why: str = ""  # for messages: "a rate from 0 to 1"

    @property
    def width(self) -> float:
        """The largest possible change."""
        return self.high - self.low


_UNIT: Final = Range(0.0, 1.0, "a rate from 0 to 1")
_USED: Final = Range(low=0.0, why="never below 0")


def _score_range(spec: BenchmarkSpec, score: str) -> Range:
    for scorer in spec.scorers:
        if score not in scorer.score_names:
            continue
        low, high = getattr(scorer, "limits", (None, None))
        for each in getattr(scorer, "scores", None) or ():
            if getattr(each, "name", None) == score:
                low, high = each.minimum, each.maximum
                if getattr(each, "rubric", None):
                    low, high = (
                        f(level.value for level in each.rubric) for f in (min, max)
                    )
        fill = spec.expect.missing_reward
        if score == spec.reward and isinstance(
            fill, int | float
        ):  # the number for missing rewards
            low = None if low is None else min(low, fill)
            high = None if high is None else max(high, fill)
        if low is None and high is None:
            return Range()
        ends = -math.inf if low is None else low, math.inf if high is None else high
        both = zip(("from", "to"), ends, strict=True)
        shown = " ".join(
            f"{side} {end:.12g}" for side, end in both if math.isfinite(end)
        )
        return Range(*ends, f"of {score}, which is a score {shown}")
    return _USED if score in GENERATED_SCORES else Range()


def range_of(spec: BenchmarkSpec, name: MetricName) -> Range:  # noqa: PLR0911 - a table
    """Return the range of a metric, as far as the benchmark file determines it."""
    if name.metric in spec.defined:
        keys = spec.defined[name.metric]
        if keys.limits == (0.0, 1.0):
            return _UNIT
        bounded = math.isfinite(keys.limits[0])
        ends = "from {:g} to {:g}".format(*keys.limits).removesuffix(" to inf")
        return Range(*keys.limits, f"{keys.type}, which is {ends}" if bounded else "")
    if name.is_statistic and name.metric == "std":
        return Range(low=0.0, why="a standard deviation, from 0")
    if not name.is_statistic and _RATE.fullmatch(name.metric):
        return _UNIT
    if not name.is_statistic and _PER_TASK.fullmatch(name.metric):
        return _USED
    if name.is_statistic or _IN_RANGE.fullmatch(name.metric):
        return _score_range(spec, name.score or spec.reward)
    return Range()


def rollouts_needed(
    spec: BenchmarkSpec, name: MetricName
) -> tuple[int, int, str] | None:
    """Return k, the rollouts of a task and the key that sets them, if k is larger, else None."""
    match = _OF_K.fullmatch(name.metric)
    if match is None or name.is_statistic or spec.pass_estimator == "first_k":  # noqa: S105
        return None
    expected, most = (
        spec.expect.rollouts,
        getattr(spec.num_samples, "least", spec.num_samples),
    )
    why = (
        f"num_samples: {most}"
        if most == spec.num_samples
        else f"num_samples: {{min: {most}}}"
    )
    if spec.answers is not None:
        if most is None:
            most, why = 1, "num_samples, which is 1 by default"
    elif expected == "any":
        most = None
    elif expected is not None:
        most, why = expected.max, f"expect: {{rollouts: {expected}}}"
    k = int(match[1])
    return (k, most, why) if most is not None and k > most else None


def is_rate(text: str) -> bool:
    """Whether a metric counts passing rollouts of the reward."""
    return _RATE.fullmatch(text.partition("[")[0]) is not None


def has_no_interval(name: MetricName) -> bool:
    """Whether a metric never has a confidence interval."""
    return name.is_statistic and name.metric != "mean"


def direction_of(  # noqa: PLR0911 - a table
    spec: BenchmarkSpec, text: str, *, of_reward: bool = True
) -> Direction | None:
    """Return which way is better for a metric, by scorers, then by its name; None if unknown."""
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return named_direction(text)
    rate = not name.is_statistic and _RATE.fullmatch(name.metric)
    metric = name.metric.rpartition(":")[2]
    own = None if metric in STATISTICS else named_direction(metric)
    if name.metric in spec.defined:
        return spec.defined[name.metric].direction or own
    if name.is_statistic and metric == "std":
        return None
    if name.score == OVER_REFERENCE and spec.reference is not None and own != "lower":
        return direction_of(spec, name.metric)
    if name.score is not None:
        return (
            "higher" if rate or own == "higher" else own or _of_score(spec, name.score)
        )
    if own == "lower" or not of_reward:
        return "higher" if rate else own
    declared = _declared(spec, spec.reward)
    if declared == "lower":
        return None if rate else "lower"
    # the direction of a reward named wer is ambiguous: the benchmark has to give it
    contradicts = less_is_better(_field_of(spec, spec.reward))
    return None if not declared and contradicts else "higher"


def _field_of(spec: BenchmarkSpec, score: str) -> str:
    """Name a score as its rows do: `reward: metrics.wer`, unless `map:` gives it other values."""
    rows = spec.rollouts or spec.dataset
    if rows is None or score != "reward" or score in getattr(rows, "map", ()):
        return score
    path = rows.fields.reward or rows.fields.scores.get(score)
    return path if isinstance(path, str) else score


def _of_score(spec: BenchmarkSpec, score: str) -> Direction | None:
    direction = _declared(spec, score) or named_direction(_field_of(spec, score))
    more = (
        getattr(s, "more_is_better", False)
        for s in spec.scorers
        if score in s.score_names
    )
    return (
        "higher"
        if direction is None and (score == spec.reward or any(more))
        else direction
    )


def _declared(spec: BenchmarkSpec, score: str) -> Direction | None:
    scores = (
        each
        for scorer in spec.scorers
        for each in getattr(scorer, "scores", None) or ()
    )
    return next(
        (s.direction for s in scores if getattr(s, "name", None) == score), None
    )


# -- which way is better, from the words of a name -----------------------------------------

Direction = Literal["higher", "lower"]

# The words below are the table in docs/gates.md.


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_TIME: Final = _set("""
    time latency latencies duration elapsed runtime ttft second sec millisecond milli ms minute hour
""")
_SPENT: Final = _TIME | _set(
    "token cost usd dollar price expense spend energy carbon memory"
)
_LOWER: Final = _SPENT | _set("""
    error err loss wer cer ter der mer eer mae mse rmse mape smape msle rmsle brier ece
    perplexity ppl nll deviance divergence kl kld jsd fid distance levenshtein
    toxicity toxic hallucination hallucinated hallucinating harm harmful harmfulness overrefusal
    bias biased stereotype violation violated unsafe jailbreak jailbroken insult profanity
    offensive hate hateful hatefulness abuse abusive misinformation maliciousness criminality
    misogyny risk vulnerability leak leakage memorization plagiarism
    failure failed fail crash timeout exception bug defect fault invalid incorrect wrong
    mistake miss missed warning unfaithful contradiction contradicted fabricated fabrication
    repetition truncated truncation overflow regret penalty fpr fnr far frr
    complaint escalation retry drop decline degradation disagreement inconsistency
""")
_HIGHER: Final = _set("""
    accuracy acc f1 f2 precision recall specificity sensitivity tpr tnr auc auroc auprc mcc
    success successful succeeded solved resolved fixed correct correctness match matched em
    pass passed passing ok reward bleu sacrebleu chrf rouge meteor bertscore comet bleurt
    similarity similar cosine
    faithfulness faithful groundedness grounded grounding relevance relevancy relevant
    helpfulness helpful quality coherence coherent fluency fluent consistency consistent
    completeness complete completed conciseness concise clarity readability informativeness
    safety safe harmless harmlessness unbiased nontoxic honesty honest truthfulness truthful
    truth factuality factual adherence compliance compliant achieved achievement
    ndcg mrr map hit coverage throughput tps qps efficiency uptime availability agreement
    kappa correlation pearson spearman kendall iou dice ssim psnr mos nps csat satisfaction
    preference win winrate elo rating grade usefulness useful utility creativity empathy
    politeness professionalism valid validity parsable parseable parsed compiled executable
    robustness reliability resistance recovery savings saved saving remaining likelihood
    loglikelihood logprob improvement progress acceptance accepted approval approved good better
    skill
""")
_SCORE: Final = _set("score point")  # higher is better, unless another word decides
_NOT: Final = _set("no non not without")
_TURNS: Final = _NOT | _set("free avoidance avoided reduction prevention")
_KEPT: Final = _set("saved saving savings accepted")  # higher is better, even for costs
# of an error: good, or how many?
_OPEN: Final = _set(
    "detection detector handling awareness defense tolerance correction found"
)
_PHRASES: Final[dict[Direction, frozenset[str]]] = {
    "lower": _set(
        "noise_sensitivity attack_success exploit_success false_positive false_negative "
        "false_alarm false_discovery negative_log_likelihood negative_likelihood cross_entropy "
        "bits_per_byte time_to"
    ),
    "higher": _set("true_positive true_negative on_time log_prob between_failure"),
}
_BENIGN: Final = _set("benign false over safe harmless legitimate unnecessary wrong")
_MALICIOUS: Final = _set("harmful unsafe malicious toxic jailbreak attack injection")
_YIELDED: Final = _set(
    "success successful succeeded compliance compliant agreement acceptance"
)
_JOINED: Final = _set("per of in on at for with by")
_COUNTED: Final = _set(
    "count usage used total number"
)  # a token alone may be of a match


@lru_cache(maxsize=1024)
def named_direction(name: str) -> Direction | None:
    """Return the direction that a name such as ``output_tokens`` implies, or None."""
    words = [_singular(word.lower()) for word in _WORDS.findall(name)]
    others = set(words)
    if others & {
        "refusal",
        "refused",
    }:  # of benign prompts they are bad, of harmful ones good
        benign, harmful = bool(others & _BENIGN), bool(others & _MALICIOUS)
        return None if benign == harmful else "lower" if benign else "higher"
    if (
        others & _MALICIOUS and others & _YIELDED
    ):  # the success of an attack, or of a defence
        return None if others & (_OPEN | _TURNS | _HIGHER - _YIELDED) else "lower"
    text = "_".join(["", *words, ""])
    for direction, phrases in _PHRASES.items():
        if any(f"_{phrase}_" in text for phrase in phrases):
            return direction
    for at, word in enumerate(words):
        if (
            word in _JOINED and at
        ):  # cost_per_success is a cost, loss_of_accuracy a loss
            rest = words[at + 1 :]
            timed = bool(_TIME & set(rest)) or rest[:1] in (["s"], ["min"])
            if word == "per" and "token" in words[:at] and timed:
                return "higher"  # a speed
            return _decided(words[:at]) or _decided(rest)
    return _decided(words)


def less_is_better(name: str) -> bool:
    """Check whether the name of a score implies that lower is better."""
    return named_direction(name) == "lower"


@lru_cache(maxsize=1024)
def is_spent(name: str) -> bool:
    """Whether a name measures time, tokens or money, which have no upper bound."""
    words = {_singular(word.lower()) for word in _WORDS.findall(name)}
    return bool(words & _SPENT) and named_direction(name) != "higher"


def _decided(words: list[str]) -> Direction | None:
    """Return the direction of the last word that has one: an accuracy_loss is a loss."""
    for at in range(len(words) - 1, -1, -1):
        word = words[at]
        if word in _OPEN:
            return None
        if word == "remaining" and (_LOWER - _SPENT) & set(words):
            continue
        if word in _HIGHER:
            return (
                "lower"
                if _NOT & set(words) or words[at - 1 : at] == ["false"]
                else "higher"
            )
        if word == "token" and at < len(words) - 1 and not _COUNTED & set(words):
            continue  # token_something
        if word in _LOWER:
            if word in _SPENT and _SCORE & set(words):
                return None  # a latency_score may be either
            turns = _TURNS | _KEPT if word in _SPENT else _TURNS
            return "higher" if turns & set(words) else "lower"
    return "higher" if _SCORE & set(words) else None


def _singular(word: str) -> str:
    words = _LOWER | _HIGHER | _SCORE
    if word in words or not word.endswith("s"):
        bare = word.rstrip("0123456789")  # bleu4, loss2
        return word if word in words or bare not in words else bare
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(ending) and word[: -len(ending)] + instead in words:
            return word[: -len(ending)] + instead
    return "refusal" if word == "refusals" else word
