"""Could the target alone have said this? What the tree is by definition, and what tokens prove.

Law: arithmetic on tokens and log-probabilities; asks nobody, and shares no code with the rehearsal's engine.
"""
