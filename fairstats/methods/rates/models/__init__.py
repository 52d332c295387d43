"""Several models on the same people: what each is worth, and what changes from one to another."""
