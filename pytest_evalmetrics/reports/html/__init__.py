"""``report.html``: the run as a page that people look at."""
