"""Odd files whose cells are numbers that can be read in two ways, and such that can't."""

from rollouts.odd import asks, lines, one, reads, refuses

TASKS = range(12)
SMALL = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.125, 1.25, 1.375, 2.5]


def table(cells, separator=";", name="r.csv"):
    rows = [f"q{number}{separator}{cell}" for number, cell in enumerate(cells)]
    return name, f"id{separator}score\n" + "\n".join(rows) + "\n"


def dotted(number):
    """Separate thousands by dots: 1100 is 1.100."""
    return f"{number:,}".replace(",", ".")


def of_tasks(numbers):
    return {f"q{number}": value for number, value in enumerate(numbers)}


HUNDREDS = [950 + 150 * number for number in TASKS]  # 950, 1100 ... 2600
BOTH = ('"."', "1.1", '","', "1100")

NUMBERS = {
    "dots between semicolons and a whole number": one(
        *table(map(dotted, HUNDREDS)), asks("decimal: ?", *BOTH)
    ),
    "dots between commas and a whole number": one(
        *table(map(dotted, HUNDREDS), ","), asks("decimal: ?", *BOTH)
    ),
    "dots between tabs and a whole number": one(
        *table(map(dotted, HUNDREDS), "\t", "r.tsv"), asks("decimal: ?", *BOTH)
    ),
    "dots in all cells": one(
        *table([dotted(1100 + number) for number in TASKS]), asks("decimal: ?", *BOTH)
    ),
    "dots and negative numbers": one(
        *table([dotted(1100 + number) for number in TASKS] + ["-2.300", "0"]),
        asks("decimal: ?", *BOTH),
    ),
    "dots in texts of JSON": one(
        "r.jsonl",
        lines({"id": f"q{n}", "score": dotted(HUNDREDS[n])} for n in TASKS),
        asks("decimal: ?", *BOTH),
    ),
    "dots before percent signs": one(
        *table([f"{dotted(1100 + number)} %" for number in TASKS]),
        asks("decimal: ?"),
    ),
    "commas between semicolons and a whole number": one(
        *table([f"{number:,}" for number in HUNDREDS]),
        asks("decimal: ?", '"."', "1100", '","', "1.1"),
    ),
    "commas between tabs": one(
        *table([f"{number:,}" for number in HUNDREDS], "\t"),
        asks("decimal: ?"),
    ),
    "commas in quotes between commas": one(
        *table([f'"{number:,}"' for number in HUNDREDS], ","),
        reads(of_tasks(HUNDREDS)),
    ),
    "commas in texts of JSON": one(
        "r.jsonl",
        lines({"id": f"q{n}", "score": f"{HUNDREDS[n]:,}"} for n in TASKS),
        reads(of_tasks(HUNDREDS)),
    ),
    "three digits after a leading zero": one(
        *table([f"{value:.3f}" for value in SMALL]), reads(of_tasks(SMALL))
    ),
    "three digits, one cell with fewer": one(
        *table([*map(dotted, HUNDREDS), "12.5"]),
        reads(of_tasks([950, *[n / 1000 for n in HUNDREDS[1:]], 12.5])),
    ),
    "dots, one cell with two of them": one(
        *table([*map(dotted, HUNDREDS), "1.234.567"]),
        reads(of_tasks([*HUNDREDS, 1234567])),
    ),
    "ones and zeros with three digits": one(
        *table([f"{number % 2:.3f}" for number in TASKS]),
        reads(of_tasks([number % 2 for number in TASKS])),
    ),
    "ones with three digits and plain zeros": one(
        *table(["1.000" if number % 3 else "0" for number in TASKS]),
        reads(of_tasks([int(number % 3 > 0) for number in TASKS])),
    ),
    "dots in a column that is no reward": one(
        "r.csv",
        "id;score;tokens\n"
        + "".join(f"q{n};{n % 2};{dotted(HUNDREDS[n])}\n" for n in TASKS),
        reads(of_tasks([n % 2 for n in TASKS])),
    ),
    "dots and commas in one column": one(
        *table([*map(dotted, HUNDREDS), "0,5", "12.5"]), refuses("0,5", "1.1")
    ),
}
