"""``aswd profile``: where the time of a run goes."""

import os

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler would talk about itself; it reads this when torch is imported
