from __future__ import annotations

import pytest

from pytest_dflash.endpoint.address import address
from pytest_dflash.errors import EndpointError


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1//"])
@pytest.mark.parametrize(
    "base", ["http://10.1.2.200:30000", "https://h", "http://[::1]:8000", "http://h:1/some/base"]
)
def test_all_forms_of_a_base_url_lead_to_the_same_roots(base: str, suffix: str) -> None:
    found = address(base + suffix)
    assert found.root == base
    assert found.api == base + "/v1"


def test_the_origin_has_its_port() -> None:
    assert address("https://h/x").origin == ("https", "h", 443)
    assert address("http://[::1]:8000/v1").origin == ("http", "::1", 8000)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "10.1.2.200:30000",
        "ftp://h",
        "http://",
        "http://u:p@h:1",
        "http://h:x",
        "//h",
        "http://a..b",
        "http://h\x00",
        "http://h /x",
    ],
)
def test_what_is_no_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(EndpointError, match="is no http or https address of a service") as caught:
        address(url)
    assert "u:p" not in str(caught.value)
