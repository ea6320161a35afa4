"""What users write inside strings: Jinja templates and JSONPath queries.

Each is a module of its own, imported only where a benchmark holds one: both need the
``remote`` extra.
"""
