"""CSV files: every cell a string, every record a row, and no record that can raise."""
