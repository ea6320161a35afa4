"""Documents that are one page of many, as APIs return them: ``has_more: true``, a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonValue

_MORE: Final = (
    "has_more",
    "hasMore",
    "has_next",
    "hasNext",
    "hasNextPage",
)
_CUT: Final = ("truncated", "isTruncated", "is_truncated")
_CURSORS: Final = (
    "next_cursor",
    "nextCursor",
    "next_page_token",
    "nextPageToken",
    "nextToken",
    "next_token",
    "next_page",
    "nextPage",
    "next",
    "next_url",
    "nextLink",
    "@odata.nextLink",
    "@nextLink",
)
_CURSOR: Final = "cursor"  # leads to the next page, and is not there on the last one
_HOLDERS: Final = (
    "meta",
    "metadata",
    "pagination",
    "paging",
    "page_info",
    "pageInfo",
    "links",
    "_links",
    "response_metadata",
)
_TOTALS: Final = ("totalPages", "total_pages")
_COUNTS: Final = ("total", "totalItems", "total_items", "total_count", "totalCount")
# keys that say that a number of rows was asked for
_LIMITS: Final = ("limit", "offset", "page", "page_size", "pageSize", "per_page")


class Page(msgspec.Struct, frozen=True):
    """What a document says of the page that it is."""

    file: str
    key: str  # where it says so
    has_next: bool
    number: int | None = None  # from 1, of `total`
    total: int | None = None
    rows: int = 0  # of this page, of `all_rows`
    all_rows: int | None = None


def page_of(document: JsonValue, file: str) -> Page | None:
    """Find what a document says of the page that it is; None if it is no page."""
    if not isinstance(document, dict):
        return None
    lengths = [len(value) for value in document.values() if isinstance(value, list)]
    if not lengths:
        return None
    for prefix, holder in _holders(document):
        page = (
            _with_cursor(holder, file, prefix)
            or _with_number(holder, file, prefix)
            or _with_limit(holder, file, prefix, rows=max(lengths))
        )
        if page is not None:
            return page
    return None


def _with_cursor(
    holder: Mapping[str, JsonValue], file: str, prefix: str
) -> Page | None:
    """Find whether another page follows, or where it is."""
    for key in _CUT:
        if isinstance(holder.get(key), bool):
            return Page(file=file, key=prefix + key, has_next=holder[key] is True)
    for key in (*_MORE, *_CURSORS):
        if key in holder:
            has_next = holder[key] not in (None, False, "", {})
            return Page(file=file, key=prefix + key, has_next=has_next)
    cursor = holder.get(_CURSOR)
    if isinstance(cursor, str):
        return Page(file=file, key=prefix + _CURSOR, has_next=cursor != "")
    return None


def _with_number(
    holder: Mapping[str, JsonValue], file: str, prefix: str
) -> Page | None:
    """Find the number of the page and the number of pages."""
    number = holder.get("page")
    for key in _TOTALS:
        total = holder.get(key)
        if isinstance(total, int) and isinstance(number, int):
            return Page(
                file=file,
                key=prefix + key,
                has_next=number < total,
                number=number,
                total=total,
            )
    return None


def _with_limit(
    holder: Mapping[str, JsonValue], file: str, prefix: str, *, rows: int
) -> Page | None:
    """Find the number of all rows, where a number of them was asked for."""
    if not any(isinstance(holder.get(key), int) for key in _LIMITS):
        return None
    for key in _COUNTS:
        count = holder.get(key)
        if isinstance(count, int):
            return Page(
                file=file,
                key=prefix + key,
                has_next=False,  # the rows of all pages are counted
                rows=rows,
                all_rows=count,
            )
    return None


def _holders(
    document: Mapping[str, JsonValue],
) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
    yield "", document
    for name in _HOLDERS:
        holder = document.get(name)
        if isinstance(holder, dict):
            yield f"{name}.", holder


class Pages:
    """The pages among the documents that a benchmark reads."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        # the keys of the pages' documents, without a cursor, and of the other documents
        self._keys_of_pages: set[frozenset[str]] = set()
        self._keys_of_others: set[frozenset[str]] = set()

    def add(self, document: JsonValue, file: str) -> None:
        """Look at a document."""
        if not isinstance(document, dict):
            return
        keys = frozenset(document) - {_CURSOR}
        page = page_of(document, file)
        if page is None:
            self._keys_of_others.add(keys)
        else:
            self._pages.append(page)
            self._keys_of_pages.add(keys)

    def must_be_complete(self) -> None:
        """Refuse pages of which the last is not there.

        Raises
        ------
        DataError
            If a page says that another one follows, and no page is the last.
        """
        self._must_have_all_numbers()
        self._must_have_all_rows()
        # where a cursor leads to the next page, the last one has none
        is_last_there = not self._keys_of_pages.isdisjoint(self._keys_of_others)
        if is_last_there or not self._pages:
            return
        if all(page.has_next for page in self._pages):
            page = self._pages[-1]
            raise self._incomplete(page, f"{page.key} says that another page follows")

    def _must_have_all_numbers(self) -> None:
        numbers = {page.number for page in self._pages}
        for page in self._pages:
            if page.total is None:
                continue
            absent = [n for n in range(1, page.total + 1) if n not in numbers]
            if absent:
                what = f"this is page {page.number} of {page.total}"
                missing = f"page {absent[0]} is not among the files"
                raise self._incomplete(page, f"{what}, and {missing}")

    def _must_have_all_rows(self) -> None:
        counted = [page for page in self._pages if page.all_rows is not None]
        rows = sum(page.rows for page in counted)
        for page in counted:
            if page.all_rows is not None and rows < page.all_rows:
                what = f"{page.key} says that these are {rows} of {page.all_rows} rows"
                raise self._incomplete(page, what)

    def _incomplete(self, page: Page, what: str) -> DataError:
        hint = (
            "fetch all pages, and name all their files; or write the rows to one file"
        )
        return DataError(f"{what}: the rows are incomplete", file=page.file, hint=hint)
