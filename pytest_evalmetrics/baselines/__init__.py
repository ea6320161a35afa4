"""Baselines: the run that a later one is compared with, in a file of its own or elsewhere."""
