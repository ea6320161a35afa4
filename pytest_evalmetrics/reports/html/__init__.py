"""``report.html``: the run as a page that people look at.

What is said of tasks is made where a benchmark is evaluated (`picture_of`, `page_pieces`); the
page is put together at the run's end (`write_page`).
"""

from pytest_evalmetrics.reports.html.page import PagePieces, page_pieces, write_other, write_page
from pytest_evalmetrics.reports.html.picture import picture_of

__all__ = ["PagePieces", "page_pieces", "picture_of", "write_other", "write_page"]
