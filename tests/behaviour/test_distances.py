"""Distances of answers: by words, by characters, and by embeddings."""

import json
import sys
from hashlib import blake2b
from textwrap import dedent
from types import SimpleNamespace

import numpy as np
import pytest
from behaviour.making import run
from evaluated import evaluated

from pytest_evalmetrics.behaviour.distances import (
    EditDistance,
    EmbeddingDistance,
    WordDistance,
    distance_of,
    encoder_of,
    kept_text,
)
from pytest_evalmetrics.errors import ConfigError, DataError
from pytest_evalmetrics.model.behaviour import AnswerDistance
from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec

FIRST = ["the", "flight", "is", "booked", "for", "you", "now"]
SECOND = ["your", "seat", "has", "been", "reserved", "as", "requested"]


def between(distance, *answers):
    return distance.between([distance.kept(answer) for answer in answers])


def test_words_are_compared_as_sets():
    # {a, b, c} and {b, c, d}: 2 of 4 are shared
    distances = between(WordDistance(), "a b c", "d c b")
    assert distances.tolist() == [[0, 0.5], [0.5, 0]]


def test_characters_are_compared_by_the_edits_that_turn_one_into_the_other():
    # Levenshtein's distance is 3, the longer word has 7 characters
    distances = between(EditDistance(), "kitten", "sitting")
    assert distances == pytest.approx(np.array([[0, 3 / 7], [3 / 7, 0]]))


@pytest.mark.parametrize("distance", [WordDistance(), EditDistance()])
def test_case_and_white_space_are_no_difference(distance):
    assert between(distance, "It  is Booked.", "it is booked.\n").tolist() == [
        [0, 0],
        [0, 0],
    ]


def test_long_answers_that_begin_alike_are_not_equal():
    beginning = "word " * 400
    assert kept_text(f"{beginning} yes") != kept_text(f"{beginning} no")


# -- embeddings ------------------------------------------------------------------------------

VECTORS = {"north": [0.0, 2.0], "east": [3.0, 0.0], "north east": [1.0, 1.0]}


