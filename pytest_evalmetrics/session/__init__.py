"""The benchmarks of a run, and the tests that check something, from collection to the report.

`evaluation_session` is what pytest calls, and `selection` its state. What another plugin needs
is a module of its own: `workers` for pytest-xdist, `terminal` for pytest's reporter,
`beside_syrupy`, `beside_testmon` and `beside_retry`. `item_reports` carries results on pytest's
reports, and `registration` calls the hook that registers names.
"""
