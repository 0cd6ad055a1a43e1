"""Launchers: executing many runs in this process, in several processes, or on a cluster."""
