"""Changes on the same people: from one model, or score, to another."""
