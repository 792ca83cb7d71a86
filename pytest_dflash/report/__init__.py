"""Writers of findings.

Law: reads findings, writes text and files; never asks a host or an engine anything. Text from host and model
is data: escaped in HTML, stripped of control characters in the terminal, valid UTF-8 in JSON.
"""
