"""Pictures: each function takes a result by its attributes and an Axes, and returns the Axes."""
