"""Carrying out a run: trainer, checkpoints, loggers, and its way into the store."""
