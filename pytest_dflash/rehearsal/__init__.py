"""The stand-in host: local processes that answer as a GPU host would, for `--host=rehearsal`.

Law: its own world. It shares no code with those who judge it (facts, engines, witness, oracle, endpoint):
a bug in common would cancel itself and every rehearsal would be green. What its tools and its engine print
comes from recordings of systemd 252 and SGLang 0.5.23; what they were never seen to be asked, they refuse.
"""
