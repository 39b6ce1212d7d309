"""What may be wrong with a request to a cluster: one message with its remedy each."""

from __future__ import annotations

import re
import ssl

import httpx

from windtunnel.errors import ClusterAccessError

_KINIT = "request a ticket with 'kinit PRINCIPAL', or specify a keytab and its principal."
_CLOCK = "set the clocks of this machine and of the cluster by NTP (chrony), then repeat."

# what the Kerberos library or a server states -> reason, sentence, remedy; the first match applies
_KERBEROS: tuple[tuple[str, str, str, str], ...] = (
    (
        r"clock skew",
        "clock skew",
        "the clocks of this machine and of the cluster differ by more than Kerberos allows",
        _CLOCK,
    ),
    (
        r"ticket (has )?expired|credentials? (have|has)? ?expired",
        "ticket expired",
        "the Kerberos ticket has expired",
        _KINIT,
    ),
    (
        r"server not found in kerberos database|server .* not found",
        "unknown service",
        "the KDC knows no service principal for this host",
        "use the name of the host as in its principal HTTP/HOST@REALM, not an alias or an address.",
    ),
    (
        r"client .*not found in kerberos database|client not found",
        "wrong principal",
        "the KDC does not know the principal",
        "correct the principal; 'klist -k KEYTAB' lists those of a keytab.",
    ),
    (
        r"no suitable keys|key table entry not found|keytab .*(contains no|does not)|"
        r"no key table entry|principal .* keytab",
        "wrong principal",
        "the keytab has no key of the principal",
        "correct the principal; 'klist -k KEYTAB' lists those of a keytab.",
    ),
    (
        r"preauthentication failed|password incorrect|decrypt integrity check failed|"
        r"checksum failed|integrity check on decrypted field failed|key version",
        "wrong key",
        "the key does not match the one in the KDC",
        "export the keytab again: the key of the principal was changed after the export.",
    ),
    (
        r"cannot contact any kdc|cannot (find|resolve) .*(kdc|realm)|no default realm",
        "no KDC",
        "no KDC of the realm can be reached",
        "check /etc/krb5.conf (KRB5_CONFIG) and the network to the KDC, port 88.",
    ),
    (
        r"encryption type|etype",
        "encryption type",
        "client, KDC and service have no encryption type in common",
        "compare 'klist -e' with permitted_enctypes in /etc/krb5.conf.",
    ),
    (
        r"request is a replay",
        "replay",
        "the server took the ticket for a repeated one",
        "repeat the command; if it stays, check that the clocks of the cluster are right.",
    ),
    (
        r"no kerberos credentials|no credentials cache|credentials cache file|"
        r"no credentials were supplied|can't find client principal",
        "no ticket",
        "there is no Kerberos ticket",
        _KINIT,
    ),
)
_PROXY_HEADERS = ("proxy-authenticate", "x-squid-error", "proxy-connection", "x-bluecoat-via")
_STANDBY = re.compile(r"standby RM|StandbyException|any active RM|state standby", re.IGNORECASE)
_STARTING = re.compile(r"startup mode|RetriableException", re.IGNORECASE)
_SAFE_MODE = re.compile(r"SafeModeException|in safe mode", re.IGNORECASE)


def kerberos(text: str, where: str) -> ClusterAccessError:
    """The error for a message of a Kerberos library, of this machine or of a server."""
    for pattern, reason, sentence, remedy in _KERBEROS:
        if re.search(pattern, text, re.IGNORECASE):
            return ClusterAccessError(
                f"{where}: {sentence} ({one_line(text)})", remedy=remedy, reason=reason
            )
    return ClusterAccessError(
        f"{where}: Kerberos failed: {one_line(text)}",
        remedy="check the ticket with 'klist' and the service with 'kvno HTTP/HOST'.",
        reason="kerberos",
    )


def no_library(where: str) -> ClusterAccessError:
    """The error of a machine without the Kerberos library."""
    return ClusterAccessError(
        f"{where} requires Kerberos, and this machine has no libgssapi_krb5.so.2",
        remedy="install it: the package libgssapi-krb5-2 (Debian), krb5-libs (Red Hat).",
        reason="no kerberos library",
    )


