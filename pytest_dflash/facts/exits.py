"""What an exit status or a signal of a service means.

Law: tables and one look-up. Sources: systemd.exec(5), "Process Exit Codes"; signal(7).
"""

from __future__ import annotations

import signal

STATUSES = {
    0: "success",
    1: "a general error: the last lines before it say which",
    2: "wrong arguments: the program refused its command line",
    126: "found, but not executable",
    127: "the command was not found by the shell",
    137: "killed by SIGKILL inside a shell: out of memory, or a timeout",
    139: "a segmentation fault inside a shell",
    143: "ended by SIGTERM inside a shell",
    200: "CHDIR: WorkingDirectory= does not exist or may not be entered",
    201: "NICE: Nice= was refused",
    202: "FDS: file descriptors could not be set up",
    203: "EXEC: the program of ExecStart= does not exist or may not be executed",
    204: "MEMORY: the manager ran out of memory at the start",
    205: "LIMITS: a Limit…= was refused",
    206: "OOM_ADJUST: OOMScoreAdjust= was refused",
    207: "SIGNAL_MASK: the signal mask was refused",
    208: "STDIN: StandardInput= could not be opened",
    209: "STDOUT: StandardOutput= could not be opened",
    210: "CHROOT: RootDirectory= could not be entered",
    213: "CPUAFFINITY: CPUAffinity= was refused",
    214: "GROUP: Group= does not exist",
    216: "GROUP: the groups could not be set",
    217: "USER: User= does not exist",
    218: "CAPABILITIES: capabilities could not be set",
    219: "CGROUP: the control group could not be set up",
    220: "SETSID: no new session could be made",
    221: "CONFIRM: the start was not confirmed",
    222: "STDERR: StandardError= could not be opened",
    224: "PAM: PAMName= refused",
    225: "NETWORK: the network namespace could not be made",
    226: "NAMESPACE: a path of the sandbox (ReadWritePaths=, PrivateTmp= …) does not exist or cannot be mounted",
    227: "NO_NEW_PRIVILEGES: could not be set",
    228: "SECCOMP: SystemCallFilter= was refused",
    231: "PERSONALITY: Personality= was refused",
    232: "APPARMOR_PROFILE: AppArmorProfile= could not be used",
    233: "RUNTIME_DIRECTORY: RuntimeDirectory= could not be made",
    235: "CHOWN: an owner could not be changed",
    237: "KEYRING: the keyring could not be set up",
    238: "STATE_DIRECTORY: StateDirectory= could not be made",
    239: "CACHE_DIRECTORY: CacheDirectory= could not be made",
    240: "LOGS_DIRECTORY: LogsDirectory= could not be made",
    241: "CONFIGURATION_DIRECTORY: ConfigurationDirectory= could not be made",
    242: "NUMA_POLICY: NUMAPolicy= was refused",
    243: "CREDENTIALS: LoadCredential= could not be read",
}

SIGNALS = {
    "SIGABRT": "the program gave up by itself (assertion, C++ exception, NCCL or CUDA abort)",
    "SIGBUS": "a mapping lost its memory: /dev/shm full, or a file cut short",
    "SIGFPE": "an arithmetic fault",
    "SIGHUP": "hung up",
    "SIGILL": "an instruction that this processor does not have",
    "SIGINT": "interrupted",
    "SIGKILL": "from outside: some engines end their own processes so at a restart; else out of memory or the stop timeout",
    "SIGQUIT": "quit; engines send it to themselves when a child has died",
    "SIGSEGV": "a segmentation fault",
    "SIGSYS": "a system call that SystemCallFilter= forbids",
    "SIGTERM": "asked to stop",
    "SIGTRAP": "a debugger's trap",
    "SIGXCPU": "over LimitCPU=",
}

_EXITED, _KILLED, _DUMPED = "exited", "killed", "dumped"
_CODES = {1: _EXITED, 2: _KILLED, 3: _DUMPED}


def exit_meaning(code: int | str | None, status: int | None) -> str:
    """How a process ended, in words.

    Args:
        code: ExecMainCode (1 exited, 2 killed, 3 dumped) or the journal's EXIT_CODE ("exited" …).
        status: The exit status, or the signal's number when the code is killed or dumped.
    """
    word = _CODES.get(code, "") if isinstance(code, int) else (code or "")
    if word not in {_EXITED, _KILLED, _DUMPED} or status is None:
        return "has not ended"
    if word == _EXITED:
        meaning = STATUSES.get(status, "")
        return f"exited with {status}" + (f" ({meaning})" if meaning else "")
    try:
        name = signal.Signals(status).name
    except ValueError:
        name = f"signal {status}"
    meaning = SIGNALS.get(name, "")
    core = ", core dumped" if word == _DUMPED else ""
    return f"killed by {name}{core}" + (f" ({meaning})" if meaning else "")
