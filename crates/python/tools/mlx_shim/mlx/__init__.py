"""A stand-in for MLX over Wootz, to run MLX's own test files; see ../run.py."""