def transport(error: httpx.HTTPError, where: str, url: httpx.URL) -> ClusterAccessError:
    """The error of a request without an answer."""
    cause = _cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        if cause.verify_code == 62:  # X509_V_ERR_HOSTNAME_MISMATCH
            return ClusterAccessError(
                f"{where}: its certificate is not valid for the name {url.host}",
                remedy="use the name that the certificate contains "
                "('openssl s_client -connect HOST:PORT' prints it).",
                reason="certificate name",
            )
        return ClusterAccessError(
            f"{where}: its certificate is not trusted ({cause.verify_message})",
            remedy="specify the PEM file of the cluster's certificate authority with --ca-file; "
            "if it has expired, it must be renewed.",
            reason="certificate",
        )
    text = one_line(str(cause) or str(error) or type(error).__name__)
    if isinstance(cause, ssl.SSLError):
        if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text:
            return ClusterAccessError(
                f"{where} does not speak TLS", remedy="use http://.", reason="no tls"
            )
        return ClusterAccessError(
            f"{where}: TLS failed: {text}",
            remedy="check the protocol and the ciphers, and whether the server requires a client "
            "certificate.",
            reason="tls",
        )
    if isinstance(error, httpx.ProxyError):
        return ClusterAccessError(
            f"{where}: the proxy refused the connection: {text}",
            remedy="correct or remove --proxy.",
            reason="proxy",
        )
    if isinstance(error, httpx.TimeoutException):
        return ClusterAccessError(
            f"{where} did not answer in time",
            remedy="check that the host is up and that no firewall drops the packets.",
            reason="timeout",
        )
    if isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError)):
        remedy = "use https://." if url.scheme == "http" else "check the port."
        return ClusterAccessError(
            f"{where} does not speak HTTP: {text}", remedy=remedy, reason="protocol"
        )
    if re.search(r"name or service|name resolution|no address|nodename", text, re.IGNORECASE):
        return ClusterAccessError(
            f"{where}: the name {url.host} has no address",
            remedy="correct the name, or run the command on a machine that resolves it "
            "(an edge node).",
            reason="no name",
        )
    return ClusterAccessError(
        f"{where} cannot be reached: {text}",
        remedy="check that the daemon runs, that the port is correct, and that the network has a "
        "route to it.",
        reason="unreachable",
    )


def _cause(error: BaseException) -> BaseException:
    """The innermost error of a chain."""
    seen: BaseException = error
    while (below := seen.__cause__ or seen.__context__) is not None:
        seen = below
        if isinstance(seen, ssl.SSLError):
            return seen
    return seen


def status(
    answer: httpx.Response,
    body: str,
    where: str,
    *,
    negotiated: bool,
    with_password: bool,
) -> ClusterAccessError | None:
    """The error of an answer that is not a success; None for a success."""
    if answer.is_success and not _STANDBY.search(body[:500]):
        return None
    said = message_in(body)
    code = answer.status_code
    if code == 407 or (code >= 500 and any(name in answer.headers for name in _PROXY_HEADERS)):
        return ClusterAccessError(
            f"{where}: a proxy answered instead of the cluster (status {code})",
            remedy="do not use a proxy for the hosts of the cluster, or specify the correct one "
            "with --proxy.",
            reason="proxy",
        )
    if _STANDBY.search(body):
        return ClusterAccessError(
            f"{where} is in standby, and no active one is known",
            remedy="specify all servers of the pair, or wait until one is active "
            "('yarn rmadmin -getAllServiceState', 'hdfs haadmin -getAllServiceState').",
            reason="standby",
        )
    if _SAFE_MODE.search(body):
        return ClusterAccessError(
            f"{where} is in safe mode: {said}",
            remedy="wait until enough blocks are reported, or see 'hdfs dfsadmin -safemode get'.",
            reason="safe mode",
        )
    if code in (502, 503, 504) or _STARTING.search(body):
        return ClusterAccessError(
            f"{where} is not ready (status {code}): {said}",
            remedy="repeat the command when the daemon has started.",
            reason="not ready",
        )
    if code in (401, 403) and re.search(r"GSSException|Kerberos|Ticket|Clock|Checksum", body):
        return kerberos(said, where)
    if code == 401:
        return _unauthorised(where, answer, negotiated=negotiated, with_password=with_password)
    if code == 403:
        return ClusterAccessError(
            f"{where} refuses access: {said}",
            remedy="use another user, or request the access right; "
            "the web user must be in the service's ACL.",
            reason="forbidden",
        )
    if code == 404:
        return ClusterAccessError(
            f"{where} has no such page: {said}",
            remedy="check the address: it may be that of another daemon; or the server no longer "
            "has the object.",
            reason="not found",
        )
    return ClusterAccessError(
        f"{where} answered with status {code}: {said}",
        remedy="see the log of the daemon.",
        reason="refused",
    )


