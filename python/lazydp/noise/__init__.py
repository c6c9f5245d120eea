"""Noise under a secret key: the process that may draw it, noise for dense layers, rounding."""
