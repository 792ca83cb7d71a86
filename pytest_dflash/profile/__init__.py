"""What a person expects of a host: the profile, read strictly.

Law: this package reads profile files and nothing else; it knows no host, no engine and no check.
"""

from __future__ import annotations
