"""Units that are written in unusual ways and mean the same.

Law: a table.
"""

from __future__ import annotations

from pytest_dflash.rehearsal import service
from pytest_dflash.rehearsal.faults import command, stages
from pytest_dflash.rehearsal.oddities.oddity import Oddity

UNIT = (
    Oddity(
        "drop-in-in-force",
        "a drop-in that is loaded and in force",
        before=stages.drop_in("[Service]\nLimitNOFILE=65536\n"),
    ),
    Oddity(
        "several-drop-ins",
        "drop-ins in three folders, of which one hides another, and one for all services",
        before=stages.both(
            stages.drop_in("[Service]\nLimitNOFILE=1024\n", "usr/lib/systemd/system", "10-limits.conf"),
            stages.drop_in("[Service]\nLimitNOFILE=65536\n", "etc/systemd/system", "10-limits.conf"),
            stages.drop_in("[Service]\nNice=-5\n", "run/systemd/system", "20-nice.conf"),
            stages.written("etc/systemd/system/service.d/30-all.conf", "[Service]\nOOMScoreAdjust=-100\n"),
        ),
    ),
    Oddity(
        "empty-drop-in",
        "a drop-in that says nothing",
        before=stages.drop_in("", name="90-empty.conf"),
    ),
    Oddity(
        "command-set-anew",
        "a drop-in that empties the command and sets the same one again",
        before=command.in_drop_in,
        places=("command",),
    ),
    Oddity(
        "vendor-unit",
        "a unit that a package brought, under /usr/lib",
        before=command.moved("usr/lib/systemd/system"),
        alone=True,
    ),
    Oddity(
        "template-unit",
        "an instance of a template, whose drop-in is the template's",
        unit="sglang@Kimi-K2.6.service",
        before=stages.both(
            stages.replace("--served-model-name Kimi-K2.6", "--served-model-name %i"),
            stages.written(
                "etc/systemd/system/sglang@.service.d/limits.conf", "[Service]\nLimitNOFILE=65536\n"
            ),
        ),
        expects=("service.unit=sglang@Kimi-K2.6.service",),
        alone=True,
    ),
    Oddity(
        "user-unit",
        "a unit of a user's own manager, which lingers: systemctl --user",
        by_user=True,
        before=stages.both(
            command.without_line("User="),
            stages.replace("WantedBy=multi-user.target", "WantedBy=default.target"),
        ),
        expects=(f'service.user_manager="{service.user_name()}"',),
        alone=True,
    ),
    Oddity(
        "vendor-unit-overridden",
        "a unit of a package that the same unit under /etc hides",
        before=stages.written(
            "usr/lib/systemd/system/sglang-k26-ddtree.service", "[Service]\nExecStart=/bin/false\n"
        ),
    ),
    Oddity(
        "optional-environment-file",
        "an EnvironmentFile that may be missing, and is",
        before=stages.replace(
            "EnvironmentFile=", "EnvironmentFile=-/etc/sglang/nowhere.env\nEnvironmentFile="
        ),
    ),
    Oddity(
        "several-environment-files",
        "a second EnvironmentFile that says a variable again",
        before=stages.both(
            stages.written("etc/sglang/more.env", "OMP_NUM_THREADS=8\nMORE=yes\n"),
            command.environment_file("etc/sglang/more.env"),
        ),
        places=("environment",),
    ),
    Oddity(
        "odd-environment-file",
        "an EnvironmentFile with comments of both kinds, quotation marks, empty lines and empty values",
        before=stages.in_file(
            "etc/sglang/k26.env",
            "OMP_NUM_THREADS=8",
            "# a comment\n; another\n\nOMP_NUM_THREADS=\"8\"\nEMPTY=\nEQUALS=a=b=c\nBLANKS='a  b'\nUMLAUT=\u00e4\u00f6\u00fc",
        ),
    ),
    Oddity(
        "key-in-environment-file",
        "a key in an EnvironmentFile that only root may read, where it belongs",
        before=stages.both(
            stages.in_file(
                "etc/sglang/k26.env",
                "OMP_NUM_THREADS",
                "HF_TOKEN=rehearsed-Key-that-opens-nothing-7f3a\nOMP_NUM_THREADS",
            ),
            stages.mode("etc/sglang/k26.env", 0o600),
        ),
    ),
    Oddity(
        "key-in-closed-folder",
        "a key in an EnvironmentFile that everybody might read, in a folder that lets nobody pass",
        before=stages.both(
            stages.written("etc/keys/more.env", "MORE_TOKEN=rehearsed-Key-that-opens-nothing-7f3b\n"),
            stages.mode("etc/keys", 0o700),
            command.environment_file("etc/keys/more.env"),
        ),
        places=("environment",),
    ),
    Oddity(
        "environment-in-one-line",
        "several variables in one Environment= line, with both kinds of quotation marks",
        before=stages.replace("[Service]\n", "[Service]\nEnvironment=\"A=b c\" 'D=e f' G=h\n"),
        places=("environment",),
    ),
    Oddity(
        "several-commands-before",
        "several ExecStartPre= commands",
        before=stages.replace(
            "ExecStart=",
            "ExecStartPre=/bin/true --host 0.0.0.0\nExecStartPre=-/bin/false --tp-size 99\nExecStart=",
        ),
    ),
    Oddity(
        "restart-always",
        "a unit that is started anew however it ended",
        before=stages.replace("Restart=on-failure\nRestartSec=5", "Restart=always\nRestartSec=2s"),
    ),
    Oddity(
        "no-user",
        "a unit without User=",
        before=command.without_line("User="),
    ),
    Oddity(
        "comments-in-command",
        "a command over many lines with comments between them",
        before=stages.replace(
            " --chunked-prefill-size 8192",
            " --chunked-prefill-size 8192 \\\n# why: see the ticket\n; and so on\n   ",
        ),
        places=("command",),
    ),
    Oddity(
        "unit-in-other-letters",
        "a unit file with letters that are not ASCII",
        before=stages.replace(
            "[Unit]\n",
            "[Unit]\n# \u00dcber alles \u2013 \u65e5\u672c\u8a9e\nDocumentation=https://example.org/\u00e4\n",
        ),
    ),
    Oddity(
        "flags-with-equals-signs",
        "flags and values with an equals sign between them",
        before=stages.both(
            stages.replace("--tp-size 8", "--tp-size=8"),
            stages.replace("--mem-fraction-static 0.85", "--mem-fraction-static=.850"),
        ),
        places=("tp",),
    ),
    Oddity(
        "flags-by-other-names",
        "flags by their other names",
        before=stages.replace("--tp-size 8", "--tensor-parallel-size 8"),
        places=("tp",),
    ),
    Oddity(
        "flags-shortened",
        "a flag that is written as far as it is unique",
        before=stages.replace("--chunked-prefill-size 8192", "--chunked-prefill 8192"),
        places=("chunk",),
    ),
    Oddity(
        "flag-twice",
        "a flag that is given twice, of which the last one counts",
        before=stages.replace("--tp-size 8", "--tp-size 4 --tp-size 8"),
        places=("tp",),
    ),
    Oddity(
        "value-from-variable",
        "a flag whose value comes from a variable",
        before=stages.both(
            stages.replace("--chunked-prefill-size 8192", "--chunked-prefill-size ${CHUNK}"),
            stages.in_file("etc/sglang/k26.env", "OMP_NUM_THREADS", "CHUNK=8192\nOMP_NUM_THREADS"),
        ),
        places=("chunk",),
    ),
    Oddity(
        "options-of-python",
        "an interpreter with options of its own",
        before=stages.replace(
            " -m sglang.launch_server", " -u -X faulthandler -W ignore -m sglang.launch_server"
        ),
    ),
    Oddity(
        "blanks-in-paths",
        "blanks, quotation marks and letters that are not ASCII in the model's path",
        before=command.model_moved("Kimi K2.6 (n\u00fctzlich), \u201efp4\u201c"),
    ),
)
