"""Which addresses outbound requests may reach."""

import ipaddress

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite.core import env
from evalsite.core.addresses import OutboundError, check_all, is_public, target_of

HOME = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")]
EVERYTHING = [ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")]
PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2001:4860:4860::8888"]
PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "172.16.0.1",
    "192.0.0.9",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a00:1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
METADATA = ["169.254.169.254", "169.254.170.2", "fe80::1", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"]


def refusal(url: str, *found: str, networks: object = ()) -> str:
    """Return the kind of the refusal, or "" if the request may be made."""
    try:
        check_all(target_of(url, networks), found, networks)  # type: ignore[arg-type]
    except OutboundError as error:
        return error.kind
    return ""


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_reached_by_https(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
    assert refusal("https://bot.example/v1", address) == ""


@pytest.mark.parametrize("address", [*PRIVATE, *METADATA])
def test_address_that_is_not_public_is_refused(address: str) -> None:
    assert refusal("https://bot.example/v1", address) == "address_refused"


@pytest.mark.parametrize("address", METADATA)
def test_metadata_address_is_refused_even_if_allowed(address: str) -> None:
    assert refusal("https://bot.example/v1", address, networks=EVERYTHING) == "address_refused"
    assert refusal("http://bot.example/v1", address, networks=EVERYTHING) == "address_refused"


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "fd12::1"])
def test_allowed_network_is_reached_by_http(address: str) -> None:
    assert refusal("http://bot.example:8000/v1", address, networks=HOME) == ""


def test_http_reaches_allowed_networks_only() -> None:
    assert refusal("http://bot.example/v1", "8.8.8.8") == "address_refused"
    assert refusal("http://bot.example/v1", "8.8.8.8", networks=HOME) == "address_refused"
    assert refusal("https://bot.example/v1", "8.8.8.8", networks=HOME) == ""


def test_one_private_answer_refuses_the_host() -> None:
    assert refusal("https://bot.example/v1", "8.8.8.8", "192.168.0.1") == "address_refused"
    assert refusal("https://bot.example/v1", "nonsense") == "address_refused"


def test_host_without_answers_is_unresolved() -> None:
    assert refusal("https://bot.example/v1") == "unresolved"


@pytest.mark.parametrize(("port", "kind"), [(443, ""), (8443, ""), (22, "address_refused"), (25, "address_refused")])
def test_ports_of_other_services_are_refused(port: int, kind: str) -> None:
    assert refusal(f"https://bot.example:{port}/v1", "8.8.8.8") == kind


@pytest.mark.parametrize(
    "url",
    [
        "",
        "bot.example/v1",
        "ftp://bot.example/v1",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "https://user:word@bot.example/",
        "https://bot.example@10.0.0.1/",
        "https://bot.example/#part",
        "https://bot.example:port/",
        "https://bot.example:99999/",
        "https://bot.example\\@10.0.0.1/",
        "https://bot.example/\r\nX: y",
        "https://bot.example/a b",
        "https://bücher.example/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://bot_.exa$mple/",
        "https://bot.example/" + "a" * 2000,
    ],
)
def test_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(OutboundError) as caught:
        target_of(url, [])
    assert caught.value.kind == "address_refused"


def test_parts_of_an_address_are_kept() -> None:
    target = target_of("https://Bot.Example:8443/v1/chat?api-version=1", [])
    assert (target.host, target.port, target.path) == ("bot.example", 8443, "/v1/chat?api-version=1")
    assert target.authority == "bot.example:8443"
    assert target_of("https://[2606:4700::1]", []).authority == "[2606:4700::1]"


def test_refusal_does_not_tell_where_a_name_leads() -> None:
    with pytest.raises(OutboundError) as caught:
        check_all(target_of("https://intranet.example/", []), ["10.77.1.2"], [])
    assert "10.77" not in str(caught.value)


def test_operator_lists_networks_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETWORKS", "127.0.0.0/8, ::1/128")
    assert [str(one) for one in env.networks("NETWORKS")] == ["127.0.0.0/8", "::1/128"]
    monkeypatch.setenv("NETWORKS", "127.0.0.1/8")
    with pytest.raises(ImproperlyConfigured, match="NETWORKS is wrong"):
        env.networks("NETWORKS")
