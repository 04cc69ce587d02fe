"""Real flights as events: every flight that left New York in 2013, and the moment at which its row became known."""
