"""Mirrors of the store in Weights & Biases: what a run is called there, replaying it, and dashboards. The store stays the record."""
