"""Parts of a tally that have a room of their own."""