@pytest.fixture
def own(monkeypatch, tmp_path):
    """Write a module with functions that embed texts."""
    (tmp_path / "own_embedding.py").write_text(
        dedent(f"""
            VECTORS = {VECTORS}
            def embed(texts): return [VECTORS[text] for text in texts]
            def broken(texts): raise ValueError("no memory")
            def flat(texts): return [1.0] * len(texts)
            def nothing(texts): return [[1, 0], [0, 0]]
            def opposite(texts): return [[1, 1], [-1, -1]]
            def unknown(texts): return [[float("nan")]] * len(texts)
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_embedding"


def test_embeddings_are_compared_by_the_cosine_of_their_angle(own):
    distances = between(
        EmbeddingDistance(f"{own}:embed"), "North", "East", "north east"
    )
    aside = 1 - np.sqrt(0.5)
    expected = np.array([[0, 1, aside], [1, 0, aside], [aside, aside, 0]])
    assert distances == pytest.approx(expected)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("broken", r"failed to embed 2 texts: ValueError: no memory"),
        ("flat", r"have the shape \(2,\), expected a vector for each of 2 texts"),
        ("unknown", r"hold NaN or infinity"),
    ],
)
def test_embeddings_that_are_no_vectors_are_refused(own, function, message):
    with pytest.raises(DataError, match=message):
        between(EmbeddingDistance(f"{own}:{function}"), "north", "east")


def test_a_local_model_embeds_texts(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({"[UNK]": 0, "north": 1, "east": 2}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    model = model2vec.StaticModel(vectors, tokenizer, normalize=False)
    model.save_pretrained(tmp_path / "model")
    distance = EmbeddingDistance(str(tmp_path / "model"))
    assert between(distance, "north", "east") == pytest.approx(1 - np.eye(2))


def test_half_a_character_is_kept_as_it_is():
    """JSON can hold one, and UTF-8 can not."""
    half = "\ud800"
    assert between(WordDistance(), half, half, "a").tolist()[0] == [0, 0, 1]
    assert kept_text(half * 1001) != kept_text(half * 1002)


class Model:
    """A model as the packages make it."""

    def __init__(self, name):
        self.name = name

    from_pretrained = classmethod(lambda cls, name: cls(name))

    def encode(self, texts):
        return [[len(self.name), len(text)] for text in texts]


@pytest.mark.parametrize(
    ("package", "name"),
    [("sentence_transformers", "SentenceTransformer"), ("model2vec", "StaticModel")],
)
def test_a_model_is_made_by_the_package_that_is_installed(monkeypatch, package, name):
    for other in ("sentence_transformers", "model2vec"):
        monkeypatch.setitem(sys.modules, other, None)
    monkeypatch.setitem(sys.modules, package, SimpleNamespace(**{name: Model}))
    assert encoder_of("org/model:8b")(["a", "bc"]) == [[12, 1], [12, 2]]


def test_a_model_that_no_package_makes_is_refused(monkeypatch):
    for package in ("sentence_transformers", "model2vec"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError) as refused:
        encoder_of("model")
    assert refused.value.message == (
        "embeddings: model needs a package that embeds texts"
    )
    assert refused.value.hint == (
        "pip install sentence-transformers, or model2vec, which is small; or name a "
        "function of your own, package.module:function"
    )


def test_edits_need_their_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(DataError) as refused:
        EditDistance()
    assert refused.value.message == "distance: edit needs the package rapidfuzz"
    assert refused.value.hint == 'pip install "pytest-evalmetrics[edit]"'


def test_a_vector_without_a_length_is_at_a_right_angle_to_all(own):
    distances = between(EmbeddingDistance(f"{own}:nothing"), "north", "nothing")
    assert distances.tolist() == [[0, 1], [1, 0]]


def test_opposite_vectors_are_one_apart(own):
    distances = between(EmbeddingDistance(f"{own}:opposite"), "north", "south")
    assert distances.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("keys", "kind", "keeps_texts"),
    [
        ({}, AnswerDistance.WORDS, False),
        ({"distance": "words"}, AnswerDistance.WORDS, False),
        ({"distance": "edit"}, AnswerDistance.EDIT, True),
        (
            {"embeddings": "own_embedding:embed"},
            AnswerDistance.EMBEDDINGS,
            True,
        ),
    ],
)
@pytest.mark.usefixtures("own")
def test_the_distance_is_that_which_the_file_asks_for(keys, kind, keeps_texts):
    distance = distance_of(BehaviourSpec(**keys))
    assert distance.kind is kind
    assert distance.keeps_texts is keeps_texts


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (" It  is\nBooked. ", "it is booked."),
        ("", ""),
        ("x" * 1000, "x" * 1000),
        (
            "X" * 1001,
            f"{'x' * 1000} … {blake2b(b'x' * 1001, digest_size=5).hexdigest()}",
        ),
    ],
    ids=["blanks", "none", "1000", "1001"],
)
def test_the_beginning_of_an_answer_is_kept_and_a_digest_of_the_rest(answer, kept):
    assert kept_text(answer) == kept


# -- in a benchmark --------------------------------------------------------------------------

BENCH = """
benchmark:
  name: agent
  rollouts: runs.jsonl
  num_samples: 4
  metrics: [mean_reward]
  baseline: {baseline}
  behaviour: {behaviour}
"""


def bench(project, behaviour, baseline="{rollouts: old.jsonl}"):
    project.write(
        "agent.bench.yaml", BENCH.format(baseline=baseline, behaviour=behaviour)
    )


def test_a_run_says_how_many_characters_of_the_answers_changed(project):
    bench(project, "{distance: edit}")
    project.rows("old.jsonl", run(1, answer=FIRST))
    project.rows("runs.jsonl", run(2, answer=SECOND))
    result = evaluated(project)
    result.says("*of answers changed*")
    words = " ".join(result.text.split())
    assert "% of their characters (two answers of one run: " in words


def test_a_run_says_how_far_the_embeddings_of_the_answers_are_apart(project):
    project.write(
        "own_vectors.py",
        "def embed(texts): return [[1, 'seat' in text] for text in texts]\n",
    )
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    bench(project, "{embeddings: 'own_vectors:embed'}")
    project.rows("old.jsonl", run(1, answer=FIRST))
    project.rows("runs.jsonl", run(2, answer=SECOND))
    words = " ".join(project.run().stdout.str().split())
    assert "by a cosine distance of 0." in words


def test_a_committed_baseline_keeps_the_texts_that_edits_are_counted_in(project):
    bench(project, "{distance: edit}", "true")
    project.rows("runs.jsonl", run(1, answer=FIRST))
    evaluated(project, updates=True)
    path = project.baseline("agent.bench/agent.json")
    (agent,) = json.loads(path.read_text(encoding="utf-8"))["agents"].values()
    assert agent["behaviour"]["texts"]
    project.rows("runs.jsonl", run(2, answer=SECOND))
    assert "of their characters" in " ".join(evaluated(project).text.split())


def test_answers_that_the_baseline_keeps_in_another_form_are_not_compared(project):
    bench(project, "true", "true")
    project.rows("runs.jsonl", run(1, answer=FIRST))
    evaluated(project, updates=True)
    bench(project, "{distance: edit}", "true")
    project.rows("runs.jsonl", run(2, answer=SECOND))
    words = " ".join(evaluated(project).text.split())
    assert "of answers changed" not in words
    assert "answers are not compared, of which the baseline keeps another form" in words


def test_embeddings_that_nothing_here_makes_are_refused_before_a_row_is_read(project):
    bench(project, "{embeddings: 'no_such_module:embed'}")
    result = evaluated(project)
    assert not result.passed
    result.says(
        "INCONCLUSIVE  agent.bench.yaml:8: *'no_such_module:embed' can't be imported*"
    )


def test_a_check_without_a_run_names_them_too(project):
    bench(project, "{embeddings: 'no_such_module:embed'}")
    project.rows("runs.jsonl", run(1, tasks=2))
    project.rows("old.jsonl", run(2, tasks=2))
    result = project.run("--evalmetrics-check")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*agent.bench.yaml:8*'no_such_module:embed'*"])


def test_two_distances_are_refused(project):
    bench(project, "{distance: edit, embeddings: model}")
    with pytest.raises(ConfigError, match="answers have one distance: write"):
        evaluated(project)
