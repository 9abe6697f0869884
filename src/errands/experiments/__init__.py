"""Experiments: what to run, one run, many runs on one machine or a cluster, and how it is told."""
