"""A release beside a sample, another release or a hypothesis: distances, tests, and where the difference lies."""
