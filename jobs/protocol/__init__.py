"""The commit protocol: exactly once, whatever dies."""
