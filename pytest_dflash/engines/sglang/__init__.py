"""SGLang 0.5.5 to 0.5.23, and the forks that verify a tree."""
