"""What commands do. It is loaded when one runs, not when its help is read."""
