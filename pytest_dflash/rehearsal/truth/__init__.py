"""A server whose true timing is known: what a measuring client is measured with.

Law: one thread and a schedule; standard library only. It shares nothing with the clients that ask it.
"""
