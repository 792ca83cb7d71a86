"""What is right and what is not: readings and expectations in, judgements out.

Law: pure, one module per area of checks. A rule compares; it never reads a host, and it never passes on a
source that it could not hear.
"""
