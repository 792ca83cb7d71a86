"""The words that a profile's values are made of, each with what is allowed.

Law: types of single values. Each refusal is a sentence about what is allowed; whoever shows it adds file,
key and what was found.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from pytest_dflash.findings import AREAS

UNIT = re.compile(r"[A-Za-z0-9:_.\\@-]+\.service")
FLAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RELEASE = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
CAPABILITY = re.compile(r"[0-9]+\.[0-9]+")
PLAIN_NAME = re.compile(r"[a-z][a-z0-9_-]*")
USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")


def _shaped(shape: re.Pattern[str], allowed: str) -> AfterValidator:
    """Text that is of this shape as a whole."""

    def check(value: str) -> str:
        if not shape.fullmatch(value):
            raise ValueError(f"must be {allowed}")
        return value

    return AfterValidator(check)


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _specifier(value: str) -> str:
    try:
        known = bool(SpecifierSet(value))
    except InvalidSpecifier:
        known = False
    if not known:
        raise ValueError('must be a version specifier as in PEP 440, such as ">=2.9" or "==0.5.*"')
    return value


def _regex(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"must be a regular expression; it is none: {error}") from None
    return value


def _url(value: str) -> str:
    allowed = 'must be an http or https address without user, query or fragment, such as "http://10.1.2.200:30000/v1"'
    try:
        parts = urlsplit(value)
        port = parts.port
        (parts.hostname or "").encode("idna")  # refuses empty and endless labels
    except ValueError:
        raise ValueError(allowed) from None
    clean = not (
        parts.username
        or parts.password
        or parts.query
        or parts.fragment
        or re.search(r"[\s\x00-\x1f\x7f]", value)
    )
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not clean:
        raise ValueError(allowed)
    return value


def _address(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise ValueError('must be an IP address, such as "127.0.0.1", "0.0.0.0" or "::1"') from None
    return value


def _check_pattern(value: str) -> str:
    area, dot, name = value.partition(".")
    if not (dot and name and any(fnmatchcase(known, area) for known in AREAS)):
        raise ValueError(f'must be "area.name", wildcards allowed; the areas are {", ".join(AREAS)}')
    return value


def _flag_value(value: Any) -> Any:
    if not _is_json(value):
        raise ValueError("must be true, false, a number, text, or a list or table of these")
    return value


def _is_json(value: Any) -> bool:
    match value:
        case list():
            return all(_is_json(item) for item in value)
        case dict():
            return all(_is_json(item) for item in value.values())
        case float():
            return value == value and abs(value) != float("inf")  # noqa: PLR0124 - not a number is unlike itself
        case _:
            return isinstance(value, bool | int | str)


def _variable_value(value: Any) -> Any:
    if value is not False and not isinstance(value, str):
        raise ValueError("must be text (in quotation marks, also a number), or false: must be absent")
    return value


def _day(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise ValueError("must be a day, not in quotation marks, such as 2027-01-31")


def _listed(value: Any) -> Any:
    """TOML has lists, a frozen profile has tuples."""
    return tuple(value) if isinstance(value, list) else value


Said = Annotated[str, AfterValidator(_said)]
"""Text that is not blank."""
PlainName = Annotated[str, _shaped(PLAIN_NAME, 'a name in small letters, such as "sglang"')]
UnitName = Annotated[
    str, _shaped(UNIT, 'the name of a service unit, suffix included and no path, such as "sglang.service"')
]
FlagName = Annotated[
    str, _shaped(FLAG, 'spelled as on the command line, without the dashes, such as "tp-size"')
]
FlagValue = Annotated[Any, PlainValidator(_flag_value)]
"""What a flag is expected to be. True: a bare switch, present; False: absent or off."""
UserName = Annotated[str, _shaped(USER, 'the name of a user of the host, such as "sglang"')]
VariableName = Annotated[str, _shaped(VARIABLE, 'the name of a variable, such as "NCCL_P2P_LEVEL"')]
VariableValue = Annotated[Any, PlainValidator(_variable_value)]
"""What a variable is expected to be. False: absent."""
PackageName = Annotated[str, _shaped(PACKAGE, 'the name of a distribution, such as "flashinfer-python"')]
Specifier = Annotated[str, AfterValidator(_specifier)]
"""A PEP 440 version specifier."""
Capability = Annotated[str, _shaped(CAPABILITY, 'a compute capability in quotation marks, such as "12.0"')]
Regex = Annotated[str, AfterValidator(_regex)]
Url = Annotated[str, AfterValidator(_url)]
Address = Annotated[str, AfterValidator(_address)]
CheckPattern = Annotated[str, AfterValidator(_check_pattern)]
Day = Annotated[date, BeforeValidator(_day)]
Count = Annotated[int, Field(ge=1)]
"""A whole number of things, at least one."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Via = Literal["flag", "native", "either"]
Witness = Literal[
    "unit_file", "loaded_unit", "process_argv", "server_args_log", "server_info", "draft_runner_log"
]
TextClass = Literal["code", "mathematics", "prose", "long_context"]

as_tuple = BeforeValidator(_listed)
Release = Annotated[str, _shaped(RELEASE, 'major and minor number of a version, such as "0.1"')]
