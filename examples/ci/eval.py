"""Your eval: ask the system every question, and write whether it was right."""

import json
from pathlib import Path

from bot import team_for

results = []
for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines():
    question = json.loads(line)
    answer = team_for(question["message"])
    results.append(
        {
            "id": question["id"],
            "message": question["message"],
            "answer": answer,
            "correct": answer == question["team"],
        }
    )
Path("results.json").write_text(json.dumps({"results": results}), encoding="utf-8")
