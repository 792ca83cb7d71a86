"""The engines as units of a real host, and the states into which a test brings them.

Law: unit files, their environment and what systemd is told. Which findings a state gives is the tests' business.
"""

from __future__ import annotations

import contextlib
import shlex
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_dflash.rehearsal import venv

from .machine import Machine, free_port
from .tree import cache

UNIT = "sglang-k26-ddtree.service"
FRAGMENT = f"/etc/systemd/system/{UNIT}"
ENVIRONMENT = "/etc/sglang/k26.env"
SITE = "/opt/sglang/venv/lib/python3.11/site-packages"
WINDOW_FLAG = "--speculative-draft-window-size"
MODELS = Path(__file__).parent / "models"
SHIM = Path(__file__).parent / "engines" / "shim"
# Debian 12's interpreter, which is what the tree has.
INTERPRETER = "/usr/bin/python3.11"
TEXT = """\
[Unit]
Description=SGLang server with DFlash speculative decoding
After=network.target
StartLimitIntervalSec=600
StartLimitBurst=50

[Service]
User=sglang
StateDirectory=sglang
CacheDirectory=sglang
EnvironmentFile={environment}
WorkingDirectory=/var/lib/sglang
ExecStart=/opt/sglang/venv/bin/python -m sglang.launch_server \\
    --model-path /srv/models/target --served-model-name {served} \\
    --host 127.0.0.1 --port {port} \\
    {arguments} \\
    --speculative-algorithm DFLASH --speculative-draft-model-path /srv/models/dflash \\
    {flag} {window}
Restart=on-failure
RestartSec=1
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""
# vLLM's JSON flag in single quotes, as systemd takes it; vLLM has no window flag, so the budget is what is followed.
VLLM_TEXT = """\
[Unit]
Description=vLLM server with DFlash speculative decoding
After=network.target
StartLimitIntervalSec=600
StartLimitBurst=50

[Service]
User=sglang
StateDirectory=sglang
CacheDirectory=sglang
EnvironmentFile={environment}
WorkingDirectory=/var/lib/sglang
ExecStart=/opt/sglang/vllm/bin/python /opt/sglang/vllm/bin/vllm serve /srv/models/target \\
    --served-model-name {served} --host 127.0.0.1 --port {port} \\
    {arguments} \\
    --speculative-config '{{"method": "dflash", "model": "/srv/models/dflash", "num_speculative_tokens": {window}}}'
