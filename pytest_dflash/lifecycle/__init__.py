"""How a unit stands, and waiting until it stands still.

Law: `phase` is a table over observations; only the agents here wait or act.
"""
