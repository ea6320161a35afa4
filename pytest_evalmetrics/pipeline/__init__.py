"""From a benchmark to its result: load -> (score) -> reduce -> gate, each in one place."""
