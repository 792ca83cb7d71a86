"""What the manager says about a unit in the journal, in systemd 252's words and with its fields.

Law: sentences and fields only; when they are said is `service`'s to know.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

STARTED = "39f53479d3a045ac8e11786248231fbf"
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
STOPPED = "9d1aaa27d60140bd96365438aad20286"
PROCESS_EXIT = "98e322203f7a4ed290d09fe03c09fe15"
UNIT_FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
UNIT_DONE = "7ad2d189f7e94e70a38c781354912448"
RESTART_SCHEDULED = "5eb03494b6584870a536b337290809b3"
EXIT_MEANING = {1: "FAILURE", 2: "INVALIDARGUMENT", 3: "NOTIMPLEMENTED", 203: "EXEC"}
ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6


@dataclass(frozen=True, slots=True)
class Announcements:
    """The manager's voice about one invocation.

    Attributes:
        say: Writes one entry: message, priority, further fields.
    """

    unit: str
    title: str
    say: Callable[[str, int, dict[str, str]], None]

    def started(self) -> None:
        """The start job is done; for Type=simple that says nothing about the process."""
        self.say(
            f"Started {self.title}.", INFO, {"MESSAGE_ID": STARTED, "JOB_TYPE": "start", "JOB_RESULT": "done"}
        )

    def stopping(self) -> None:
        """A stop was asked for."""
        self.say(f"Stopping {self.title}...", INFO, {"MESSAGE_ID": STOPPING, "JOB_TYPE": "stop"})

    def stopped(self) -> None:
        """The stop job is done."""
        self.say(
            f"Stopped {self.title}.", INFO, {"MESSAGE_ID": STOPPED, "JOB_TYPE": "stop", "JOB_RESULT": "done"}
        )

    def exited(self, code: int, status: int) -> None:
        """The main process ended badly. `code` is 1 for an exit status, 2 for a signal."""
        said = "exited" if code == 1 else "killed"
        name = (
            EXIT_MEANING.get(status, "n/a") if code == 1 else signal.Signals(status).name.removeprefix("SIG")
        )
        fields = {
            "MESSAGE_ID": PROCESS_EXIT,
            "COMMAND": "ExecStart",
            "EXIT_CODE": said,
            "EXIT_STATUS": str(status),
        }
        message = f"{self.unit}: Main process exited, code={said}, status={status}/{name}"
        self.say(message, NOTICE if code == 1 else WARNING, fields)

    def failed(self, result: str) -> None:
        """The unit is in a failed state."""
        fields = {"MESSAGE_ID": UNIT_FAILED, "UNIT_RESULT": result}
        self.say(f"{self.unit}: Failed with result '{result}'.", WARNING, fields)

    def done(self) -> None:
        """The process ended as it should."""
        self.say(f"{self.unit}: Deactivated successfully.", INFO, {"MESSAGE_ID": UNIT_DONE})

    def restart_scheduled(self, count: int) -> None:
        """Restart= has come into play."""
        fields = {"MESSAGE_ID": RESTART_SCHEDULED, "N_RESTARTS": str(count)}
        self.say(f"{self.unit}: Scheduled restart job, restart counter is at {count}.", INFO, fields)

    def complain(self, message: str, priority: int = WARNING) -> None:
        """Anything else."""
        self.say(f"{self.unit}: {message}", priority, {})
