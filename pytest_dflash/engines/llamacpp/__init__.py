"""llama.cpp's server as of 2026, which drafts with DFlash too: its command line, its log, its routes.

Law: everything that only llama.cpp says or does stands in this package, behind `engines.dialect.Dialect`.
"""
