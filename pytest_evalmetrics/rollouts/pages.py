"""Documents that are one page of many, as APIs return them: ``has_more: true``, a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.json_types import objects_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

# The names of keys without case and punctuation: has_more, hasMore and HasMore are one.
# The names of keys without case and punctuation: has_more, hasMore and HasMore are one.
_MORE: Final = ("hasmore", "hasnext", "hasnextpage")
_CUT: Final = ("truncated", "istruncated", "incompleteresults")
_LAST: Final = ("islast", "islastpage")
_CURSORS: Final = (
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "nextpage",
    "nextpagekey",
    "nextpageurl",
    "nextpagelink",
    "next",
    "nexturl",
    "nextlink",
    "nexthref",
    "nextrecordsurl",
    "nextmarker",
    "nextoffset",
    "nextkey",
    "odatanextlink",
    "nextcontinuationtoken",
    "continuationtoken",
    "lastevaluatedkey",
)
_CURSOR: Final = "cursor"  # leads to the next page, and is not there on the last one
_HOLDERS: Final = (
    "meta",
    "metadata",
    "pagination",
    "paging",
    "page",
    "pageinfo",
    "links",
    "responsemetadata",
)
_NUMBERS: Final = ("page", "pagenumber", "currentpage")
_NUMBERS_FROM_0: Final = ("number", "pageindex")
_TOTALS: Final = ("totalpages", "pages", "pagecount", "numpages", "lastpage")
# keys that count the rows of all pages, and those that do so beside a limit
_COUNTS: Final = (
    "totalcount",
    "totalitems",
    "totalresults",
    "totalrecords",
    "totalrows",
    "totalelements",
    "totalsize",
    "totalhits",
    "numfound",
)
_COUNTS_BESIDE_LIMITS: Final = ("total", "count")
# keys that say that a number of rows was asked for
_LIMITS: Final = (
    "limit",
    "offset",
    "skip",
    "page",
    "pagesize",
    "perpage",
    "startat",
    "maxresults",
)


class Page(msgspec.Struct, frozen=True):
    """What a document says of the page that it is."""

    file: str
    key: str  # where it says so
    has_next: bool
    number: int | None = None  # from 1, of `total`
    total: int | None = None
    rows: int = 0  # of this page, of `all_rows`
    all_rows: int | None = None


def page_of(document: JsonValue, file: str, rows: str = "") -> Page | None:
    """Find what a document says of the page that it is; None if it is no page.

    `rows` is the path of its rows: each object on the way to them may say so.
    """
    if not isinstance(document, dict):
        return None
    for prefix, holder in _holders(document, rows):
        for inner_prefix, inner in _with_inner(holder, prefix):
            marks = _Marks(inner, file, inner_prefix, _row_counts(holder))
            page = marks.of_next() or marks.of_number() or marks.of_count()
            if page is not None:
                return page
    return None


class _Marks:
    """The keys of an object that may say which page it is."""

    def __init__(
        self,
        holder: Mapping[str, JsonValue],
        file: str,
        prefix: str,
        rows: Collection[int],
    ) -> None:
        self._values = {_plain(key): value for key, value in holder.items()}
        self._keys = {_plain(key): prefix + key for key in holder}
        self._file = file
        self._rows = rows  # how many rows there may be

    def of_next(self) -> Page | None:
        """Find whether another page follows, or where it is."""
        for name, value in self._values.items():
            is_flag = isinstance(value, bool)
            if name in _CUT and is_flag:
                return self._page(name, has_next=value is True)
            if name in _LAST and is_flag:
                return self._page(name, has_next=value is False)
        for name, value in self._values.items():
            if name in _MORE or name in _CURSORS:
                return self._page(name, has_next=value not in (None, False, "", {}))
        if "links" in self._values:
            links = objects_in(self._values["links"])
            if any(link.get("rel") == "next" for link in links):
                return self._page("links", has_next=True)
        cursor = self._values.get(_CURSOR)
        if isinstance(cursor, str):
            return self._page(_CURSOR, has_next=cursor != "")
        return None

    def of_number(self) -> Page | None:
        """Find the number of the page and the number of pages."""
        total_name = self._whole(_TOTALS)
        if total_name is None:
            return None
        total = self._values[total_name]
        name = self._whole(_NUMBERS)
        first = 1
        if name is None:
            name = self._whole(_NUMBERS_FROM_0)
            first = 0
        number = None if name is None else self._values[name]
        if not isinstance(number, int) or not isinstance(total, int):
            return None
        number += 1 - first
        return Page(
            file=self._file,
            key=self._keys[total_name],
            has_next=number < total,
            number=number,
            total=total,
        )

    def of_count(self) -> Page | None:
        """Find the number of the rows of all pages."""
        name = self._whole(_COUNTS)
        if name is None and self._whole(_LIMITS) is not None:
            name = self._whole(_COUNTS_BESIDE_LIMITS)
        count = None if name is None else self._values[name]
        if name is None or not isinstance(count, int):
            return None
        return Page(
            file=self._file,
            key=self._keys[name],
            has_next=False,  # the rows of all pages are counted
            rows=count if count in self._rows else max(self._rows, default=0),
            all_rows=count,
        )

    def _whole(self, names: Collection[str]) -> str | None:
        """Find the first key of some names that holds a whole number."""
        return next(
            (
                name
                for name, value in self._values.items()
                if name in names and type(value) is int
            ),
            None,
        )

    def _page(self, name: str, *, has_next: bool) -> Page:
        return Page(file=self._file, key=self._keys[name], has_next=has_next)


def _plain(key: str) -> str:
    """Write a key without case and punctuation."""
    return "".join(filter(str.isalnum, key)).lower()


def _holders(document: JsonObject, rows: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects on the way to the rows, each with the path of its keys."""
    holder = document
    prefix = ""
    for key in ("", *rows.split(".")):
        if key:
            held = holder.get(key)
            if not isinstance(held, dict):
                return
            holder = held
            prefix += f"{key}."
        if any(isinstance(value, list) for value in holder.values()):
            yield prefix, holder


def _with_inner(
    holder: JsonObject, prefix: str
) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:
    """Yield an object and those of its values that are about the page."""
    yield prefix, holder
    for key, value in holder.items():
        if isinstance(value, dict) and _plain(key) in _HOLDERS:
            yield f"{prefix}{key}.", value


def _row_counts(holder: JsonObject) -> set[int]:
    """Count the values of each list of an object, and those of the lists in each of its objects."""
    counts: set[int] = set()
    for value in holder.values():
        if isinstance(value, list):
            counts.add(len(value))
        inner = value.values() if isinstance(value, dict) else ()
        lists = [part for part in inner if isinstance(part, list)]
        if lists:
            counts.add(sum(map(len, lists)))
    return counts


def _is_cursor(key: str) -> bool:
    name = _plain(key)
    return name == _CURSOR or name in _CURSORS


class Pages:
    """The pages among the documents that a benchmark reads."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        # the keys of the pages' documents, without a cursor, and of the other documents
        self._keys_of_pages: set[frozenset[str]] = set()
        self._keys_of_others: set[frozenset[str]] = set()

    def add(self, document: JsonValue, file: str, rows: str = "") -> None:
        """Look at a document, whose rows are at a path."""
        if not isinstance(document, dict):
            return
        keys = frozenset(key for key in document if not _is_cursor(key))
        page = page_of(document, file, rows)
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
