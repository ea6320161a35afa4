"""Logs of inspect_ai: ``.eval`` archives, also with zstd members, and ``.json`` files."""

from __future__ import annotations

import math
import re
import sys
import zlib
from collections import defaultdict
from contextlib import contextmanager
from itertools import chain
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.ext import question_of
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.ext import Source

    if sys.version_info >= (3, 14):
        from zipfile import ZipFile
    else:
        from backports.zstd.zipfile import ZipFile
    from pytest_evalmetrics.ext import Request

_LETTERS: Final = {"C": 1, "I": 0, "P": 0.5, "N": 0}
_WORDS: Final = {"yes": 1, "true": 1, "no": 0, "false": 0}
_SUMMARISED: Final = 1000
_ATTACHED: Final = "attachment://"
_counting = re.compile(r"(?P<kind>pass_at|at_least)_(?P<k>[1-9]\d*)").fullmatch
_exception = re.compile(r"\s*([A-Za-z_][\w.]*)\(").match
_WHAT: Final = "an inspect_ai log"
_VERSIONS: Final = (1, 2, 3)  # 3 was written for a while, and differs in what is not read
_EDGES: Final = ("started", "completed")
_KEPT: Final = (
    *("id", "epoch", "input", "target", "scores", "score", "model_usage", "error", "invalidation"),
    *("total_time", "started_at", "completed_at"),
)


def _rollout(
    sample: Mapping[str, Any], scores: dict[str, Any], agent: str | None, source: Source
) -> Rollout:
    """Make a rollout of a sample; one that failed and was graded keeps its scores."""
    error = _error(sample.get("error"))
    invalid = sample.get("invalidation")
    if invalid:
        reason = invalid.get("reason") if isinstance(invalid, dict) else None
        error, scores = ("invalidated", reason or ""), dict.fromkeys(scores)
    elif error is None and all(v is None or v != v for v in scores.values()):  # noqa: PLR0124 - NaN
        error = Ungraded("not scored")
    started, completed = (foreign.seconds(sample.get(f"{edge}_at")) for edge in _EDGES)
    took = sample.get("total_time")
    if took is None and started is not None and completed is not None:
        took = completed - started
    used = [m for m in foreign.mapping(sample.get("model_usage")).values() if isinstance(m, dict)]
    return Rollout(
        record=sample,
        name=f"{source.shown}, sample {sample['id']!r}, epoch {sample.get('epoch', 1)}",
        task=sample["id"],
        sample=sample.get("epoch", 1) - 1,
        agent=agent,
        scores=scores,
        usage=foreign.usage(
            latency_s=took,
            prompt_tokens=foreign.total(map(_prompt_tokens, used)),
            completion_tokens=foreign.total(m.get("output_tokens") for m in used),
            cached_tokens=foreign.total(m.get("input_tokens_cache_read") for m in used),
            total_tokens=foreign.total(m.get("total_tokens") for m in used),
            cost_usd=foreign.total(m.get("total_cost") for m in used),
        ),
        error=error,
        started=started,
        content=_question(sample),
    )


def _question(sample: Mapping[str, Any]) -> Any:
    """Reduce a sample to its question and target, the same from a summary and from the whole."""
    asked_for, target = sample.get("input"), sample.get("target")
    if asked_for is None:
        return None
    texts = [asked_for]
    if isinstance(asked_for, list):
        texts = []
        for message in question_of(asked_for):
            held = message.get("content") if isinstance(message, dict) else message
            parts = held if isinstance(held, list) else [held]
            texts += [p.get("text") if isinstance(p, dict) else p for p in parts]
    text = "\n".join(part for part in texts if isinstance(part, str))
    targets = target if isinstance(target, list) else [target]
    # a summary has no more of a long text
    return [text[:_SUMMARISED], *(str(each)[:_SUMMARISED] for each in targets)]


