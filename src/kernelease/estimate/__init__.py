"""What all noisy counts and sums of a table together say of a few columns: the best linear unbiased estimates."""
