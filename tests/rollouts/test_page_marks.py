"""What a document says of the page that it is, key by key."""

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.pages import Page, Pages, page_of

ROWS = [{"id": n} for n in range(3)]


def page(document, rows="results"):
    return page_of({"results": ROWS, **document}, "f", rows)


@pytest.mark.parametrize(
    ("document", "key", "has_next"),
    [
        *(({key: True}, key, True) for key in ("has_more", "hasNext", "hasNextPage")),
        ({"morePages": False}, "morePages", False),
        *(({key: True}, key, True) for key in ("truncated", "IsTruncated", "partial")),
        ({"incomplete_results": False}, "incomplete_results", False),
        *(({key: True}, key, False) for key in ("is_last", "isLastPage")),
        ({"isLast": False}, "isLast", True),
        ({"timed_out": True, "hits": {}}, "timed_out", True),
        *(
            ({key: "x"}, key, True)
            for key in ("next", "nextCursor", "next_page_token", "nextLink", "nextId")
        ),
        *(
            ({key: "x"}, key, True)
            for key in (
                "next_records_url",
                "nextStart",
                "LastEvaluatedKey",
                "next_token",
            )
        ),
        *(({"next": value}, "next", False) for value in (None, False, "", {})),
        ({"links": [{"rel": "self"}, {"rel": "next"}]}, "links", True),
        ({"link": '<u>; rel="prev", <v>; rel=next'}, "link", True),
        ({"link": '<u>; rel="first"'}, "link", False),
        ({"cursor": "x"}, "cursor", True),
        ({"cursor": ""}, "cursor", False),
        ({"offset": "itr/rec"}, "offset", True),
        ({"offset": ""}, "offset", False),
        ({"meta": {"next": "x"}}, "meta.next", True),
        ({"pageInfo": {"hasNextPage": True}}, "pageInfo.hasNextPage", True),
        ({"ResponseMetadata": {"NextToken": "x"}}, "ResponseMetadata.NextToken", True),
    ],
)
def test_whether_another_page_follows(document, key, has_next):
    found = page(document)
    assert (found.next_key, found.has_next) == (key, has_next)


@pytest.mark.parametrize(
    "document",
    [
        {"truncated": "yes"},
        {"timed_out": True},
        {"timed_out": False, "hits": {}},
        {"links": [{"rel": "self"}]},
        {"link": "https://localhost"},
        {"cursor": 5},
        {"offset": "20"},
        {"offset": 20},
        {"other": {"next": "x"}},
        {"summary": {"next": "x"}},
    ],
)
def test_what_says_nothing_of_another_page(document):
    assert page(document).has_next is None


@pytest.mark.parametrize(
    ("document", "key", "has_previous"),
    [
        ({"hasPreviousPage": True}, "hasPreviousPage", True),
        ({"has_prev": False}, "has_prev", False),
        ({"previous": "https://localhost/?page=1"}, "previous", True),
        ({"prev_url": None}, "prev_url", False),
        ({"prev": "token"}, "prev", False),
        ({"hasPrevious": "yes", "prev": "/a"}, "prev", True),
    ],
)
def test_whether_another_page_comes_before(document, key, has_previous):
    found = page(document)
    assert (found.previous_key, found.has_previous) == (key, has_previous)


@pytest.mark.parametrize(
    ("document", "number", "total"),
    [
        ({"page": 2, "total_pages": 3}, 2, 3),
        ({"pageNumber": "2", "pages": 3}, 2, 3),
        ({"currentPage": 2, "lastPage": 3}, 2, 3),
        ({"number": 0, "totalPages": 3}, 1, 3),
        ({"pageIndex": 2, "numPages": 3}, 3, 3),
        ({"meta": {"page": 1, "page_count": 4}}, 1, 4),
        ({"page": 2}, None, None),
        ({"total_pages": 2}, None, None),
        ({"page": "two", "total_pages": 2}, None, None),
    ],
)
def test_the_number_of_a_page(document, number, total):
    found = page(document)
    assert (found.number, found.total) == (number, total)


