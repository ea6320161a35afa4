"""``evalmetrics-accepted.yaml``: changes that were accepted against reports and histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import yaml

from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.accepted_levels import AcceptedLevel

if TYPE_CHECKING:
    from pathlib import Path

NAME = "evalmetrics-accepted.yaml"
_EXAMPLE = (
    "write a list of entries such as "
    "{benchmark: evals/math.bench.yaml::math, metric: mean_reward, level: 0.71, "
    "reason: shorter prompt}"
)


def read_accepted(root: Path) -> tuple[AcceptedLevel, ...]:
    """Read the accepted changes of a project; none without the file.

    Raises
    ------
    BaselineError
        If the file is no list of such entries.
    """
    path = root / NAME
    if not path.is_file():
        return ()
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(entries or [], tuple[AcceptedLevel, ...])
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        what = str(error).partition("\n")[0]
        raise BaselineError(
            f"it can't be read: {what}", file=NAME, hint=_EXAMPLE
        ) from None
    except msgspec.ValidationError as error:
        raise BaselineError(str(error), file=NAME, hint=_EXAMPLE) from None
