"""Sessions: windows that merge while their rows arrive."""
