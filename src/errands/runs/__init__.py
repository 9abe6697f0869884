"""Runs: a request, its folder, training, resuming and sweeping; written so that a crash loses at most one checkpoint."""
