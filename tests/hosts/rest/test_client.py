"""The client against a web server on loopback: answers, redirects, and what goes wrong."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.support.webserver import Reply, Request, certificate, serving
from windtunnel.errors import ClusterAccessError, UsageError
from windtunnel.hosts.rest import Access, RestClient, Sent
from windtunnel.hosts.rest.active import active_namenode, active_resourcemanager

QUICK = Access(timeout_s=5)


def problem(url: str, access: Access = QUICK) -> ClusterAccessError:
    with RestClient(access) as client, pytest.raises(ClusterAccessError) as caught:
        client.get_json(url)
    assert caught.value.exit_code == 12
    assert caught.value.remedy.endswith((".", ")"))
    return caught.value


def refusal(message: str, kind: str = "AccessControlException", status: int = 403) -> Reply:
    """As Hadoop's REST interfaces write exceptions."""
    return Reply({"RemoteException": {"message": message, "exception": kind}}, status)


def test_json_is_read_and_the_request_is_noted() -> None:
    sent: list[Sent] = []
    with (
        serving(lambda r: Reply({"path": r.path, **r.query})) as url,
        RestClient(QUICK, sent.append) as client,
    ):
        assert client.get_json(f"{url}/a?x=1", {"y": 2}) == {"path": "/a", "x": "1", "y": "2"}
    assert [(one.method, one.url, one.status) for one in sent] == [("GET", f"{url}/a", 200)]


