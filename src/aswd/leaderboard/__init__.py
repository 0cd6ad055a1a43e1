"""``aswd leaderboard``: all registered distances on several tasks, tuned alike and compared by ranks."""
