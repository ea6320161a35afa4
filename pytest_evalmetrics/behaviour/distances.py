"""How far apart two answers are: by their words, their characters, or an embedding."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from pytest_evalmetrics.behaviour.sketches import Sketch, distance, sketch
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.behaviour import AnswerDistance
from pytest_evalmetrics.registry import imported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec

    Encode = Callable[[Sequence[str]], object]

_CHARACTERS: Final = 1_000  # of an answer that is kept as a text
_DIGEST: Final = 5  # bytes that tell longer answers apart
_MATRIX: Final = 2  # dimensions of the vectors of several texts
_INSTALL_EDIT: Final = 'pip install "pytest-evalmetrics[edit]"'


class Distance(Protocol):
    """A distance of answers, and what it needs of each."""

    kind: AnswerDistance
    keeps_texts: bool  # else sketches of them

    def kept(self, answer: str) -> str:
        """Return what is kept of an answer; equal for equal answers, empty for none."""

    def between(self, kept: Sequence[str]) -> Floats:
        """Return the distance of each two answers in [0, 1], shape (answers, answers)."""


class WordDistance:
    """The Jaccard distance of words, estimated from sketches."""

    kind = AnswerDistance.WORDS
    keeps_texts = False

    def kept(self, answer: str) -> str:
        """Sketch an answer."""
        return sketch(answer)

    def between(self, kept: Sequence[str]) -> Floats:
        """Return the distances of sketches."""
        sketches = [Sketch(written) for written in kept]
        distances = np.zeros((len(kept), len(kept)))
        for row, first in enumerate(sketches):
            for column, second in enumerate(sketches[:row]):
                distances[row, column] = distance(first, second)
        return distances + distances.T


class EditDistance:
    """The Levenshtein distance of texts, divided by the length of the longer one."""

    kind = AnswerDistance.EDIT
    keeps_texts = True

    def __init__(self) -> None:
        try:
            from rapidfuzz.distance import Levenshtein
        except ImportError:
            raise DataError(
                "distance: edit needs the package rapidfuzz",
                hint=_INSTALL_EDIT,
            ) from None
        self._distance: Callable[[str, str], float] = Levenshtein.normalized_distance

    def kept(self, answer: str) -> str:
        """Keep the text."""
        return kept_text(answer)

    def between(self, kept: Sequence[str]) -> Floats:
        """Return the distances of texts."""
        distances = np.zeros((len(kept), len(kept)))
        for row, first in enumerate(kept):
            for column, second in enumerate(kept[:row]):
                distances[row, column] = self._distance(first, second)
        return distances + distances.T


class EmbeddingDistance:
    """The cosine distance of embeddings, at most 1.

    Parameters
    ----------
    model
        A model of sentence-transformers or model2vec, its name or its folder; or a function
        of one's own, ``package.module:function``, that returns a vector for each of a list
        of texts.
    """

    kind = AnswerDistance.EMBEDDINGS
    keeps_texts = True

    def __init__(self, model: str) -> None:
        self._model = model
        self._encode = encoder_of(model)

    def kept(self, answer: str) -> str:
        """Keep the text."""
        return kept_text(answer)

    def between(self, kept: Sequence[str]) -> Floats:
        """Return the distances of the texts' embeddings."""
        try:
            vectors = np.asarray(self._encode(list(kept)), dtype=np.float64)
        except Exception as error:  # of a user's function, or a model
            raise DataError(
                f"{self._model!r} failed to embed {len(kept)} texts: "
                f"{type(error).__name__}: {error}"
            ) from error
        if vectors.ndim != _MATRIX or len(vectors) != len(kept):
            raise DataError(
                f"the embeddings of {self._model!r} have the shape {vectors.shape}, "
                f"expected a vector for each of {len(kept)} texts"
            )
        if not np.isfinite(vectors).all():
            raise DataError(f"the embeddings of {self._model!r} hold NaN or infinity")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = vectors / np.where(lengths == 0, 1.0, lengths)
        distances: Floats = np.clip(1.0 - units @ units.T, 0.0, 1.0)
        np.fill_diagonal(distances, 0.0)
        return distances


def distance_of(spec: BehaviourSpec) -> Distance:
    """Return the distance that a benchmark asks for; DataError names what it lacks."""
    if spec.embeddings is not None:
        return EmbeddingDistance(spec.embeddings)
    return EditDistance() if spec.distance == "edit" else WordDistance()


def kept_text(answer: str) -> str:
    """Keep the beginning of an answer, in lower case and with single blanks.

    Of a longer answer a digest follows, by which it differs from others that begin alike.
    """
    text = " ".join(answer.lower().split())
    if len(text) <= _CHARACTERS:
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    digest = blake2b(encoded, digest_size=_DIGEST).hexdigest()
    return f"{text[:_CHARACTERS]} … {digest}"


def encoder_of(model: str) -> Encode:
    """Find what embeds texts: a function of one's own, or a model of a local package."""
    if ":" in model and "/" not in model:
        encode: Encode = imported("embedding function", model)
        return encode
    found = _sentence_transformer(model) or _static_model(model)
    if found is None:
        raise DataError(
            f"embeddings: {model} needs a package that embeds texts",
            hint="pip install sentence-transformers, or model2vec, which is small; or name "
            "a function of your own, package.module:function",
        )
    return found


def _sentence_transformer(model: str) -> Encode | None:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return None
    encode: Encode = SentenceTransformer(model).encode
    return encode


def _static_model(model: str) -> Encode | None:
    try:
        from model2vec import StaticModel
    except ImportError:
        return None
    encode: Encode = StaticModel.from_pretrained(model).encode
    return encode
