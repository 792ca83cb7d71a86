"""The project's own rootdir: tests need pytester, and a host is judged by suites/; everything else is the plugin's."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def pytest_configure(config: pytest.Config) -> None:
    """With a host and no path the suites are meant: the project's own tests (`testpaths`) are about no host."""
    if config.option.dflash_hosts and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(config.rootpath / "suites")]
