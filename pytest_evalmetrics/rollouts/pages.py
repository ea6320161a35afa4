"""Documents that are one page of many, as APIs return them: ``has_more: true``, a cursor, a total.

What a document says of its page is one `Page`: whether another page follows or comes before, which
number it has, and how many rows all pages have. `Pages` checks those of all files together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.json_types import objects_in
from pytest_evalmetrics.rollouts.name_words import word_set

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

# The names of keys without case and punctuation: has_more, hasMore and HasMore are one.
_MORE: Final = word_set("hasmore hasnext hasnextpage morepages")
_CUT: Final = word_set("truncated istruncated incompleteresults partial")
_LAST: Final = word_set("islast islastpage")
_CURSORS: Final = word_set(
    "nextcursor nextpagetoken nexttoken nextpage nextpagekey nextpageurl nextpagelink next "
    "nexturl nextlink nexthref nextrecordsurl nextmarker nextoffset nextkey nextid nextstart "
    "odatanextlink nextcontinuationtoken continuationtoken lastevaluatedkey"
)
_BEFORE: Final = word_set("previous prev previouspage previousurl previouslink prevurl")
_HAS_BEFORE: Final = word_set("hasprevious hasprev haspreviouspage")
_CURSOR: Final = "cursor"  # leads to the next page, and is not there on the last one
_OFFSET: Final = "offset"  # where it is text, it is a cursor
_LINK: Final = "link"  # as in the header of a response: <URL>; rel="next"
_HOLDERS: Final = word_set(
    "meta metadata pagination paging page pageinfo links link cursor cursors "
    "responsemetadata headers"
)
# that state the number of all rows
_SUMMARIES: Final = word_set("summary stats statistics counts totals info overview")
_NUMBERS: Final = ("page", "pagenumber", "currentpage")
_NUMBERS_FROM_0: Final = ("number", "pageindex")
_TOTALS: Final = ("totalpages", "pages", "pagecount", "numpages", "lastpage")
# keys that count the rows of all pages
_COUNTS: Final = word_set(
    "total count totalcount totalitems totalresults totalrecords totalrows totalelements "
    "totalsize totalhits totalentries totaldocs numfound numresults resultcount resultscount "
    "odatacount numrowstotal totaltasks totalquestions totalexamples totalproblems numtasks "
    "numquestions numexamples numproblems ntasks nquestions nexamples nproblems"
)
_DEPTH: Final = 4  # of the lists that may hold the rows


class Page(msgspec.Struct, frozen=True):
    """What a document says of the page that it is; None, and no key, where it says nothing."""

    file: str
    next_key: str = ""
    has_next: bool | None = None
    previous_key: str = ""
    has_previous: bool | None = None
    number: int | None = None  # from 1, of `total`
    total: int | None = None
    count_key: str = ""
    rows: int = 0  # of this page, of `all_rows`
    all_rows: int | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether the document says nothing of a page."""
        return self == Page(file=self.file)


def page_of(document: JsonValue, file: str, rows: str = "") -> Page:
    """Find what a document says of the page that it is.

    `rows` is the path of its rows: each object on the way to them may say so.
    """
    page = Page(file=file)
    if not isinstance(document, dict):
        return page
    row_counts = _row_counts(document)
    for prefix, holder in _holders(document, rows):
        page = _Marks(holder, prefix, row_counts).all(page)
        for key, value in holder.items():
            if not isinstance(value, dict):
                continue
            marks = _Marks(value, f"{prefix}{key}.", row_counts)
            if _plain(key) in _HOLDERS:
                page = marks.all(page)
            elif _plain(key) in _SUMMARIES:
                page = marks.count(page)
    return page


