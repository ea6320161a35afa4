"""Which way is better, as far as the name of what is measured tells.

The words below are the table in docs/gates.md. A name whose words say nothing has no known
direction, and never a silent default.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

__all__ = ["Direction", "is_spent", "named_direction"]

Direction = Literal["higher", "lower"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_TIME: Final = _set("""
    time latency latencies duration elapsed runtime ttft second sec millisecond milli ms minute hour
""")
_SPENT: Final = _TIME | _set("token cost usd dollar price expense spend energy carbon memory")
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
""")
_SCORE: Final = _set("score point")  # more is better, unless a word says of what: toxicity_score
_NOT: Final = _set("no non not without")
_TURNS: Final = _NOT | _set("free avoidance avoided reduction prevention")
_OPEN: Final = _set("detection detector handling awareness")  # of an error: good, or how many?
_PHRASES: Final[tuple[tuple[str, Direction], ...]] = (
    ("noise_sensitivity", "lower"),
    ("attack_success", "lower"),
    ("exploit_success", "lower"),
    ("false_positive", "lower"),
    ("false_negative", "lower"),
    ("false_alarm", "lower"),
    ("false_discovery", "lower"),
    ("true_positive", "higher"),
    ("true_negative", "higher"),
    ("negative_log_likelihood", "lower"),
    ("negative_likelihood", "lower"),
    ("cross_entropy", "lower"),
    ("bits_per_byte", "lower"),
    ("time_to", "lower"),
    ("on_time", "higher"),
    ("log_prob", "higher"),
)
_BENIGN: Final = _set("benign false over safe harmless legitimate unnecessary wrong")
_MALICIOUS: Final = _set("harmful unsafe malicious toxic jailbreak attack")
_JOINED: Final = _set("per of in on at for with by")
_COUNTED: Final = _set("count usage used total number")  # a token alone may be of a match


@lru_cache(maxsize=1024)
def named_direction(name: str) -> Direction | None:
    """Tell which way is better from a name such as ``output_tokens``; None where it says nothing.

    Examples
    --------
    >>> named_direction("output_tokens"), named_direction("tokens_per_second")
    ('lower', 'higher')
    >>> named_direction("toxicity_score"), named_direction("error_detection_accuracy")
    ('lower', 'higher')
    >>> named_direction("sentiment") is None
    True
    """
    words = [_singular(word.lower()) for word in _WORDS.findall(name)]
    if {"refusal", "refused"} & set(words):
        return _of_refusal(words)
    text = "_".join(["", *words, ""])
    for phrase, direction in _PHRASES:
        if f"_{phrase}_" in text:
            return direction
    for at, word in enumerate(words):
        if word in _JOINED and at:  # cost_per_success is a cost, loss_of_accuracy a loss
            if word == "per" and "token" in words[:at] and _is_time(words[at + 1 :]):
                return "higher"  # a speed
            return _decided(words[:at]) or _decided(words[at + 1 :])
    return _decided(words)


@lru_cache(maxsize=1024)
def is_spent(name: str) -> bool:
    """Whether a name is of time, tokens or money, which have no upper end."""
    words = {_singular(word.lower()) for word in _WORDS.findall(name)}
    return bool(words & _SPENT) and named_direction(name) != "higher"


def _decided(words: list[str]) -> Direction | None:
    """Take the last word that says anything: an accuracy_loss is a loss."""
    for at in range(len(words) - 1, -1, -1):
        word = words[at]
        if word in _OPEN:
            return None
        if word in _HIGHER:
            return "lower" if _NOT & set(words) else "higher"
        if word == "token" and at < len(words) - 1 and not _COUNTED & set(words):
            continue  # token_something
        if word in _LOWER:
            if word in _SPENT and _SCORE & set(words):
                return None  # a latency_score may be either
            return "higher" if _TURNS & set(words) else "lower"
    return "higher" if _SCORE & set(words) else None


def _of_refusal(words: list[str]) -> Direction | None:
    """Judge refusals: of benign prompts they are bad, of harmful ones good."""
    others = set(words)
    if others & _MALICIOUS:
        return None if others & _BENIGN else "higher"
    return "lower" if others & _BENIGN else None


def _is_time(words: list[str]) -> bool:
    return bool(_TIME & set(words)) or words[:1] in (["s"], ["min"])


def _singular(word: str) -> str:
    known = _LOWER | _HIGHER | _SCORE
    if word in known or not word.endswith("s"):
        bare = word.rstrip("0123456789")  # bleu4, loss2
        return word if word in known or bare not in known else bare
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(ending) and word[: -len(ending)] + instead in known:
            return word[: -len(ending)] + instead
    return "refusal" if word == "refusals" else word
