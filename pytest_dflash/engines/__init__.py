"""How each engine spells things: flags, log lines, routes.

Law: one file (or package) per engine behind `dialect.Dialect`; no I/O, no expectations, no `if engine ==`
anywhere outside this package.
"""
