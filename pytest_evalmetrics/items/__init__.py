"""Benchmarks as pytest's items: collected, run, or reported on in place of a run."""
