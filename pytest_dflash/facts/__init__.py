"""What a host says of itself: questions in POSIX sh, and pure readers of the answers.

Law: only `connection` and `collector` act; every other module is a question and arithmetic on bytes.
Parsers are total: any bytes in; a Value, Absent or Silent out. Nothing here knows engines or expectations.
"""
