"""report.html above pytest's own table of tests: may this host take traffic, and if not, what is wrong.

Law: findings.json in, HTML out; asks nobody, decides nothing. Every text in it is data: made visible by
`table.visible`, escaped by Jinja.
"""
