"""What a private row is, and what it adds: cells to codes, exact counts and sums. Nothing here shows any."""
