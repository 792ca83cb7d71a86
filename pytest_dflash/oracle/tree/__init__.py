"""DDTree by its definition (arXiv 2604.12989): which guesses form the tree, what each may see, which of them stand.

Law: slow and obvious, standard library only; no engine, no host, no clock. It says what an engine that drafts and
verifies a tree has to do, and shares no code with any that does.
"""
