"""The scenarios, grouped by what they show."""
