"""Security by configuration and files: proxy users, secrets, key tables, contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windtunnel.audit.configuration import is_secret
from windtunnel.audit.evidence import Evidence
from windtunnel.audit.result import Outcome, failed, not_applicable, passed
from windtunnel.cluster.secrets import authenticates_zookeeper, names_a_file

_AUTHENTICATION = "hadoop.security.authentication"
_PROXY = re.compile(r"hadoop\.proxyuser\.(?P<user>[^.]+)\.(?P<what>hosts|groups|users)")
_HADOOP_MAINS = re.compile(r"org\.apache\.(hadoop|hbase|zookeeper|hive|spark|oozie|pig)\.")


def kerberos(evidence: Evidence) -> bool:
    """Whether the cluster authenticates."""
    return evidence.conf.value(_AUTHENTICATION).lower() == "kerberos"


def rpc_protected(evidence: Evidence) -> Iterator[Outcome]:
    """Whether RPC is signed or encrypted: SASL does it, which the mode simple does not use."""
    conf, name = evidence.conf, "hadoop.rpc.protection"
    text = f"{name} = {conf.shown(name)}"
    offered = {one.strip() for one in conf.value(name).split(",")}
    if not offered <= {"privacy", "integrity"}:  # a client chooses among all
        yield failed(text, about=name, place=conf.place(name))
    elif not kerberos(evidence):
        text += f" has no effect with {_AUTHENTICATION} = {conf.shown(_AUTHENTICATION)}"
        yield failed(text, _kerberos_remedy(), about=name, place=conf.place(_AUTHENTICATION))
    else:
        yield passed(text, name)


def _kerberos_remedy() -> str:
    return f"set {_AUTHENTICATION} = kerberos, with principals and keytabs for each daemon"


def data_encrypted(evidence: Evidence) -> Iterator[Outcome]:
    """The two ways to encrypt blocks on the network, and the authentication that both need.

    SASL protects transfers only with Kerberos. Without it, the NameNode sends the keys of
    dfs.encrypt.data.transfer in clear text, because RPC cannot be encrypted.
    """
    conf = evidence.conf
    protection, encrypt = conf.value("dfs.data.transfer.protection"), "dfs.encrypt.data.transfer"
    text = f"dfs.data.transfer.protection = {protection or '(empty)'}, {encrypt} = "
    text += conf.shown(encrypt)
    if not protection.startswith("privacy") and not conf.true(encrypt):
        yield failed(text, place=conf.place("dfs.data.transfer.protection"))
    elif not kerberos(evidence):
        why = "keys cross the network in clear text" if conf.true(encrypt) else "it has no effect"
        text += f"; with {_AUTHENTICATION} = {conf.shown(_AUTHENTICATION)}, {why}"
        yield failed(text, _kerberos_remedy(), place=conf.place(_AUTHENTICATION))
    else:
        yield passed(text)


def proxy_users(evidence: Evidence) -> Iterator[Outcome]:
    """Accounts that may act as every user, from every host."""
    conf, bad = evidence.conf, False
    for one in conf.entries:
        match = _PROXY.fullmatch(one.name)
        if match and "*" in [part.strip() for part in conf.expanded(one.value).split(",")]:
            bad = True
            what = {"hosts": "from every host", "groups": "as every user", "users": "as every user"}
            text = f"{one.name} = *: {match['user']} may act {what[match['what']]}"
            remedy = f"set {one.name} to the {match['what']} that {match['user']} serves"
            yield failed(text, remedy, about=one.name, place=one.place)
    if not bad:
        yield passed("no proxy user has *")


_SECRET_REMEDY = (
    "hadoop credential create PROPERTY -provider jceks://hdfs/keys.jceks, set "
    "hadoop.security.credential.provider.path, remove the value and change the secret; "
    "chmod 640 ssl-server.xml ssl-client.xml"
)
_ZOOKEEPER_REMEDY = (
    "write the value to a file with mode 0400, set {name} = @FILE, and change the password"
)


def secrets_in_files(evidence: Evidence) -> Iterator[Outcome]:
    """Secrets in site files; their values are never part of an outcome."""
    bad = False
    for one in evidence.conf.entries:
        if names_a_file(one.name, one.value):
            continue
        if is_secret(one.name) and one.value and not one.value.startswith("${"):
            mode = evidence.conf.modes.get(one.written_in)
            if one.file.startswith("ssl-") and mode is not None and not mode & 0o004:
                continue  # read by daemons only: neither at /conf nor sent with jobs
            bad = True
            who = ", readable for every account" if mode is not None and mode & 0o004 else ""
            text = f"{one.name} is in {one.written_in}{who} (value not shown)"
            remedy = _SECRET_REMEDY
            if authenticates_zookeeper(one.name):
                remedy = _ZOOKEEPER_REMEDY.format(name=one.name)
            yield failed(text, remedy, about=one.name, place=one.place)
    if not bad:
        yield passed("no secret in a site file, or in a TLS file that every account can read")


def half_secure(evidence: Evidence) -> Iterator[Outcome]:
    """Settings of secure mode that contradict each other."""
    conf, bad = evidence.conf, False
    if not kerberos(evidence):
        for name in ("dfs.namenode.kerberos.principal", "yarn.resourcemanager.principal"):
            if conf.is_set(name) and conf.value(name):
                bad = True
                text = f"{name} is set, but hadoop.security.authentication = simple"
                remedy = "set hadoop.security.authentication = kerberos"
                yield failed(text, remedy, about=name, place=conf.place(name))
        if not bad:
            yield not_applicable("hadoop.security.authentication is not kerberos")
        return
    needed = {
        "hadoop.security.authorization": "true",
        "dfs.block.access.token.enable": "true",
    }
    for name, value in needed.items():
        if conf.value(name).lower() != value:
            bad = True
            text = f"Kerberos is on, but {name} = {conf.shown(name)}"
            yield failed(text, f"set {name} = {value}", about=name, place=conf.place(name))
    transfer = conf.value("dfs.data.transfer.protection")
    port = conf.value("dfs.datanode.address").rpartition(":")[2]
    if not transfer and port.isdigit() and int(port) >= 1024:
        bad = True
        text = "Kerberos is on, dfs.data.transfer.protection is not, and the port of DataNodes is "
        remedy = "set dfs.data.transfer.protection = privacy and dfs.http.policy = HTTPS_ONLY"
        yield failed(f"{text}not privileged: they do not start", remedy, about="DataNode")
    if transfer and conf.value("dfs.http.policy") != "HTTPS_ONLY":
        bad = True
        text = (
            f"dfs.data.transfer.protection needs HTTPS_ONLY, it is {conf.shown('dfs.http.policy')}"
        )
        yield failed(text, "set dfs.http.policy = HTTPS_ONLY", about="dfs.http.policy")
    if not bad:
        yield passed("settings of secure mode agree")


def as_root(evidence: Evidence) -> Iterator[Outcome]:
    """JVMs of Hadoop that run as root."""
    rows = [r for r in evidence.one.table("jvms") if _HADOOP_MAINS.match(str(r.get("main", "")))]
    root = sorted(
        {str(row["main"]).rpartition(".")[2] for row in rows if row.get("user") == "root"}
    )
    if not rows:
        yield not_applicable("no JVM of Hadoop runs on this host")
    elif root:
        yield failed(f"as root: {', '.join(root)}", about=", ".join(root))
    else:
        users = sorted({str(row.get("user")) for row in rows})
        yield passed(f"{len(rows)} JVMs as {', '.join(users)}")


def keytabs(evidence: Evidence) -> Iterator[Outcome]:
    """Key tables that others than their owner can read."""
    rows, bad = evidence.one.table("keytabs"), False
    for row in rows:
        path, mode = str(row.get("path")), int(str(row.get("mode", "0")), 8)
        if mode & 0o077:
            bad = True
            text = f"{path} has mode {mode:04o}, owner {row.get('owner')}"
            yield failed(text, f"chmod 0400 {path}", about=path)
    if not rows:
        yield not_applicable("no keytab was found")
    elif not bad:
        yield passed(f"{len(rows)} keytabs, each readable for its owner only")


def exports(evidence: Evidence) -> Iterator[Outcome]:
    """File systems that every host may mount, and the gateway of HDFS."""
    bad = False
    for line in map(str, evidence.one.get("exports")):
        # exports(5): a path without hosts, and options without a host, are for every host
        if re.search(r"\s\*(\(|\s|$)|\s\(|^\S+$", line.strip()):
            bad = True
            yield failed(f"{line}", about=line.split()[0])
    if not bad:
        yield passed("no export for every host")


def gateway(evidence: Evidence) -> Iterator[Outcome]:
    """The NFS gateway of HDFS: which hosts may mount it."""
    conf, name = evidence.conf, "nfs.exports.allowed.hosts"
    if not conf.is_set(name) and not any(e.name.startswith("nfs.") for e in conf.entries):
        yield not_applicable("no NFS gateway is configured")
    elif not conf.is_set(name) or "*" in conf.value(name):
        text = f"{name} = {conf.shown(name) or '* rw'}: every host may write to HDFS"
        remedy = f"set {name} to 'NETWORK/BITS rw'"
        yield failed(text, remedy, about=name, place=conf.place(name))
    else:
        yield passed(conf.shown(name))


RULES = {
    "rpc_protected": rpc_protected,
    "data_encrypted": data_encrypted,
    "proxy_users": proxy_users,
    "secrets_in_files": secrets_in_files,
    "half_secure": half_secure,
    "as_root": as_root,
    "keytabs": keytabs,
    "exports": exports,
    "gateway": gateway,
}
