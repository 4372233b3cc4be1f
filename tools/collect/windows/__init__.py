"""Times kernels and steps as programs run them: bursts, windows of 20 ms, steady load."""
