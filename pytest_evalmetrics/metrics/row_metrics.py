"""The metrics over rows that a benchmark file defines by ``type``, by the class of their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.metrics.choice_metrics import (
    BestOf,
    MajorityVote,
    PassWithin,
    Retrieval,
)
from pytest_evalmetrics.metrics.label_metrics import Forecast, LabelAgreement, Share
from pytest_evalmetrics.metrics.pairwise_metrics import Elo, WinRate
from pytest_evalmetrics.spec import metric_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.metrics.metric import MetricOptions

CLASSES: Final[Mapping[type, Callable[[Any, MetricOptions], object]]] = {
    metric_keys.AgreementKeys: LabelAgreement,
    metric_keys.ProbabilityKeys: Forecast,
    metric_keys.ShareKeys: Share,
    metric_keys.WinRateKeys: WinRate,
    metric_keys.EloKeys: Elo,
    metric_keys.RetrievalKeys: Retrieval,
    metric_keys.MajorityKeys: MajorityVote,
    metric_keys.BestOfKeys: BestOf,
    metric_keys.BudgetedPassKeys: PassWithin,
}
