"""What run folders say: curves, statistics, comparisons."""