def _unfolded(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Put long contents back where a sample refers to its attachments: ``attachment://ID``."""
    if isinstance(value, str):
        is_reference = value.startswith(_ATTACHED)
        return attachments.get(value.removeprefix(_ATTACHED), value) if is_reference else value
    if isinstance(value, dict):
        return {key: _unfolded(each, attachments) for key, each in value.items()}
    return [_unfolded(each, attachments) for each in value] if isinstance(value, list) else value


def _prompt_tokens(model: Mapping[str, Any]) -> float | None:
    """Add what came from the cache, where a provider does not count it as input already."""
    given = foreign.number(model.get("input_tokens"))
    cached = foreign.total(model.get(f"input_tokens_cache_{way}") for way in ("read", "write"))
    if given is None or not cached:
        return given
    written, both = (
        foreign.number(model.get("output_tokens")),
        foreign.number(model.get("total_tokens")),
    )
    included = written is not None and both == given + written
    return given if included else given + cached


def _error(error: Any) -> tuple[str, str] | None:
    if error is None:
        return None
    message = str(error.get("message", "") if isinstance(error, dict) else error)
    kind = _exception(message)
    return kind.group(1) if kind else "error", message


def _scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a sample's scores, and take C, I, P, N and the like as numbers."""
    given = sample.get("scores")
    if given is None and isinstance(sample.get("score"), dict):  # early versions have one
        given = {"score": sample["score"]}
    scores: dict[str, Any] = {}
    for name, score in foreign.mapping(given).items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict | list):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            scores.update({f"{name}.{key}": _number(each) for key, each in parts})
        else:
            scores[name] = _number(value)
    return scores


