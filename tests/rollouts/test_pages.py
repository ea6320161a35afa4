"""A document that is one page of several is refused, unless the others are among the files."""

import pytest

ROWS = [{"id": f"q{n}", "score": n % 2} for n in range(12)]
FIELDS = {"task": "id", "reward": "score"}


def refusal(folder, *documents, rows="results", fields=FIELDS):
    for number, document in enumerate(documents):
        folder.json(document, f"page{number}.json")
    return str(folder.refused("page*.json", rows=rows, fields=fields)).splitlines()[0]


def reads(folder, *documents, rows="results", **keys):
    for number, document in enumerate(documents):
        folder.json(document, f"page{number}.json")
    table = folder.load("page*.json", rows=rows, fields={**FIELDS, **keys})
    return len(table)


PAGES = {
    "total": {"total": 40},
    "count": {"count": 40},
    "totalCount": {"totalCount": 40},
    "total_results": {"total_results": 40},
    "num_results": {"num_results": 40},
    "totalRows": {"totalRows": "40"},
    "@odata.count": {"@odata.count": 40},
    "num_rows_total": {"num_rows_total": 40},
    "summary.total": {"summary": {"total": 40, "passed": 6}},
    "info.total_tasks": {"info": {"total_tasks": 40}},
    "meta.total": {"meta": {"total": 40}},
    "nextPageToken": {"nextPageToken": "x"},
    "next": {"next": "https://localhost/?page=2", "previous": None},
    "links.next": {"links": {"next": "/results?page=2"}},
    "_links.next": {"_links": {"next": {"href": "/results?page=2"}}},
    "@odata.nextLink": {"@odata.nextLink": "https://localhost/$skip=12"},
    "paging.next": {"paging": {"cursors": {"after": "x"}, "next": "https://localhost"}},
    "cursors.next": {"cursors": {"next": "x"}},
    "headers.Link": {"headers": {"Link": '<https://localhost?page=2>; rel="next"'}},
    "offset": {"offset": "itr1/rec2"},
    "partial": {"partial": True},
    "previous": {"count": 12, "next": None, "previous": "https://localhost/?page=1"},
}


@pytest.mark.parametrize("key", PAGES)
def test_a_page_of_several_is_refused(folder, key):
    first = refusal(folder, {"results": ROWS, **PAGES[key]})
    assert first.startswith(f"page0.json: {key} says")


WHOLE = {
    "total": {"total": 12},
    "count and no next": {"count": 12, "next": None, "previous": None},
    "links.next": {"links": {"next": None}},
    "headers.Link": {"headers": {"Link": '<https://localhost?page=1>; rel="prev"'}},
    "paging": {"paging": {"cursors": {"after": "x"}}},
    "offset of numbers": {"offset": 0, "limit": 100},
    "total of points": {"total": 7},
    "a previous run": {"previous": "run-12"},
    "partial": {"partial": False},
    "total with errors": {"total": 15, "errors": [{"m": 1}] * 3},
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_only_page_is_read(folder, name):
    assert reads(folder, {"results": ROWS, **WHOLE[name]}) == 12


def hits(rows, total):
    return {
        "took": 3,
        "timed_out": False,
        "hits": {"total": total, "max_score": 1.0, "hits": rows},
    }


OF_SOURCE = {"task": "_source.id", "reward": "_source.score"}
OF_HITS = [{"_id": row["id"], "_score": 1.0, "_source": row} for row in ROWS]


@pytest.mark.parametrize("total", [{"value": 40, "relation": "eq"}, 40])
def test_a_search_of_elasticsearch_with_more_hits_is_refused(folder, total):
    first = refusal(folder, hits(OF_HITS, total), rows="hits.hits", fields=OF_SOURCE)
    assert first == (
        "page0.json: hits.total says that these are 12 of 40 rows: the rows are incomplete"
    )


def test_a_search_of_elasticsearch_that_timed_out_is_refused(folder):
    document = {**hits(OF_HITS, {"value": 12}), "timed_out": True}
    first = refusal(folder, document, rows="hits.hits", fields=OF_SOURCE)
    assert first.startswith("page0.json: timed_out says")


def test_a_search_of_elasticsearch_with_all_hits_is_read(folder):
    document = hits(OF_HITS, {"value": 12, "relation": "eq"})
    assert reads(folder, document, rows="hits.hits", **OF_SOURCE) == 12


def test_pages_with_a_total_are_read_together(folder):
    pages = [
        {"count": 12, "next": "https://localhost/2", "previous": None},
        {"count": 12, "next": None, "previous": "https://localhost/1"},
    ]
    documents = [
        {"results": ROWS[:6], **pages[0]},
        {"results": ROWS[6:], **pages[1]},
    ]
    assert reads(folder, *documents) == 12


def test_the_last_page_alone_is_refused(folder):
    document = {
        "results": ROWS[6:],
        "count": 12,
        "next": None,
        "previous": "https://localhost/1",
    }
    assert "6 of 12 rows" in refusal(folder, document)


def test_a_total_of_attempts_is_that_of_the_inner_lists(folder):
    tasks = [
        {"id": f"q{n}", "attempts": [{"score": 1}, {"score": 0}]} for n in range(6)
    ]
    document = {"total": 12, "results": tasks}
    fields = {"task": "_parent.id"}
    assert reads(folder, document, rows="results.*.attempts", **fields) == 12


def test_the_way_out_of_a_total_that_counts_something_else_is_said(folder):
    folder.json({"results": ROWS, "total": 85}, "r.json")
    error = folder.refused("r.json", rows="results", fields=FIELDS)
    assert "remove total from the file, if it counts something else" in error.hint