Restart=on-failure
RestartSec=1
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""
LLAMACPP_TEXT = """\
[Unit]
Description=llama.cpp server with DFlash speculative decoding
After=network.target
StartLimitIntervalSec=600
StartLimitBurst=50

[Service]
User=sglang
StateDirectory=sglang
EnvironmentFile={environment}
WorkingDirectory=/var/lib/sglang
ExecStart=/opt/llamacpp/venv/bin/python /opt/llamacpp/llama-server --model /opt/llamacpp/models/target.gguf \\
    --alias {served} --host 127.0.0.1 --port {port} \\
    {arguments} \\
    --spec-type draft-dflash -md /opt/llamacpp/models/dflash.gguf --spec-draft-n-max {window}
Restart=on-failure
RestartSec=1
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""
# HOME and the caches: the unit's user may write nowhere else. P2P level: a setting to follow.
HOME = {
    "HOME": "/var/lib/sglang",
    "HF_HOME": "/var/cache/sglang/hf",
    "XDG_CACHE_HOME": "/var/cache/sglang",
    "PYTHONUNBUFFERED": "1",
    # Threads that wait for each other by spinning: on a busy machine a step took twenty times as long with two of them.
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "NCCL_P2P_LEVEL": "SYS",
}
VLLM_ON_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CACHE_ROOT": "/var/cache/sglang/vllm",
    # The first request for log-probabilities compiles a function, and a core that finds no compiler dies of it.
    "TORCHDYNAMO_DISABLE": "1",
}
ON_CPU = {"SGLANG_USE_CPU_ENGINE": "1", "SGLANG_ENABLE_TORCH_COMPILE": "0", "TRITON_INTERPRET": "1"}


@dataclass(slots=True)
class Service:
    """One engine as a unit of one machine.

    Attributes:
        window: What the unit file on a healthy host says: tokens of the window, or for vLLM draft tokens.
        start_s: How long the engine may take from start to serving, in seconds.
        took_s: How long its first start took; a machine that is busy is slower by ten.
    """

    machine: Machine
    port: int
    window: int
    served: str
    arguments: str
    environment: Mapping[str, str]
    start_s: float
    miniature: bool
    unit: str = UNIT
    template: str = TEXT
    took_s: float = 0.0

    @property
    def fragment(self) -> str:
        """The unit's file."""
        return f"/etc/systemd/system/{self.unit}"

    def text(self, window: int | None = None) -> str:
        """The unit file, with another window where one is given."""
        return self.template.format(
            environment=ENVIRONMENT,
            served=self.served,
            port=self.port,
            arguments=self.arguments,
            flag=WINDOW_FLAG,
            window=self.window if window is None else window,
        )

    def install(self) -> None:
        """Writes unit and environment, starts it, and waits until it serves."""
        self.machine.put(ENVIRONMENT, "".join(f"{k}={v}\n" for k, v in self.environment.items()))
        self.machine.put(self.fragment, self.text())
        self.machine.sh(
            f"systemctl daemon-reload && systemctl enable -q {self.unit} && systemctl start {self.unit}"
        )
        begun = time.monotonic()
        self.wait()
        self.took_s = time.monotonic() - begun

    def show(self, name: str) -> str:
        """One property of the unit, as systemd says it now."""
        return self.machine.sh(f"systemctl show -P {name} {self.unit}").strip()

    def wait(self) -> None:
        """Until /health answers 200.

        Raises:
            TimeoutError: It did not within `start_s`; the message ends with the journal's last lines.
        """
        deadline = time.monotonic() + self.start_s
        while time.monotonic() < deadline:
            # Refused while it loads, 503 while it warms up: both are OSErrors here.
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5),
            ):
                return
            time.sleep(0.1)
        lines = self.machine.sh(f"journalctl -u {self.unit} -n 40 -o cat -a", check=False)
        raise TimeoutError(
            f"{self.unit} does not serve on {self.port} after {self.start_s:.0f} s:\n{lines[-3000:]}"
        )

    def restart(self) -> None:
        """Restarts it with what is on disk; returns when the new process has begun, not when it serves."""
        self.machine.sh(
            f"systemctl daemon-reload && systemctl reset-failed {self.unit} && systemctl restart {self.unit}"
        )

    def heal(self) -> None:
        """Back to the healthy unit, restarted and serving."""
        self.machine.sh(f"rm -rf {SITE}/sglang/miniature/mischief.json {self.fragment}.d", check=False)
        self.machine.put(self.fragment, self.text())
        self.restart()
        self.wait()

    def mischief(self, switches: str) -> None:
        """Writes the miniature engine's switches (JSON), which it reads at its next start."""
        self.machine.put(f"{SITE}/sglang/miniature/mischief.json", switches)

    def kill(self, signal: str = "KILL") -> None:
        """Sends a signal to the main process."""
        self.machine.sh(f"systemctl kill --kill-whom=main -s {shlex.quote(signal)} {self.unit}")

    # ---- the five confusions, each there and back again

    @contextlib.contextmanager
    def edited_not_reloaded(self, window: int) -> Iterator[None]:
        """The unit file says another window; neither the manager nor the process knows."""
        self.machine.put(self.fragment, self.text(window))
        try:
            yield
        finally:
            self.machine.put(self.fragment, self.text())
            self.machine.sh("systemctl daemon-reload")

    @contextlib.contextmanager
    def reloaded_not_restarted(self, window: int) -> Iterator[None]:
        """File and manager say another window; the process was started before."""
        self.machine.put(self.fragment, self.text(window))
        self.machine.sh("systemctl daemon-reload")
        try:
            yield
        finally:
            self.machine.put(self.fragment, self.text())
            self.machine.sh("systemctl daemon-reload")

    @contextlib.contextmanager
    def nothing_logged_yet(self) -> Iterator[None]:
        """Restarted a moment ago: active, and what it was built with is not in the log yet."""
        if self.miniature:
            self.mischief('{"load_hangs": true}')
        self.restart()
        try:
            yield
        finally:
            self.heal()

    @contextlib.contextmanager
    def previous_process(self) -> Iterator[None]:
        """It crashed and systemd started it again; the lines that look healthy are the dead process's."""
        if self.miniature:
            self.mischief('{"load_hangs": true}')
        self.killed_and_started_again()
        try:
            yield
        finally:
            self.heal()

    def killed_and_started_again(self) -> None:
        """Kills it; returns when systemd has started it again, not when it serves."""
        before = self.show("InvocationID")
        self.kill()
        while self.show("InvocationID") == before or self.show("SubState") != "running":
            time.sleep(0.1)

    @contextlib.contextmanager
    def active_not_serving(self) -> Iterator[None]:
        """The unit is active and its process is there, but it answers nothing: it stands still."""
        self.kill("STOP")
        try:
            yield
        finally:
            self.kill("CONT")
            self.wait()


