"""Data modules: what a task starts from and aims at."""

from aswd.data.registry import DATA, data_settings

__all__ = ["DATA", "data_settings"]
