"""Uniting classes by how probable it is that other releases share their values: the score, the merge loop."""
