"""Documents that are one page of many, as APIs return them: ``has_more: true``, a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MORE: Final = ("has_more", "hasMore", "has_next", "hasNext", "hasNextPage")
_CURSORS: Final = (
    *("next_cursor", "nextCursor", "next_page_token", "nextPageToken", "nextToken"),
    *("next_page", "nextPage", "next"),
)
_HOLDERS: Final = ("meta", "metadata", "pagination", "paging", "page_info", "pageInfo")
_TOTALS: Final = ("totalPages", "total_pages")


class Page(msgspec.Struct, frozen=True):
    """What a document says of the page that it is."""

    file: str
    key: str  # where it says so
    has_next: bool
    number: int | None = None  # from 1, of `total`
    total: int | None = None


def page_of(document: Any, file: str) -> Page | None:
    """Find what a document says of the page that it is; None if it is no page."""
    if not isinstance(document, dict):
        return None
    if not any(isinstance(value, list) for value in document.values()):
        return None
    for prefix, holder in _holders(document):
        for key in (*_MORE, *_CURSORS):
            if key in holder:
                has_next = holder[key] not in (None, False, "", {})
                return Page(file=file, key=prefix + key, has_next=has_next)
        if prefix and isinstance(holder.get("cursor"), str):
            return Page(file=file, key=f"{prefix}cursor", has_next=True)
        for key in _TOTALS:
            total, number = holder.get(key), holder.get("page")
            if type(total) is int and type(number) is int:
                return Page(
                    file=file,
                    key=prefix + key,
                    has_next=number < total,
                    number=number,
                    total=total,
                )
    return None


def _holders(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "", document
    for name in _HOLDERS:
        holder = document.get(name)
        if isinstance(holder, dict):
            yield f"{name}.", holder


class Pages:
    """The pages among the documents that a benchmark reads."""

    def __init__(self) -> None:
        self._pages: list[Page] = []

    def add(self, document: Any, file: str) -> None:
        """Look at a document."""
        page = page_of(document, file)
        if page is not None:
            self._pages.append(page)

    def must_be_complete(self) -> None:
        """Refuse pages of which the last is not there.

        Raises
        ------
        DataError
            If a page says that another one follows, and no page is the last.
        """
        numbers = {page.number for page in self._pages}
        for page in self._pages:
            if page.total is not None:
                absent = [n for n in range(1, page.total + 1) if n not in numbers]
                if absent:
                    what = f"this is page {page.number} of {page.total}"
                    missing = f"page {absent[0]} is not among the files"
                    raise self._incomplete(page, f"{what}, and {missing}")
        if self._pages and all(page.has_next for page in self._pages):
            page = self._pages[-1]
            raise self._incomplete(page, f"{page.key} says that another page follows")

    def _incomplete(self, page: Page, what: str) -> DataError:
        hint = (
            "fetch all pages, and name all their files; or write the rows to one file"
        )
        return DataError(f"{what}: the rows are incomplete", file=page.file, hint=hint)
