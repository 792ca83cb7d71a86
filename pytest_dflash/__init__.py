"""Infrastructure acceptance testing of GPU inference hosts: the names a suite may use.

Law: names only, nothing is computed here; importing this package must cost nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"
