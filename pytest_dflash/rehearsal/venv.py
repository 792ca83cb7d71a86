"""The stand-in's virtual environment, in which `python -m sglang.launch_server` is the miniature engine.

Law: files only. `bin/python` is a link to an interpreter of this machine, packages are metadata without code, but
for numpy, with which the engine computes: it is this interpreter's own, linked here, copied for another host.
Run `python -m pytest_dflash.rehearsal.venv FOLDER [INTERPRETER]` to lay one out for another host, e.g. with
INTERPRETER=/usr/bin/python3.11 for a Debian tree; then `FOLDER/bin/python -m sglang.launch_server …` there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ENGINE = Path(__file__).parent / "engine"
PACKAGES: Mapping[str, str] = {
    "torch": "2.14.1+cu130",
    "sglang": "0.5.23",
    "sglang-kernel": "0.4.10",
    "flashinfer-python": "0.7.2",
    "flashinfer-cubin": "0.7.2",
    "triton": "3.6.0",
    "transformers": "5.19.0",
    "nvidia-nccl-cu13": "2.28.9",
    "xgrammar": "0.2.7",
}
LAUNCHER = '''"""Starts the server, as `python -m sglang.launch_server`."""
import sys

from sglang.miniature.launch import main

sys.exit(main(sys.argv[1:]))
'''


def interpreter() -> str:
    """The interpreter behind this one, outside of any virtual environment."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def _version(python: str) -> str:
    """`3.11` of an interpreter."""
    if os.path.realpath(python) == interpreter():
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [python, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - an interpreter


def install(site: Path, name: str, version: str) -> Path:
    """The metadata of one package; what a version check reads.

    Returns:
        Its dist-info folder.
    """
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\n{name}\n", "utf-8"
    )
    (folder / "INSTALLER").write_text("pip\n", "ascii")
    return folder


def site_packages(folder: Path) -> Path:
    """The site-packages of the venv in `folder`."""
    return next((folder / "lib").glob("python3.*")) / "site-packages"


def _numpy(site: Path, *, linked: bool) -> None:
    """Puts this interpreter's numpy, and the libraries beside it, into `site`."""
    found = importlib.util.find_spec("numpy")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    for part in (package, *package.parent.glob("numpy.libs"), *package.parent.glob("numpy-*.dist-info")):
        if linked:
            (site / part.name).symlink_to(part)
        else:
            shutil.copytree(
                part, site / part.name, ignore=shutil.ignore_patterns("tests", "*.pyi", "*.h", "*.a")
            )


def lay_out(folder: Path, python: str | None = None) -> Path:
    """Makes the venv.

    Args:
        folder: Where; must not exist yet.
        python: The interpreter that `bin/python` links to; this one's base by default.

    Returns:
        Its `bin/python`.

    Raises:
        ValueError: For an interpreter of another version, which cannot load this one's numpy.
    """
    here = interpreter()
    python = python or here
    version, ours = _version(python), _version(here)
    if version != ours:
        raise ValueError(
            f"{python} is Python {version} and cannot load the numpy of {here}, which is {ours}: "
            f"lay the venv out with a Python {version} in which pytest-dflash is installed"
        )
    site = folder / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in ("python", "python3", f"python{version}"):
        (folder / "bin" / name).symlink_to(python)
    (folder / "pyvenv.cfg").write_text(
        f"home = {Path(python).parent}\ninclude-system-site-packages = false\nversion = {version}\n", "utf-8"
    )
    for package, number in PACKAGES.items():
        install(site, package, number)
    _numpy(site, linked=python == here)
    (site / "sglang").mkdir()
    (site / "sglang" / "__init__.py").write_text('__version__ = "0.5.23"\n', "ascii")
    (site / "sglang" / "launch_server.py").write_text(LAUNCHER, "ascii")
    of_others = shutil.ignore_patterns("__pycache__", "mischief.json", "starts")
    shutil.copytree(ENGINE, site / "sglang" / "miniature", ignore=of_others)
    return folder / "bin" / "python"


if __name__ == "__main__":
    sys.stdout.write(f"{lay_out(Path(sys.argv[1]), *sys.argv[2:3])}\n")
