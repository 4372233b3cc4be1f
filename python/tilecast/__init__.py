"""Forecasts how long deep-learning work takes on GPUs."""
