"""Files, checks, tables and imports that every other package may use; nothing of aswd is imported here."""
