"""How fast the service is: workload, runner, records, statistics.

Law: only `runner` and its transport act; everything else is arithmetic on records with clocks handed in.
"""
