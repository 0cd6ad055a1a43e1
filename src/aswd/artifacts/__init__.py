"""The paper's tables and figures: what to run, how to draw it, which claims to judge."""
