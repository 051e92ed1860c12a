"""The composition attack: someone who is in several releases keeps only the values that all of them allow."""
