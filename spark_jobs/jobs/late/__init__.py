"""Late and invalid rows, counted by what they have in common."""
