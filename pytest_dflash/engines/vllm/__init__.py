"""vLLM 0.8.5 to 0.32: its command line, its log, its routes.

Law: everything that only vLLM says or does stands in this package, behind `engines.dialect.Dialect`.
"""