@contextlib.contextmanager
def miniature() -> Iterator[Service]:
    """A real host on which the miniature engine serves as Debian's python3 runs it."""
    with Machine({"/srv/models": MODELS}) as machine:
        laid_out = venv.lay_out(machine.folder / "venv", INTERPRETER).parent.parent
        machine.copy(laid_out, "/opt/sglang/venv")
        service = Service(
            machine, free_port(), 2048, "Kimi-K2.6",
            "--tp-size 8 --mem-fraction-static 0.85 --chunked-prefill-size 8192 --attention-backend triton "
            "--context-length 4096 --trust-remote-code --enable-metrics --speculative-num-draft-tokens 8",
            HOME, start_s=20.0, miniature=True,
        )  # fmt: skip
        service.install()
        yield service


@contextlib.contextmanager
def sglang() -> Iterator[Service]:
    """A real host on which a real SGLang 0.5.23 serves a tiny model on the CPU, with a trained DFlash draft.

    Raises:
        FileNotFoundError: The engines are not in the cache; the message says how they get there.
    """
    engines = cache() / "engines"
    if not (engines / "stamp").exists():
        raise FileNotFoundError(f"no engines in {engines}: run `make engines` (3.5 GB, four minutes)")
    mounts = {
        "/srv/models": MODELS,
        "/opt/sglang/shim": SHIM,
        "/opt/sglang/venv": engines / "sglang",
        "/opt/sglang/vllm": engines / "vllm",
        "/opt/sglang/src": engines / "src",
    }
    with Machine(mounts) as machine:
        service = Service(
            machine, free_port(), 32, "tiny",
            "--device cpu --dtype bfloat16 --attention-backend torch_native --sampling-backend pytorch "
            "--max-running-requests 4 --max-total-tokens 8192 --context-length 1024 --random-seed 0 --enable-metrics",
            HOME | ON_CPU, start_s=420.0, miniature=False,
        )  # fmt: skip
        service.install()
        yield service


@contextlib.contextmanager
def vllm() -> Iterator[Service]:
    """A real host on which a real vLLM 0.32.0 serves the same tiny model on the CPU, with its trained DFlash draft.

    Raises:
        FileNotFoundError: The engines are not in the cache; the message says how they get there.
    """
    engines = cache() / "engines"
    if not (engines / "stamp").exists():
        raise FileNotFoundError(f"no engines in {engines}: run `make engines` (3.5 GB, four minutes)")
    with Machine({"/srv/models": MODELS, "/opt/sglang/vllm": engines / "vllm"}) as machine:
        service = Service(
            machine, free_port(), 7, "tiny",
            "--dtype float32 --max-model-len 1024 --max-num-seqs 4 --enforce-eager --seed 0 --no-enable-prefix-caching",
            HOME | VLLM_ON_CPU, start_s=480.0, miniature=False, unit="vllm-dflash.service", template=VLLM_TEXT,
        )  # fmt: skip
        service.install()
        yield service


@contextlib.contextmanager
def llamacpp() -> Iterator[Service]:
    """A real host on which llama.cpp's server of October 2026 serves the same model and draft, as GGUF files.

    Raises:
        FileNotFoundError: It is not in the cache; the message says how it gets there.
    """
    made = cache() / "llamacpp"
    if not (made / "stamp").exists():
        raise FileNotFoundError(f"no llama.cpp in {made}: run `make engines`")
    with Machine({"/opt/llamacpp": made}) as machine:
        service = Service(
            machine, free_port(), 7, "tiny",
            "--ctx-size 4096 --parallel 4 --threads 1 --seed 0 --metrics",
            HOME, start_s=60.0, miniature=False, unit="llamacpp-dflash.service", template=LLAMACPP_TEXT,
        )  # fmt: skip
        service.install()
        yield service
