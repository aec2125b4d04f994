"""What touches private rows: encoded rows, exact counts and sums. Nothing here prints, pickles or has a length."""
