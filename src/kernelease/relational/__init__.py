"""Several tables of which one guarantee protects persons with all their records: declarations, and what rows are."""
