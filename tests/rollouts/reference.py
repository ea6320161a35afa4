"""What a table has to hold, computed the plain way: every row by `json.loads`, no columns."""

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Plain:
    """A table as builtins; NaN is None."""

    agents: list[str]
    tasks: list[Any]
    rows: list[tuple[str, Any, int]]
    scores: dict[str, list[float | None]]
    integers: set[str]
    labels: dict[str, list[str]] = field(default_factory=dict)


def places(value, path):
    """Everything that a dotted path may mean, keys that hold dots first."""
    parts = path.split(".")
    values = []
    for size in range(len(parts), 0, -1):
        key, rest = ".".join(parts[:size]), ".".join(parts[size:])
        inner = []
        if isinstance(value, dict) and key in value:
            inner.append(value[key])
        if (
            isinstance(value, list)
            and size == 1
            and key.isdecimal()
            and int(key) < len(value)
        ):
            inner.append(value[int(key)])
        for each in inner:
            values += [each] if size == len(parts) else places(each, rest)
    return values


def first(value, path):
    return next((v for v in places(value, path) if v is not None), None)


def number(value):
    if not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def paths_of(fields):
    reward = {"reward": fields.reward} if fields.reward else {}
    return {**fields.scores, **reward}


def met(row, fields):
    """Every value of a row that may be one of a score: name, whether of the usage, value."""
    mapped = paths_of(fields)
    taken = {fields.task, fields.sample, fields.agent, *mapped.values()}
    values = []
    for key, value in row.items():
        inner, prefix = None, "usage."
        if key == "usage":
            inner = value
        if key == "response" and isinstance(value, dict):
            inner, prefix = value.get("usage"), "response.usage."
        for name, each in inner.items() if isinstance(inner, dict) else ():
            if prefix + name not in taken:
                values.append((name, True, each))
        if key not in taken:
            values.append((key, False, value))
    values = [v for v in values if v[0] not in mapped and not v[0].startswith("_")]
    return values + [
        (name, False, v) for name, p in mapped.items() for v in places(row, p)
    ]


def value_of(row, name, fields):
    if name in paths_of(fields):
        return first_number(places(row, paths_of(fields)[name]))
    for usage in (True, False):
        values = [v for n, u, v in met(row, fields) if (n, u) == (name, usage)]
        if len(values) > 1 and list(row).index("usage") < list(row).index("response"):
            values.reverse()  # response.usage comes before usage
        value = first_number(values)
        if value is not None:
            return value
    return None


def first_number(values):
    return number(next((v for v in values if isinstance(v, int | float)), None))


def label(value):
    if value is None:
        return "(missing)"
    return value if isinstance(value, str) else json.dumps(value)


def read(rows, fields, categories):
    ids = [first(row, fields.task or "_ng_task_index") for row in rows]
    if any(isinstance(i, str) for i in ids):
        ids = [str(i) for i in ids]
    agents = [first(row, fields.agent or "agent_ref.name") or "agent" for row in rows]
    count = Counter()
    samples = []
    for row, agent, task in zip(rows, agents, ids, strict=True):
        sample = first(row, fields.sample or "_ng_rollout_index")
        samples.append(count[agent, task] if sample is None else sample)
        count[agent, task] += 1
    order = list(dict.fromkeys(agents))
    keys = [
        (order.index(a), t, s) for a, t, s in zip(agents, ids, samples, strict=True)
    ]
    ranked = sorted(range(len(rows)), key=keys.__getitem__)

    values = [each for row in rows for each in met(row, fields)]
    numeric = [(n, u) for n, u, v in values if isinstance(v, int | float)]
    usage = dict.fromkeys(n for n, u in numeric if u)
    names = [
        *(n for n in dict.fromkeys(n for n, u in numeric if not u) if n not in usage),
        *usage,
    ]
    scores = {name: [value_of(rows[i], name, fields) for i in ranked] for name in names}
    broken = {n for n, _, v in values if isinstance(v, float)}
    integers = {
        n for n, column in scores.items() if None not in column and n not in broken
    }
    return Plain(
        agents=order,
        tasks=sorted(set(ids)),
        rows=[(agents[i], ids[i], samples[i]) for i in ranked],
        scores=scores,
        integers=integers,
        labels={
            name: [label(first(rows[i], name)) for i in ranked] for name in categories
        },
    )


def plain(table):
    """Turn a table into builtins."""
    return Plain(
        agents=list(table.agents),
        tasks=list(table.tasks),
        rows=[
            (table.agents[a], table.tasks[t], s)
            for a, t, s in zip(
                table.agent.tolist(),
                table.task.tolist(),
                table.sample.tolist(),
                strict=True,
            )
        ],
        scores={
            name: [None if math.isnan(v) else v for v in column.tolist()]
            for name, column in table.scores.items()
        },
        integers=set(table.integers),
        labels={
            name: [c.labels[code] for code in c.codes.tolist()]
            for name, c in table.categories.items()
        },
    )
