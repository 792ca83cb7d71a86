"""The project's own rootdir: tests need pytester; everything else is the plugin's."""

from __future__ import annotations

pytest_plugins = ["pytester"]
