"""Record the runs of this example: an open OCR model reads handwriting, as it is and quantised.

pip install rapidocr-onnxruntime onnx scikit-learn && python record.py

The model is PP-OCRv4's recogniser (Apache-2.0), which rapidocr-onnxruntime ships. The handwriting
is the UCI data set of digits (CC BY 4.0), which scikit-learn ships: four digits make a line, and
each line is scanned twice, with noise. A run takes half a minute on one core.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import rapidocr_onnxruntime
from onnx import numpy_helper
from PIL import Image
from sklearn.datasets import load_digits

LINES, DIGITS, SCANS = 300, 4, 2
MODEL = (
    Path(rapidocr_onnxruntime.__file__).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx"
)
FOLDER = Path(__file__).parent / "runs"


def quantised(bits: int, target: Path) -> Path:
    """Round the weights of convolutions and matrices to so many bits, per channel."""
    model = onnx.load(MODEL)
    tensors = [*model.graph.initializer]
    for node in model.graph.node:
        tensors += [
            a.t
            for a in node.attribute
            if node.op_type == "Constant" and a.name == "value"
        ]
    for tensor in tensors:
        weights = numpy_helper.to_array(tensor)
        if weights.dtype == np.float32 and weights.size >= 1024:
            axes = tuple(range(1, weights.ndim)) if weights.ndim == 4 else (0,)
            step = np.abs(weights).max(axis=axes, keepdims=True) / (2 ** (bits - 1) - 1)
            step[step == 0] = 1
            rounded = (np.round(weights / step) * step).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(rounded, tensor.name))
    onnx.save(model, target)
    return target


def scan(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Enlarge digits, put them on a line, and add the noise of a scanner."""
    cells = []
    for image in images:
        large = Image.fromarray((255 - image * 15.9).astype(np.uint8)).resize(
            (36, 44), 3
        )
        cell = np.full((48, 36 + int(rng.integers(2, 8))), 255.0)
        cell[2:46, :36] = large
        cells.append(cell)
    line = np.hstack(cells)
    noisy = np.clip(line + rng.normal(0, 8, line.shape), 0, 255).astype(np.uint8)
    return np.repeat(noisy[:, :, None], 3, axis=2)


def record(name: str, model: Path) -> None:
    """Let a model read all lines, and write a row for each scan."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.images))
    reader = rapidocr_onnxruntime.RapidOCR(rec_model_path=str(model))
    rows = []
    for line in range(LINES):
        chosen = order[line * DIGITS : (line + 1) * DIGITS]
        text = "".join(map(str, digits.target[chosen]))
        for sample in range(SCANS):
            image = scan(digits.images[chosen], np.random.default_rng([line, sample]))
            found, _ = reader(image, use_det=False, use_cls=False, use_rec=True)
            answer, confidence = found[0] if found else ("", 0.0)
            row = {
                "line": line,
                "scan": sample,
                "model": name,
                "images": chosen.tolist(),
                "text": text,
                "answer": answer.replace(" ", ""),
                "confidence": round(float(confidence), 3),
            }
            rows.append({**row, "reward": float(row["answer"] == text)})
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(name, np.mean([row["reward"] for row in rows]))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    record("float32", MODEL)
    with tempfile.TemporaryDirectory() as folder:
        for bits in (8, 7):
            record(f"int{bits}", quantised(bits, Path(folder) / "model.onnx"))