class _Marks:
    """The keys of an object that may say which page it is; each adds to what is known of it."""

    def __init__(
        self, holder: Mapping[str, JsonValue], prefix: str, row_counts: Collection[int]
    ) -> None:
        self._values = {_plain(key): value for key, value in holder.items()}
        self._keys = {_plain(key): prefix + key for key in holder}
        self._row_counts = row_counts  # how many rows there may be

    def all(self, page: Page) -> Page:
        """Find all that the keys say of the page."""
        for learn in (self.next, self.previous, self.number, self.count):
            page = learn(page)
        return page

    def next(self, page: Page) -> Page:
        """Find whether another page follows, or where it is."""
        if page.has_next is not None:
            return page
        for says_so in (self._cut, self._cursor_of_name, self._next_link, self._cursor):
            mark = says_so()
            if mark is not None:
                name, has_next = mark
                key = self._keys[name]
                return structs.replace(page, next_key=key, has_next=has_next)
        return page

    def _cut(self) -> tuple[str, bool] | None:
        for name, value in self._values.items():
            if not isinstance(value, bool):
                continue
            if name in _CUT:
                return name, value
            if name in _LAST:
                return name, not value
        # Elasticsearch's search
        if "hits" in self._values and self._values.get("timedout") is True:
            return "timedout", True
        return None

    def _cursor_of_name(self) -> tuple[str, bool] | None:
        for name, value in self._values.items():
            if name in _MORE or name in _CURSORS:
                return name, value not in (None, False, "", {})
        return None

    def _next_link(self) -> tuple[str, bool] | None:
        links = objects_in(self._values.get("links"))
        if any(link.get("rel") == "next" for link in links):
            return "links", True
        header = self._values.get(_LINK)
        if isinstance(header, str) and "rel=" in header:
            return _LINK, "next" in re.findall(r"rel=\"?(\w+)", header)
        return None

    def _cursor(self) -> tuple[str, bool] | None:
        cursor = self._values.get(_CURSOR)
        if isinstance(cursor, str):
            return _CURSOR, cursor != ""
        offset = self._values.get(_OFFSET)
        if isinstance(offset, str) and not offset.isdecimal():
            return _OFFSET, offset != ""
        return None

    def previous(self, page: Page) -> Page:
        """Find whether another page comes before: a flag, or its address."""
        for name, value in self._values.items():
            if name in _HAS_BEFORE and isinstance(value, bool):
                has_previous = value
            elif name in _BEFORE:
                has_previous = isinstance(value, str) and "/" in value
            else:
                continue
            key = self._keys[name]
            return structs.replace(page, previous_key=key, has_previous=has_previous)
        return page

    def number(self, page: Page) -> Page:
        """Find the number of the page and the number of pages."""
        total = self._whole(_TOTALS)
        number = self._page_number()
        if total is None or number is None or page.number is not None:
            return page
        return structs.replace(page, number=number, total=total[1])

    def _page_number(self) -> int | None:
        """Find the number of the page, from 1."""
        number = self._whole(_NUMBERS)
        if number is not None:
            return number[1]
        number_from_0 = self._whole(_NUMBERS_FROM_0)
        if number_from_0 is not None:
            return number_from_0[1] + 1
        return None

    def count(self, page: Page) -> Page:
        """Find the number of the rows of all pages."""
        counted = self._whole(_COUNTS)
        if counted is None or page.all_rows is not None:
            return page
        name, all_rows = counted
        rows = max(self._row_counts, default=0)
        if all_rows in self._row_counts:
            rows = all_rows
        return structs.replace(
            page, count_key=self._keys[name], rows=rows, all_rows=all_rows
        )

    def _whole(self, names: Collection[str]) -> tuple[str, int] | None:
        """Find the first key of some names that holds a whole number, or an object with it."""
        for name, value in self._values.items():
            if name not in names:
                continue
            # the total of Elasticsearch is an object
            held = value.get("value") if isinstance(value, dict) else value
            if isinstance(held, str) and held.isdecimal():
                return name, int(held)
            if type(held) is int:
                return name, held
        return None


def _plain(key: str) -> str:
    """Write a key without case and punctuation."""
    return "".join(filter(str.isalnum, key)).lower()


