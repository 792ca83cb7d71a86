"""`python -m … --model-path …`: starts the miniature engine.

Law: nothing but the call.
"""

from __future__ import annotations

import sys

from .launch import main

sys.exit(main(sys.argv[1:]))
