"""Where the work of a benchmark is done: here, or on a Ray cluster, with the same bytes."""
