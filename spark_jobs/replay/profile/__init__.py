"""Profiles of a source's disorder: delays, out-of-orderness, silence of source partitions."""
