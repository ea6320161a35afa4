"""The engines that do a benchmark's work: in this process, or on a Ray cluster."""