def _holders(document: JsonObject, rows: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects on the way to the rows, each with the path of its keys."""
    holder = document
    prefix = ""
    yield prefix, holder
    for key in rows.split("."):
        held = holder.get(key)
        if not isinstance(held, dict):
            return
        holder = held
        prefix += f"{key}."
        yield prefix, holder


def _row_counts(document: JsonObject) -> set[int]:
    """Count what may be the rows: the values of lists and objects, and all those of one kind."""
    counts: set[int] = set()
    _add_counts(document, counts, 1)
    return counts


def _add_counts(value: JsonObject, counts: set[int], depth: int) -> None:
    lists = [held for held in value.values() if isinstance(held, list)]
    counts.update(map(len, lists))
    # rows in several lists beside each other: of subsets, or of results and errors
    counts.add(sum(map(len, lists)))
    for held in lists:
        counts.update(_inner_counts(objects_in(held)))
    objects = [held for held in value.values() if isinstance(held, dict)]
    if len(objects) == len(value):
        counts.add(len(objects))
        counts.update(_inner_counts(objects))
    if depth < _DEPTH:
        for inner in objects:
            _add_counts(inner, counts, depth + 1)


def _inner_counts(rows: list[JsonObject]) -> Iterator[int]:
    """Count the values of the lists that several objects have under one key."""
    sizes: dict[str, int] = {}
    for row in rows:
        for key, value in row.items():
            if isinstance(value, list):
                sizes[key] = sizes.get(key, 0) + len(value)
    yield from sizes.values()


def _is_cursor(key: str) -> bool:
    name = _plain(key)
    return name in (_CURSOR, _OFFSET) or name in _CURSORS


class Pages:
    """The pages among the documents that a benchmark reads."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        # the keys of the documents that say whether a page follows, without a cursor, and of
        # the other documents
        self._keys_of_pages: set[frozenset[str]] = set()
        self._keys_of_others: set[frozenset[str]] = set()

    def add(self, document: JsonValue, file: str, rows: str = "") -> None:
        """Look at a document, whose rows are at a path."""
        if not isinstance(document, dict):
            return
        keys = frozenset(key for key in document if not _is_cursor(key))
        page = page_of(document, file, rows)
        if page.has_next is None:
            self._keys_of_others.add(keys)
        else:
            self._keys_of_pages.add(keys)
        if not page.says_nothing:
            self._pages.append(page)

    def must_be_complete(self) -> None:
        """Refuse pages of which some are not there.

        Raises
        ------
        DataError
            If a page says that another one follows or comes before, and no page is the last, or
            the first; if a number is left out; or if all pages together have more rows.
        """
        self._must_have_all_numbers()
        self._must_have_the_last()
        self._must_have_all_rows()
        self._must_have_the_first()

    def _must_have_all_numbers(self) -> None:
        numbers = {page.number for page in self._pages}
        for page in self._pages:
            if page.total is None:
                continue
            absent = [n for n in range(1, page.total + 1) if n not in numbers]
            if absent:
                what = f"this is page {page.number} of {page.total}"
                missing = f"page {absent[0]} is not among the files"
                raise _incomplete(page, f"{what}, and {missing}")

    def _must_have_all_rows(self) -> None:
        rows = sum(page.rows for page in self._pages)
        for page in self._pages:
            if page.all_rows is None or rows >= page.all_rows:
                continue
            what = (
                f"{page.count_key} says that these are {rows} of {page.all_rows} rows"
            )
            hint = (
                f"or remove {page.count_key} from the file, if it counts something else"
            )
            raise _incomplete(page, what, hint)

    def _must_have_the_last(self) -> None:
        pages = [page for page in self._pages if page.has_next is not None]
        # where a cursor leads to the next page, the last one has none
        is_last_there = not self._keys_of_pages.isdisjoint(self._keys_of_others)
        if pages and not is_last_there and all(page.has_next for page in pages):
            page = pages[-1]
            raise _incomplete(page, f"{page.next_key} says that another page follows")

    def _must_have_the_first(self) -> None:
        pages = [page for page in self._pages if page.has_previous is not None]
        if pages and all(page.has_previous for page in pages):
            page = pages[0]
            key = page.previous_key
            raise _incomplete(page, f"{key} says that another page comes before")


def _incomplete(page: Page, what: str, other_way: str = "") -> DataError:
    hint = "fetch all pages, and name all their files; or write the rows to one file"
    if other_way:
        hint = f"{hint}; {other_way}"
    return DataError(f"{what}: the rows are incomplete", file=page.file, hint=hint)
