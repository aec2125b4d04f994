"""Where synthetic points come from, and solvers that choose them one by one."""