def _number(value: Any) -> Any:
    """Take a value as inspect does; but other text stays text, where inspect makes it 0."""
    if not isinstance(value, str):
        return value
    if value in _LETTERS:
        return _LETTERS[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        return float(value)
    except ValueError:
        return value


def _scorers(
    spec: Mapping[str, Any], results: Mapping[str, Any], columns: Sequence[str]
) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Go through the scorers of a log, with the scores that each gave, and its settings."""
    shared = {
        "task_version": spec.get("task_version"),
        "grader": foreign.mapping(spec.get("model_roles")).get("grader"),
    }
    for given in (*foreign.objects(spec.get("scorers")), *foreign.objects(results.get("scores"))):
        name = str(given.get("scorer") or given.get("name")).rpartition("/")[2]
        named = re.compile(rf"{re.escape(name)}\d*(\..*)?", re.DOTALL).fullmatch
        if scores := [column for column in columns if named(column)]:
            options = given.get("options") or given.get("params")
            yield name, scores, {**shared, "options": options, "metadata": given.get("metadata")}


def _planned(spec: Mapping[str, Any], results: Mapping[str, Any]) -> list[tuple[Any, int]]:
    """List the samples that were to be run; none where the log does not say."""
    data, config = foreign.mapping(spec.get("dataset")), foreign.mapping(spec.get("config"))
    ids, epochs = data.get("sample_ids"), config.get("epochs") or 1
    if not isinstance(ids, list) or type(epochs) is not int or results.get("early_stopping"):
        return []
    tasks = [task for task in ids if type(task) in (int, str)]
    return [(task, epoch) for epoch in range(1, epochs + 1) for task in tasks]


def _reduced(reducer: Any, tasks: list[list[float]]) -> list[float]:
    """Reduce each task's epochs as inspect does; nothing for a reducer that is not known."""
    simple: dict[Any, Callable[[list[float]], float]]
    simple = {None: fmean, "mean": fmean, "median": median, "max": max}
    if reducer in simple:
        return list(map(simple[reducer], tasks))
    counted = _counting(str(reducer))
    if counted is None:
        return []
    k = int(counted["k"])
    found = []
    for values in tasks:
        n, c = len(values), sum(value >= 1 for value in values)
        if counted["kind"] == "at_least":
            found.append(float(c >= k))
        elif n >= k:  # inspect leaves out the others
            found.append(1 - math.comb(n - c, k) / math.comb(n, k))
    return found


def _disagreements(
    samples: Iterable[tuple[Any, Mapping[str, Any]]], results: Mapping[str, Any], source: Source
) -> Iterator[str]:
    """Report means and accuracies of the log that are not those of its samples' scores."""
    values: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task, given in samples:
        for column, value in given.items():
            amount = foreign.number(value)
            if amount is not None and math.isfinite(amount):
                values[column][task].append(amount)
    scores = results.get("scores")
    if scores is None and isinstance(results.get("scorer"), dict):  # early versions have one
        scores = [{**results["scorer"], "metrics": results.get("metrics")}]
    for score in foreign.objects(scores):
        name, scorer = score.get("name"), score.get("scorer") or score.get("name")
        column = str(name if name == scorer else f"{scorer}.{name}")
        tasks = list(values.get(column, {}).values())
        reduced = _reduced(score.get("reducer"), tasks)
        if not reduced:
            continue
        ours = [fmean(reduced)]
        if score.get("reducer") is None:  # of the samples as they are, it may be
            ours.append(fmean(chain(*tasks)))
        for metric, stated in foreign.mapping(score.get("metrics")).items():
            theirs = foreign.number(stated.get("value")) if isinstance(stated, dict) else None
            plain = metric.rpartition("/")[2] in ("accuracy", "mean")
            if plain and theirs is not None and not any(foreign.agree(o, theirs) for o in ours):
                yield (
                    f"{source.shown}: the log says that {metric} of {column} is {theirs:.6g}, "
                    f"and its samples give {ours[0]:.6g}"
                )


class InspectAi(ToolLoader):
    """Reads a log: a sample's id is the task, its epoch the sample, the model the agent.

    Each scorer is a score, or ``scorer.key`` where its value is an object or a list; C, I, P
    and N are 1, 0, 0.5 and 0. Samples that were planned and are not in the log are missing.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._first: tuple[str, str] | None = None  # the inspect task, and the file

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        if not source.is_zip:
            log = Document.of(source, _WHAT)
            samples = log.items("samples") if log.get("samples") is not None else None
            self._fill_from_log(builder, log, samples, source)
            return
        with _archive(source) as archive:
            names = dict.fromkeys(archive.namelist())  # the last of the same name counts
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
            if start is None:
                raise source.error("this zip archive is no inspect_ai log: it has no header.json")
            log = Document(archive.read(start), source, _WHAT)
            members = self._samples(archive, names, log, source)
            self._fill_from_log(builder, log, members, source)

    def _samples(
        self, archive: ZipFile, names: Iterable[str], log: Document, source: Source
    ) -> Iterator[Mapping[str, Any]]:
        members = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
        if "summaries.json" in names and not self._wants_all(log):
            text = b'{"all":' + archive.read("summaries.json") + b"}"
            summaries = list(Document(text, source, _WHAT).items("all"))
            # those of early versions lack what a sample took
            complete = all("model_usage" in s and "total_time" in s for s in summaries)
            if len(summaries) >= len(members) and (complete or not members):
                yield from summaries
                return
        for name in members:
            sample = Document(archive.read(name), source, _WHAT)
            wanted = sample.keys if self._wants_all() else _KEPT
            values = {key: sample.get(key) for key in wanted if key in sample.keys}
            if not self._request.whole and _ATTACHED in str(values.get("input")):
                values["input"] = _unfolded(values["input"], sample.object("attachments"))
            yield values

    def _wants_all(self, log: Document | None = None) -> bool:
        """Whether more is needed of a sample than its summary says."""
        if self._request.whole or (log is not None and log.get("invalidated")):
            return True
        return bool(self._request.categories or foreign.paths_of(self._request))

    def _fill_from_log(
        self,
        builder: foreign.ChunkBuilder,
        log: Document,
        samples: Iterable[Mapping[str, Any]] | None,
        source: Source,
    ) -> None:
        version = log.get("version")
        if version not in _VERSIONS:
            raise source.error(
                f"this is {_WHAT} of version {version!r}; versions "
                f"{', '.join(map(str, _VERSIONS))} are known",
                hint="update pytest-evalmetrics, or convert it with: inspect log convert",
            )
        spec, results = log.object("eval"), log.object("results")
        task = str(spec.get("task"))
        self._first = self._first or (task, source.shown)
        if self._first[0] != task:
            raise source.error(
                f"this log is of the inspect task {task!r}, and {self._first[1]} is of "
                f"{self._first[0]!r}",
                hint="write one benchmark for each, with paths that tell them apart",
            )
        status = log.get("status") or "started"
        if samples is None:
            raise source.error(
                f"this log holds no samples (its status: {status})",
                hint="run the eval without --no-log-samples, or give the whole log, not its header",
            )
        model = spec.get("model")
        has_model = isinstance(model, str) and model not in ("none", "none/none")
        agent = model if has_model else spec.get("solver")
        agent = agent if isinstance(agent, str) else None
        latest = self._latest(samples, source)
        builder.positional = all(isinstance(id_, int) for id_, _ in latest)
        scores = {key: _scores(sample) for key, sample in latest.items()}
        for key, sample in latest.items():
            attachments = foreign.mapping(sample.get("attachments")) if self._request.whole else {}
            whole = _unfolded(sample, attachments) if attachments else sample
            builder.add(_rollout(whole, scores[key], agent, source))
        plan = _planned(spec, results)
        error = _error(log.get("error"))
        why = f"the eval's status is {status!r}" + (f": {error[1]}" if error else "")
        # a log with samples of another plan was put together from several
        for id_, epoch in plan if latest.keys() <= set(plan) else ():
            if (id_, epoch) not in latest:
                builder.add(
                    Rollout(
                        record={"id": id_, "epoch": epoch},
                        name=f"{source.shown}, sample {id_!r}, epoch {epoch}",
                        task=id_,
                        sample=epoch - 1,
                        agent=agent,
                        error=("planned and not in the log", why),
                    )
                )
        if not len(builder):
            raise source.error(
                f"this log holds no sample (its status: {status})", hint="did the run fail?"
            )
        if status != "success":
            builder.notes.append(f"{source.shown}: the status of this eval is {status!r}")
        by_sample = ((id_, given) for (id_, _), given in scores.items())
        builder.notes += _disagreements(by_sample, results, source)
        for name, columns, settings in _scorers(spec, results, builder.graded):
            builder.measured(f"inspect_ai {name}", columns, settings)

    def _latest(
        self, samples: Iterable[Mapping[str, Any]], source: Source
    ) -> dict[tuple[Any, Any], Mapping[str, Any]]:
        """Index samples by id and epoch; one that was run again is written again."""
        latest = {}
        for sample in samples:
            key = id_, epoch = sample.get("id"), sample.get("epoch", 1)
            if type(id_) not in (int, str) or type(epoch) is not int or epoch < 1:
                raise source.error(
                    f"a sample of this log has the id {id_!r} and the epoch {epoch!r}; expected "
                    "text or a whole number, and a whole number from 1"
                )
            latest[key] = (
                sample if self._wants_all() else {k: sample[k] for k in _KEPT if k in sample}
            )
        return latest


def is_log_archive(source: Source) -> bool:
    """Whether a zip archive has a log's header."""
    try:
        with _archive(source) as archive:
            return "header.json" in archive.namelist()
    except Exception:  # noqa: BLE001 - whatever it is, it is none of ours
        return False


@contextmanager
def _archive(source: Source) -> Iterator[ZipFile]:
    """Open an archive whose members may be packed with zstd, and put its faults into words."""
    if sys.version_info >= (3, 14):
        import zipfile  # noqa: PLC0415 - only where there is an archive

        from compression.zstd import ZstdError  # noqa: PLC0415
    else:
        from backports.zstd import ZstdError, zipfile  # noqa: PLC0415 - the same
    broken = (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, NotImplementedError, OSError)
    try:
        with zipfile.ZipFile(source.path) as archive:
            yield archive
    except (*broken, msgspec.DecodeError) as error:
        why = f"this inspect_ai archive is damaged: {error}"
        if "not a zip file" in str(error):
            why = "this looks like an inspect_ai archive, and its end is missing"
        hint = "was the run, its copy or its download interrupted?"
        raise source.error(why, hint=hint) from error
