"""Where the scorers' package, which is a layer above this one, offers the keys of its types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.spec.validation import Keys


class _Offered:
    find: Callable[[str], type[Keys]] | None = None


def offer_types(find: Callable[[str], type[Keys]]) -> None:
    """Set the function that imports the class of a built-in type's keys."""
    _Offered.find = find


def keys_of_type(kind: str) -> type[Keys]:
    """Return the class of a built-in type's keys."""
    if _Offered.find is None:
        raise RuntimeError(
            "the built-in scorers are not imported: see scoring.scorer_types"
        )
    return _Offered.find(kind)
