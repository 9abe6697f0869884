"""Run folders: written so that a crash loses at most one checkpoint, read so that damage never goes unnoticed."""
