"""The built-in metrics: importing this module registers them."""

from __future__ import annotations

from pytest_evalmetrics.metrics import (  # noqa: F401 - each registers its own
    economics,
    max_at_k,
    mean_reward,
    median,
    pass_at_k,
    pass_rate,
    worst_task,
)
