"""A secure Hadoop cluster that Windtunnel does not know: Kerberos, TLS, three virtual hosts.

Started by ``ip netns`` and plain ``java`` commands: ``master`` (KDC, NameNode, ResourceManager,
history server), ``worker`` (DataNode, NodeManager) and ``edge``, which has only the client
configuration and a keytab. Needs root, iproute2, openssl and MIT Kerberos.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.support import kerberos
from tests.support.kerberos import REALM, Realm
from tools.build_loopback import javac, needed_javac
from windtunnel.engines.artifacts import ensure_shipped
from windtunnel.engines.hadoop import releases
from windtunnel.engines.hadoop.software import OPENS

HOSTS = {"master": "10.83.0.1", "worker": "10.83.0.2", "edge": "10.83.0.3"}
PASSWORD = "planted-store-password"
SECRETS = (PASSWORD, "planted-s3-secret", "planted-option-secret", "planted-url-secret")
_SERVERS = {
    "namenode": ("master", "org.apache.hadoop.hdfs.server.namenode.NameNode", 9871),
    "datanode": ("worker", "org.apache.hadoop.hdfs.server.datanode.DataNode", 9865),
    "resourcemanager": (
        "master",
        "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
        8090,
    ),
    "nodemanager": ("worker", "org.apache.hadoop.yarn.server.nodemanager.NodeManager", 8044),
    "historyserver": ("master", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 19890),
}
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=3 -XX:-UsePerfData"
_JVM = f"-Xmx256m -Xss512k -XX:+UseSerialGC {_LIGHT}"


def missing() -> str:
    """Why no secure cluster can be started; empty if one can be."""
    if os.geteuid() != 0:
        return "needs root: network namespaces"
    if absent := [name for name in ("ip", "openssl", "unshare") if not shutil.which(name)]:
        return f"needs {', '.join(absent)}"
    if not javac():
        return "needs the javac of a JDK 17 or newer"
    return kerberos.missing()


def _site(properties: Mapping[str, object]) -> str:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'


@dataclass
class SecureCluster:
    """A running cluster. ``conf`` is the client configuration on the edge host."""

    folder: Path
    realm: Realm
    tag: str
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def conf(self) -> Path:
        return self.folder / "conf"

    @property
    def keytab(self) -> Path:
        """The keytab of the user ann."""
        return self.folder / "ann.keytab"

    @property
    def classes(self) -> Path:
        """Classes that replace those of Hadoop that need libhadoop."""
        return self.folder / "classes"

    @property
    def ca_file(self) -> Path:
        return self.folder / "tls.crt"

    def namespace(self, host: str) -> str:
        return f"wts{self.tag}-{host}"

    def within(self, host: str) -> list[str]:
        """The prefix of a command that runs on a host."""
        name = 'hostname "$0" && exec "$@"'
        prefix = ["ip", "netns", "exec", self.namespace(host), "unshare", "-u"]
        return [*prefix, "sh", "-c", name, f"{host}.wt"]

    def run(self, host: str, *command: str, limit_s: float = 300) -> str:
        """Run a command on a host; returns what it wrote."""
        done = subprocess.run(
            [*self.within(host), *command],
            env=self.realm.environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    def java(self, main: str, *words: str, replaced: bool) -> list[str]:
        """The command of a JVM, with ``classes`` or with the archive of Hadoop's own classes."""
        software = releases.load("3.5")[0]
        conf = [str(self.conf), f"{self.folder}/web"]
        if replaced:
            options, path = OPENS, [*conf, str(self.classes), *software.jars]
        else:
            options, path = software.options, [*software.jars, *conf]
        path.append(f"{software.client_lib}/*")
        java = [str(software.java), *_JVM.split(), *options]
        return [*java, "-cp", ":".join(path), main, *words]

    def windtunnel(self, *words: str) -> list[str]:
        """Windtunnel's command line on the edge host."""
        return [*self.within("edge"), sys.executable, "-m", "windtunnel", *words]

    @property
    def environment(self) -> dict[str, str]:
        """That of the command line: no ticket of a user."""
        return {**os.environ, "KRB5CCNAME": f"FILE:{self.folder}/none"}

    def start(self, *words: str, output: IO[str]) -> subprocess.Popen[bytes]:
        """Start Windtunnel's command line, and do not wait for its end."""
        return subprocess.Popen(
            self.windtunnel(*words),
            env=self.environment,
            cwd=self.folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def link(self, host: str, *, up: bool) -> None:
        """Connect a host with the network, or cut it off."""
        _ip("-n", self.namespace("master"), "link", "set", host, "up" if up else "down")

    def unfinished(self) -> list[str]:
        """The applications that have not ended, by the ResourceManager."""
        program = [sys.executable, "-c", _UNFINISHED]
        text = self.run("master", *program, str(self.ca_file), f"{self.folder}/master.keytab")
        return text.split()

    def client(self, *words: str, limit_s: float = 400) -> subprocess.CompletedProcess[str]:
        """Run Windtunnel's command line on the edge host."""
        return subprocess.run(
            self.windtunnel(*words),
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )


@contextlib.contextmanager
def secure_cluster(folder: Path) -> Iterator[SecureCluster]:
    """Start the cluster; everything is ended and removed at the end."""
    tag = str(os.getpid() % 100_000)
    stack = contextlib.ExitStack()
    with stack:
        cluster = SecureCluster(
            folder, Realm(folder / "kdc", HOSTS["master"], 88, _enter(tag, "master")), tag
        )
        stack.callback(_remove_network, cluster)
        _network(cluster)
        stack.enter_context(cluster.realm.running())
        _keys(cluster)
        _configuration(cluster)
        _compile(cluster)
        stack.callback(_end, cluster)
        cluster.run("master", *_command(cluster, "namenode", "-format", "-nonInteractive"))
        for name in ("namenode", "datanode", "resourcemanager"):
            _start(cluster, name)
        _wait(cluster, "namenode", "datanode")
        _folders(cluster)
        for name in ("nodemanager", "historyserver"):
            _start(cluster, name)
        _wait(cluster, *_SERVERS)
        _wait_for_worker(cluster)
        yield cluster


def _enter(tag: str, host: str) -> list[str]:
    return ["ip", "netns", "exec", f"wts{tag}-{host}"]


def _network(cluster: SecureCluster) -> None:
    names = "".join(f"{address} {host}.wt {host} {host}.wt.\n" for host, address in HOSTS.items())
    for host in HOSTS:
        etc = Path("/etc/netns") / cluster.namespace(host)
        etc.mkdir(parents=True)
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        shutil.copy(cluster.realm.config, etc / "krb5.conf")
        _ip("netns", "add", cluster.namespace(host))
        _ip("-n", cluster.namespace(host), "link", "set", "lo", "up")
    master = cluster.namespace("master")
    _ip("-n", master, "link", "add", "br0", "type", "bridge")
    _ip("-n", master, "addr", "add", f"{HOSTS['master']}/24", "dev", "br0")
    _ip("-n", master, "link", "set", "br0", "up")
    for host in ("worker", "edge"):
        own = cluster.namespace(host)
        _ip("-n", master, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", own)
        _ip("-n", master, "link", "set", host, "master", "br0", "up")
        _ip("-n", own, "addr", "add", f"{HOSTS[host]}/24", "dev", "eth0")
        _ip("-n", own, "link", "set", "eth0", "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


def _remove_network(cluster: SecureCluster) -> None:
    for host in HOSTS:
        name = cluster.namespace(host)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True, timeout=30)
        shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)


def _keys(cluster: SecureCluster) -> None:
    folder, realm = cluster.folder, cluster.realm
    for host in ("master", "worker"):
        services = ("hdfs", "yarn", "mapred", "HTTP")
        realm.add(folder / f"{host}.keytab", *(f"{name}/{host}.wt" for name in services))
    realm.add(cluster.keytab, "ann")
    names = ",".join(f"DNS:{host}.wt" for host in HOSTS)
    key, crt = folder / "tls.key", cluster.ca_file
    for command in (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=master.wt -keyout {key} "
        f"-out {crt} -addext subjectAltName={names}",
        f"openssl pkcs12 -export -in {crt} -inkey {key} -out {folder}/tls.p12 -name tls "
        f"-passout pass:{PASSWORD}",
    ):
        subprocess.run(command.split(), check=True, capture_output=True, timeout=60)


def _configuration(cluster: SecureCluster) -> None:
    """The site files; ``_HOST`` becomes the name of the daemon's host."""
    folder, conf = cluster.folder, cluster.conf
    conf.mkdir()
    for name in ("hdfs", "datanode", "secondary", "static"):
        (folder / "web" / "webapps" / name).mkdir(parents=True)
    (folder / "secret").write_text("planted-signature-secret")
    keytab = f"{folder}/${{wt.host}}.keytab"
    web = {
        "hadoop.http.filter.initializers": "org.apache.hadoop.security."
        "AuthenticationFilterInitializer",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.simple.anonymous.allowed": "false",
        "hadoop.http.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "hadoop.http.authentication.kerberos.keytab": keytab,
        "hadoop.http.authentication.signature.secret.file": f"{folder}/secret",
    }
    core = {
        "fs.defaultFS": "hdfs://master.wt:8020",
        "hadoop.tmp.dir": f"{folder}/${{wt.host}}",
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "privacy",
        "hadoop.security.token.service.use_ip": "false",
        "hadoop.user.group.static.mapping.overrides": "hdfs=supergroup;yarn=hadoop;mapred=hadoop;"
        "ann=hadoop;dr.who=",
        "hadoop.ssl.require.client.cert": "false",
        "io.file.buffer.size": "65536",
        "fs.s3a.secret.key": "planted-s3-secret",
        "site.proxy": "http://user:planted-url-secret@proxy.example:3128",
        **web,
    }
    hdfs = {
        "dfs.replication": "1",
        "dfs.blocksize": "64m",
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.namenode.https-address": "master.wt:9871",
        "dfs.datanode.https.address": "worker.wt:9865",
        "dfs.datanode.address": "worker.wt:9866",
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "privacy",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.kerberos.principal": f"hdfs/_HOST@{REALM}",
        "dfs.datanode.kerberos.principal": f"hdfs/_HOST@{REALM}",
        "dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.namenode.keytab.file": keytab,
        "dfs.datanode.keytab.file": keytab,
    }
    jars = ensure_shipped("hadoop-3.5")
    path = f"{cluster.classes},{jars.lib}/*,{jars.client_lib}/*"
    yarn = {
        "yarn.http.policy": "HTTPS_ONLY",
        "yarn.resourcemanager.hostname": "master.wt",
        "yarn.resourcemanager.webapp.https.address": "master.wt:8090",
        "yarn.nodemanager.webapp.https.address": "worker.wt:8044",
        "yarn.nodemanager.hostname": "${wt.host}.wt",
        "yarn.nodemanager.local-dirs": f"{folder}/containers",
        "yarn.nodemanager.log-dirs": f"{folder}/container-logs",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.scheduler.minimum-allocation-mb": "256",
        "yarn.application.classpath": path,
        # few of the threads that look for work once per second or more often
        "yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms": "50",
        "yarn.resourcemanager.client.thread-count": "4",
        "yarn.resourcemanager.scheduler.client.thread-count": "4",
        "yarn.resourcemanager.resource-tracker.client.thread-count": "4",
        "yarn.nodemanager.container-manager.thread-count": "4",
        **{
            f"yarn.{role}.{key}": value
            for role in ("resourcemanager", "nodemanager")
            for key, value in (("principal", f"yarn/_HOST@{REALM}"), ("keytab", keytab))
        },
    }
    mapred = {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": path,
        "mapreduce.map.java.opts": f"-Xmx200m {_LIGHT} -Dstore.password=planted-option-secret",
        "mapreduce.reduce.java.opts": f"-Xmx200m {_LIGHT}",
        "yarn.app.mapreduce.am.command-opts": f"-Xmx384m {_LIGHT}",
        "yarn.app.mapreduce.am.resource.mb": "512",
        "mapreduce.map.memory.mb": "512",
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.jobhistory.http.policy": "HTTPS_ONLY",
        "mapreduce.jobhistory.address": "master.wt:10020",
        "mapreduce.jobhistory.webapp.https.address": "master.wt:19890",
        "mapreduce.jobhistory.principal": f"mapred/_HOST@{REALM}",
        "mapreduce.jobhistory.keytab": keytab,
        "mapreduce.jobhistory.move.interval-ms": "2000",
        "mapreduce.jobhistory.done-dir": "/history/done",
        "mapreduce.jobhistory.intermediate-done-dir": "/history/new",
    }
    stores = {
        f"ssl.{side}.{store}.{key}": value
        for side in ("server", "client")
        for store in ("keystore", "truststore")  # one self-signed certificate is both
        for key, value in (
            ("location", f"{folder}/tls.p12"),
            ("type", "PKCS12"),
            ("password", PASSWORD),
            ("keypassword", PASSWORD),
        )
    }
    scheduler = {
        "yarn.scheduler.capacity.root.queues": "default,etl",
        "yarn.scheduler.capacity.root.default.capacity": "70",
        "yarn.scheduler.capacity.root.etl.capacity": "30",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
    }
    for name, properties in {
        "core-site": core,
        "hdfs-site": hdfs,
        "yarn-site": yarn,
        "mapred-site": mapred,
        "ssl-server": stores,
        "ssl-client": stores,
        "capacity-scheduler": scheduler,
    }.items():
        (conf / f"{name}.xml").write_text(_site(properties))
        (conf / f"{name}.xml").chmod(0o640 if name.startswith("ssl-") else 0o644)
    (conf / "log4j.properties").write_text(
        "log4j.rootLogger=INFO,A\nlog4j.appender.A=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.A.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n\n"
    )


def _compile(cluster: SecureCluster) -> None:
    """The shuffle without libhadoop; see the comment of the class."""
    jars = ensure_shipped("hadoop-3.5")
    source = Path(__file__).parent / "java/org/apache/hadoop/io/SecureIOUtils.java"
    path = f"{jars.lib}/*:{jars.client_lib}/*"
    javac = [needed_javac(), "-nowarn", "-d", str(cluster.classes), "-cp", path, str(source)]
    subprocess.run(javac, check=True, timeout=60)


def _command(cluster: SecureCluster, name: str, *words: str) -> list[str]:
    """The command of a daemon; the configuration refers to its host as ``${wt.host}``."""
    host, main, _ = _SERVERS[name]
    java, *rest = cluster.java(main, *words, replaced=name == "nodemanager")
    return [java, f"-Dwt.host={host}", *rest]


def _start(cluster: SecureCluster, name: str) -> None:
    host = _SERVERS[name][0]
    with (cluster.folder / f"{name}.log").open("wb") as log:
        cluster.processes[name] = subprocess.Popen(
            [*cluster.within(host), *_command(cluster, name)],
            env=cluster.realm.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _wait(cluster: SecureCluster, *names: str, limit_s: float = 120) -> None:
    """Until each server listens on its web port."""
    deadline = time.monotonic() + limit_s
    for name in names:
        port = f":{_SERVERS[name][2]:04X} "
        process = cluster.processes[name]
        while not any(
            port in line and line.split()[3] == "0A"
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]
        ):
            log = (cluster.folder / f"{name}.log").read_text()
            assert process.poll() is None, f"{name}: {log[-3000:]}"
            assert time.monotonic() < deadline, f"{name} is not ready: {log[-3000:]}"
            time.sleep(0.1)


def _wait_for_worker(cluster: SecureCluster, limit_s: float = 60) -> None:
    """Until the NodeManager is registered: an earlier description has no YARN."""
    log, deadline = cluster.folder / "nodemanager.log", time.monotonic() + limit_s
    while "Registered with ResourceManager" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


_UNFINISHED = """
import sys
from pathlib import Path
from windtunnel.hosts.rest import Access, RestClient
client = RestClient(Access(ca_file=Path(sys.argv[1]), keytab=Path(sys.argv[2]),
                           principal="yarn/master.wt"))
states = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
found = client.get_json("https://master.wt:8090/ws/v1/cluster/apps", {"states": states})
print(*(app["id"] for app in (found["apps"] or {}).get("app", [])))
"""

_FOLDERS = """
import sys, time
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import Access, RestClient
from pathlib import Path
def put(folder, **params):
    for _ in range(300):
        try:
            return client.send("PUT", base + folder, params)
        except ClusterAccessError as error:
            if error.reason not in ("not ready", "safe mode"):
                raise
            time.sleep(0.2)
    raise SystemExit("the NameNode is not ready")
client = RestClient(Access(ca_file=Path(sys.argv[1]), keytab=Path(sys.argv[2]),
                           principal="hdfs/master.wt"))
base = "https://master.wt:9871/webhdfs/v1"
for folder, mode, owner in (("/", "755", "hdfs"), ("/tmp", "1777", "hdfs"),
    ("/user", "755", "hdfs"), ("/user/ann", "750", "ann"), ("/history", "755", "mapred"),
    ("/history/done", "770", "mapred"), ("/history/new", "1777", "mapred")):
    put(folder, op="MKDIRS")
    put(folder, op="SETPERMISSION", permission=mode)
    put(folder, op="SETOWNER", owner=owner, group="hadoop")
"""


def _folders(cluster: SecureCluster) -> None:
    program = [sys.executable, "-c", _FOLDERS]
    cluster.run("master", *program, str(cluster.ca_file), f"{cluster.folder}/master.keytab")


def _end(cluster: SecureCluster) -> None:
    for process in cluster.processes.values():
        process.terminate()
    for process in cluster.processes.values():
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
    for host in HOSTS:  # containers that outlived their NodeManager
        listed = subprocess.run(
            ["ip", "netns", "pids", cluster.namespace(host)],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        own = {str(os.getpid())}
        for pid in set(listed.stdout.split()) - own:
            with contextlib.suppress(OSError):
                if "krb5kdc" not in Path(f"/proc/{pid}/comm").read_text():
                    os.kill(int(pid), 9)
