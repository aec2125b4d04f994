"""The owner's private look at a table before any budget is spent. What it says is not for publication."""
