"""SGLang 0.5.5 to 0.5.23, and the forks that verify a tree.

Law: everything that is SGLang's own: flags, log lines, routes, rewrites. Nothing outside the package names it.
"""