def _unauthorised(
    where: str, answer: httpx.Response, *, negotiated: bool, with_password: bool
) -> ClusterAccessError:
    if with_password:
        return ClusterAccessError(
            f"{where} did not accept the user name and the password",
            remedy="correct the user name, or the first line of the password file.",
            reason="rejected",
        )
    if negotiated:
        return ClusterAccessError(
            f"{where} did not accept the Kerberos ticket",
            remedy="check that the principal is of the cluster's realm or one that it trusts.",
            reason="rejected",
        )
    offered = answer.headers.get("www-authenticate", "")
    if "basic" in offered.lower():
        return ClusterAccessError(
            f"{where} requires a user name and a password",
            remedy="specify --user and --password-file (only with https).",
            reason="password",
        )
    return ClusterAccessError(
        f"{where} requires a user name",
        remedy="specify --user.",
        reason="no user",
    )


def not_json(body: str, content_type: str, where: str) -> ClusterAccessError:
    """The error of an answer that is no JSON object."""
    if "<html" in body[:2000].lower() or "html" in content_type:
        title = re.search(r"<title>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
        named = f" titled '{one_line(title.group(1))}'" if title else ""
        return ClusterAccessError(
            f"{where} answered with a web page{named} instead of JSON",
            remedy="check the address: it may be that of another daemon, of a proxy or of a login "
            "page.",
            reason="html",
        )
    return ClusterAccessError(
        f"{where} answered with something that is not JSON",
        remedy="check the address: it may be that of another service.",
        reason="not json",
    )


def redirected(where: str, target: httpx.URL) -> ClusterAccessError:
    """The error of a redirect that is not followed."""
    return ClusterAccessError(
        f"{where} redirects to {target.copy_with(query=None, userinfo=b'')}",
        remedy="if this is a login page or a gateway, use the address of the daemon itself; "
        "else use the new address.",
        reason="redirect",
    )


def too_long(where: str, limit_bytes: int) -> ClusterAccessError:
    """The error of an answer above the limit."""
    return ClusterAccessError(
        f"{where} sent more than {limit_bytes} bytes",
        remedy="check the address; select fewer jobs.",
        reason="too long",
    )


def message_in(body: str) -> str:
    """The message in an answer: of Hadoop's JSON of exceptions, of a web page, or its first line.

    Secrets in it are masked by the caller's output; the text has at most 300 characters.
    """
    found = re.search(r'"message"\s*:\s*"((?:[^"\\]|\\.)*)"', body)
    if found:
        return one_line(found.group(1))
    for pattern in (r"<th>MESSAGE:</th><td>(.*?)</td>", r"<title>(.*?)</title>"):
        found = re.search(pattern, body, re.IGNORECASE | re.DOTALL)
        if found:
            return one_line(found.group(1))
    return one_line(re.sub(r"<[^>]*>", " ", body)) or "no message"


def one_line(text: str) -> str:
    """Text without line breaks, of at most 300 characters."""
    return " ".join(text.split())[:300]
