"""The miniature engine: a real process that starts, logs and answers as SGLang 0.5.23 does.

Law: standard library and numpy only, and relative imports only, so that this folder also runs where it is copied to:
as `sglang/miniature` of the stand-in's venv, or under a real systemd with another python3. Run it with

    python3 -m pytest_dflash.rehearsal.engine --model-path /srv/models/target --port 30000 …

or lay out a venv in which `bin/python -m sglang.launch_server …` is this engine (`rehearsal.venv`).
A file `mischief.json` beside this module switches faults on; see `mischief`.
"""
