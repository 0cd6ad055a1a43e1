"""``aswd profile``: where the time of a run goes."""
