"""The shipped suites: each function a requirement, in the words of whoever operates the host."""
