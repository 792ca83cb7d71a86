"""Six readings of a setting, and the verdict over them.

Law: pure; knows dialects by their Protocol only, and nothing of how facts were had.
"""