@pytest.mark.parametrize(
    ("reply", "reason", "words"),
    [
        (Reply("<html><title>Cloudera Manager</title>"), "html", "'Cloudera Manager'"),
        (Reply(b"ok"), "not json", "not JSON"),
        (Reply(b"[1]"), "not json", "not JSON"),
        (Reply("This is standby RM. Redirecting"), "standby", "in standby"),
        (
            refusal("Operation category READ", "StandbyException"),
            "standby",
            "in standby",
        ),
        (
            refusal("Name node is in safe mode.", status=403),
            "safe mode",
            "in safe mode",
        ),
        (refusal("User a may not", status=403), "forbidden", "User a may not"),
        (refusal("job_1_2, is not found", status=404), "not found", "job_1_2"),
        (Reply(b"", 401), "no user", "user name"),
        (Reply(b"", 401, [("WWW-Authenticate", 'Basic realm="Knox"')]), "password", "password"),
        (Reply(b"", 407, [("Proxy-Authenticate", "Basic")]), "proxy", "proxy"),
        (Reply("blocked", 503, [("X-Squid-Error", "ERR_CONNECT_FAIL 111")]), "proxy", "proxy"),
        (Reply("starting", 503), "not ready", "status 503"),
        (Reply("<title>Error 500 boom</title>", 500), "refused", "Error 500 boom"),
        (Reply("<title>GSSException: Clock skew too great</title>", 403), "clock skew", "clocks"),
        (Reply("<title>Error 403 GSSException: Checksum failed</title>", 403), "wrong key", "key"),
        (Reply(b"", 302, [("Location", "/login?next=a")]), "redirect", "/login"),
        (Reply(b"", 302, [("Location", "ftp://localhost/x")]), "redirect", "ftp://localhost"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_success_has_a_reason(reply: Reply, reason: str, words: str) -> None:
    with serving(lambda _: reply) as url:
        found = problem(f"{url}/x")
    assert found.reason == reason
    assert words in found.message
    assert url in found.message


def test_a_redirect_to_the_same_path_is_followed_and_a_circle_ends() -> None:
    with serving(lambda r: Reply({"served": r.path})) as active:
        moved = Reply(b"", 307, [("Location", f"{active}/ws/v1/cluster/nodes")])
        with serving(lambda _: moved) as standby, RestClient(QUICK) as client:
            assert client.get_json(f"{standby}/ws/v1/cluster/nodes") == {
                "served": "/ws/v1/cluster/nodes"
            }
    with serving(lambda r: Reply(b"", 302, [("Location", r.path)])) as url:
        assert problem(f"{url}/x").reason == "redirect"


def test_a_password_is_for_one_server_only(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "localhost")
    password = tmp_path / "password"
    password.write_text("secret")
    access = Access(ca_file=pem, user="me", password_file=password, timeout_s=5)
    seen: list[str | None] = []

    def other(request: Request) -> Reply:
        seen.append(request.headers.get("Authorization"))
        return Reply({"a": 1})

    with serving(other, pem) as elsewhere:
        moved = Reply(b"", 302, [("Location", f"{elsewhere}/x")])
        with serving(lambda _: moved, pem) as url:
            assert problem(f"{url}/x", access).reason == "redirect"
    assert seen == []
    # a server that also offers Kerberos has refused the password
    refused = Reply(b"", 401, [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", "Basic")])
    with serving(lambda _: refused, pem) as url:
        found = problem(f"{url}/x", access)
    assert found.reason == "rejected" and "the user name and the password" in found.message


def test_a_cookie_is_kept_for_its_server_alone_and_replaced_when_it_expires() -> None:
    seen: list[str | None] = []

    def answer(request: Request) -> Reply:
        seen.append(request.headers.get("Cookie"))
        if len(seen) == 3:
            return Reply(b"", 401)
        cookie = f'hadoop.auth="u=a&s={len(seen)}="; Path=/; HttpOnly'
        return Reply({}, headers=[("Set-Cookie", cookie)])

    with serving(answer) as url, serving(answer) as other, RestClient(QUICK) as client:
        for _ in range(3):
            client.get_json(url)
        client.get_json(other)
    assert seen == [None, 'hadoop.auth="u=a&s=1="', 'hadoop.auth="u=a&s=2="', None, None]


def test_a_user_name_is_sent_where_there_is_no_kerberos() -> None:
    with serving(lambda r: Reply(r.query)) as url, RestClient(Access(user="ann")) as client:
        assert client.get_json(url) == {"user.name": "ann"}


def test_an_answer_has_a_limit() -> None:
    with serving(lambda _: Reply(b"x" * 2000)) as url, RestClient(QUICK) as client:
        assert len(client.get_bytes(url, limit_bytes=2000)) == 2000
        with pytest.raises(ClusterAccessError, match="more than 1999 bytes"):
            client.get_bytes(url, limit_bytes=1999)


def test_certificates(tmp_path: Path) -> None:
    right, wrong = certificate(tmp_path, "localhost"), certificate(tmp_path, "other.host")
    password = tmp_path / "password"
    password.write_text("planted-secret\n")
    with serving(lambda r: Reply({"auth": r.headers.get("Authorization")}), right) as url:
        assert problem(url).reason == "certificate"
        assert problem(url, Access(ca_file=wrong)).reason == "certificate"
        with RestClient(Access(ca_file=right, user="ann", password_file=password)) as client:
            assert client.get_json(url)["auth"].startswith("Basic ")
        found = problem(url.replace("https", "http"))
        assert found.reason == "protocol" and "https://" in found.remedy
    with serving(lambda _: Reply({}), wrong) as url:
        assert problem(url, Access(ca_file=wrong)).reason == "certificate name"
    with serving(lambda _: Reply({})) as url:
        assert problem(url.replace("http", "https")).reason == "no tls"
        found = problem(url, Access(user="ann", password_file=password))
        assert found.reason == "password without tls"
        assert "planted-secret" not in found.render()


def test_servers_that_do_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert problem(f"http://localhost:{port}", Access(timeout_s=0.2)).reason == "timeout"
    assert problem(f"http://localhost:{port}").reason == "unreachable"
    assert problem("http://no-such-host.invalid:1").reason == "no name"
    assert problem("http://localhost:1", Access(proxy=f"http://localhost:{port}")).reason in (
        "proxy",
        "unreachable",
    )


def test_a_server_that_speaks_another_protocol() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connected, _ = server.accept()
            with connected:
                connected.recv(1000)
                connected.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert problem(f"http://localhost:{server.getsockname()[1]}").reason == "protocol"
        thread.join()


def test_a_connection_that_the_server_closed_is_opened_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            closed, _ = server.accept()
            closed.recv(1000)
            closed.close()
            connected, _ = server.accept()
            with connected:
                connected.recv(1000)
                body = b'{"a": 1}'
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8"
                connected.sendall(head + b"\r\n\r\n" + body)

        thread = threading.Thread(target=answer)
        thread.start()
        with RestClient(QUICK) as client:
            assert client.get_json(f"http://localhost:{server.getsockname()[1]}/") == {"a": 1}
        thread.join()


@pytest.mark.parametrize("url", ["cluster:8088", "ftp://host/", "http://", "http://[x"])
def test_a_url_that_is_none(url: str) -> None:
    with RestClient(QUICK) as client, pytest.raises(UsageError, match="not a URL"):
        client.get_json(url)


def test_options_that_exclude_each_other(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no certificate")
    for access in (
        Access(ca_file=tmp_path / "absent"),
        Access(ca_file=file),
        Access(principal="ann"),
        Access(keytab=file, ticket_cache="FILE:x"),
        Access(password_file=file),
    ):
        with pytest.raises(UsageError):
            RestClient(access)


def test_the_active_server_of_a_pair_is_found() -> None:
    def rm(state: str) -> object:
        return lambda _: Reply({"clusterInfo": {"haState": state}})

    def nn(state: str) -> object:
        return lambda _: Reply({"beans": [{"State": state}]})

    with RestClient(QUICK) as client:
        for find, state in ((active_resourcemanager, rm), (active_namenode, nn)):
            with serving(state("STANDBY")) as one, serving(state("ACTIVE")) as two:  # type: ignore[arg-type]
                assert find(client, ["http://localhost:1", one, two]) == two
                with pytest.raises(ClusterAccessError, match="in state standby") as caught:
                    find(client, [one])
                assert caught.value.reason == "standby"
            with (
                serving(lambda _: Reply({"beans": []})) as url,
                pytest.raises(ClusterAccessError, match="is not a"),
            ):
                find(client, [url])
        with pytest.raises(ClusterAccessError) as caught:
            active_namenode(client, ["http://localhost:1", "http://localhost:2"])
        assert caught.value.reason == "unreachable"
