"""Tables: noisy counts in rounds, and a mixture that matches them."""
