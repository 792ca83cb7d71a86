"""An engine of the rehearsal that speaks TLS itself.

Law: the certificate is of an authority of its own, for 127.0.0.1 and ::1; its key opens nothing but stand-ins.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

CERTIFICATE = layout.RECORDINGS / "tls" / "cert.pem"
TRUSTED = f"endpoint.ca_file={json.dumps(str(CERTIFICATE))}"
"""What the profile has to say."""
KEY = "etc/sglang/tls/key.pem"
"""Below the host's root. Only its owner reads it."""


def encrypted(host: StandInHost) -> None:
    """Lets the engine speak TLS itself."""
    folder = (host.root / KEY).parent
    shutil.copytree(CERTIFICATE.parent, folder)
    (host.root / KEY).chmod(0o600)
    names = [layout.quoted(str(folder / name)) for name in ("cert.pem", "key.pem")]
    stages.replace(
        " --enable-metrics", f" --ssl-certfile {names[0]} --ssl-keyfile {names[1]} --enable-metrics"
    )(host)
