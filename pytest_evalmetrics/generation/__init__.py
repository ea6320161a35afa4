"""Rows in, answers out: what attempts each row of a data set where nobody recorded it.

::

    generator = make_generator(benchmark.spec, terms, benchmark.line_of)
    generated = await generator.generate(row, sample, calls)
"""

from __future__ import annotations

from pytest_evalmetrics.generation.generators import Generated, Generator, make_generator

__all__ = ["Generated", "Generator", "make_generator"]