@pytest.mark.parametrize(
    ("document", "key", "rows", "all_rows"),
    [
        ({"total": 40}, "total", 3, 40),
        ({"total": 3}, "total", 3, 3),
        ({"summary": {"num_tasks": "5"}}, "summary.num_tasks", 3, 5),
        ({"hits": {"total": {"value": 9}}}, "", 0, None),
        ({"total": {"value": 9}}, "total", 3, 9),
        ({"total": 5, "errors": [1, 2]}, "total", 5, 5),
        ({"total": 2, "errors": [1, 2]}, "total", 2, 2),
        ({"total": 9, "errors": [1, 2]}, "total", 5, 9),
        ({"total": True}, "", 0, None),
        ({"count": "many"}, "", 0, None),
        ({"other": {"total": 5}}, "", 0, None),
    ],
)
def test_the_number_of_all_rows(document, key, rows, all_rows):
    found = page(document)
    assert (found.count_key, found.rows, found.all_rows) == (key, rows, all_rows)


@pytest.mark.parametrize(
    ("document", "total", "rows"),
    [
        ({"tasks": [{"a": [1, 2]}, {"a": [3]}]}, 3, 3),
        ({"x": {"a": 1, "b": {}}, "tasks": {"k": {}, "l": {}}}, 2, 2),
        ({"k": {"a": [1, 2, 3, 4]}}, 4, 4),
        ({"a": {"b": {"c": {"d": [1, 2, 3]}}}}, 3, 3),
        ({"a": {"b": {"c": {"d": {"e": {"f": [1, 2]}}}}}}, 9, 1),
    ],
)
def test_what_may_be_the_rows_is_counted(document, total, rows):
    assert page_of({**document, "total": total}, "f").rows == rows


def test_each_object_on_the_way_to_the_rows_may_say_which_page_it_is():
    inner = {"results": ROWS, "next": "x"}
    document = {"data": {"body": inner}}
    assert page_of(document, "f", "data.body.results").next_key == "data.body.next"
    assert page_of(document, "f", "data.rows").has_next is None


@pytest.mark.parametrize("document", [[1], "x", {"results": ROWS, "model": "m"}])
def test_a_document_may_say_nothing_of_a_page(document):
    found = page_of(document, "f")
    assert found == Page(file="f")
    assert found.says_nothing


# -- several documents -------------------------------------------------------------------------


def together(*documents):
    pages = Pages()
    for number, document in enumerate(documents, 1):
        pages.add(document, f"f{number}", "results")
    pages.must_be_complete()


WAY_OUT = "fetch all pages, and name all their files; or write the rows to one file"


@pytest.mark.parametrize(
    ("documents", "file", "what", "hint"),
    [
        (
            [{"next": "x"}, {"next": "y"}],
            "f2",
            "next says that another page follows",
            WAY_OUT,
        ),
        (
            [{"prev": "/a"}, {"prev": "/b"}],
            "f1",
            "prev says that another page comes before",
            WAY_OUT,
        ),
        (
            [{"page": 1, "pages": 3}, {"page": 3, "pages": 3}],
            "f1",
            "this is page 1 of 3, and page 2 is not among the files",
            WAY_OUT,
        ),
        (
            [{"total": 9, "results": ROWS}, {"total": 9, "results": ROWS}],
            "f1",
            "total says that these are 6 of 9 rows",
            f"{WAY_OUT}; or remove total from the file, if it counts something else",
        ),
    ],
)
def test_pages_of_which_some_lack_are_refused(documents, file, what, hint):
    with pytest.raises(DataError) as caught:
        together(*documents)
    assert caught.value.message == f"{what}: the rows are incomplete"
    assert caught.value.file == file
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "documents",
    [
        [{"next": "x"}, {"next": None}],
        [{"prev": None}, {"prev": "/a"}],
        [{"page": 2, "pages": 2}, {"page": 1, "pages": 2}],
        [{"total": 6, "results": ROWS}, {"total": 6, "results": ROWS}],
        [{"cursor": "x", "a": 1}, {"a": 1}],
        [[1, 2]],
        [{"a": 1}],
    ],
)
def test_pages_that_are_all_there_are_read(documents):
    together(*documents)


def test_a_document_of_other_keys_is_no_last_page():
    with pytest.raises(DataError, match="cursor says that another page follows"):
        together({"cursor": "x", "a": 1}, {"b": 1})
