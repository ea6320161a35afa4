"""Let AlpacaEval annotate twenty pairs of answers, and write its annotations.

The judge is a function that prefers the longer answer. Needs alpaca-eval.
"""

import re
import tempfile
from pathlib import Path

import yaml
from alpaca_eval import evaluate
from alpaca_eval.decoders import test

HERE = Path(__file__).parent
QUESTIONS = [f"Name {n + 2} fruits." for n in range(20)]
PROMPT = "{instruction}\n# (a)\n{output_1}\n# (b)\n{output_2}\n# end"
CONFIG = {
    "longer": {
        "prompt_template": "longer/prompt.txt",
        "fn_completions": "test_completions",
        "completions_kwargs": {"model_name": "longer"},
        "completion_parser_kwargs": {
            "outputs_to_match": {1: r"Output \(a\)", 2: r"Output \(b\)"}
        },
        "batch_size": 1,
    }
}


def judged(prompts, **_):
    """Prefer the longer answer, and the first of two that are equally long."""
    completions = []
    for prompt in prompts:
        match = re.search(r"# \(a\)\n(.*)\n# \(b\)\n(.*)\n# end", prompt)
        first, second = match.groups()
        completions.append("Output (a)" if len(first) >= len(second) else "Output (b)")
    return {
        "completions": completions,
        "completions_all": completions,
        "price_per_example": [0] * len(prompts),
        "time_per_example": [0] * len(prompts),
    }


def answers(generator, words):
    return [
        {"instruction": question, "output": answer, "generator": generator}
        for question, answer in zip(QUESTIONS, words, strict=True)
    ]


test.test_completions = judged
ours = ["apple, pear" + ", fig" * (n % 3) for n in range(20)]
theirs = ["apple, plum" + ", fig" * (n % 4 == 1) for n in range(20)]
theirs[7] = ours[7]  # the same answer is a draw
with tempfile.TemporaryDirectory() as name:
    config = Path(name, "longer")
    config.mkdir()
    (config / "configs.yaml").write_text(yaml.safe_dump(CONFIG))
    (config / "prompt.txt").write_text(PROMPT)
    leaderboard, annotations = evaluate(
        model_outputs=answers("ours", ours),
        reference_outputs=answers("theirs", theirs),
        annotators_config=str(config),
        output_path=name,
        precomputed_leaderboard=None,
        fn_metric="get_winrate",
        sort_by="win_rate",
        is_return_instead_of_print=True,
        caching_path=None,
    )
    (written,) = Path(name).rglob("annotations.json")
    (HERE / "annotations.json").write_text(written.read_text())
print(leaderboard.to_dict())
