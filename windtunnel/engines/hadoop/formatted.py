"""The files of a formatted NameNode, kept for later deployments.

``namenode -format`` starts a JVM for two CPU seconds to write four files of 1 KB. They depend on
the release, the settings of HDFS and the account; only the ids of the file system differ. The
first deployment formats and keeps the files; later ones write them with new ids
(docs/decisions/0036).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

from windtunnel import durable
from windtunnel.engines.artifacts import cache_root
from windtunnel.engines.hadoop.layout import NAME_FOLDER
from windtunnel.hosts.base import Host

_CURRENT = Path(NAME_FOLDER) / "current"
_VERSION = "VERSION"
_FILE_AT_MOST = 1 << 20  # of a file system without files
_OF_OTHERS = ("dfs.replication", "dfs.blocksize", "dfs.client.", "dfs.datanode.")


def kept_file(host: Host, settings: Mapping[str, str], version: str) -> Path:
    """The file with the formatted files of a release, settings and account.

    Addresses and paths differ between deployments and are not in these files, nor are the settings
    of clients and DataNodes.
    """
    used = {
        name: value
        for name, value in settings.items()
        if name.startswith("dfs.")
        and not name.startswith(_OF_OTHERS)
        and not name.endswith("address")
        and "/" not in value
    }
    made_of = json.dumps([version, host.account, used], sort_keys=True)
    key = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    return cache_root() / "formatted" / f"{key}.json"


def restore(host: Host, kept: Path) -> bool:
    """Write the kept files to the NameNode's folder, with new ids; False if there are none."""
    try:
        files = {
            name: base64.b64decode(text, validate=True)
            for name, text in json.loads(kept.read_text()).items()
        }
        files[_VERSION] = _with_new_ids(files[_VERSION].decode(), host.address).encode()
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    for name, data in files.items():
        host.write_bytes(host.root / _CURRENT / Path(name).name, data)
    return True


def keep(host: Host, kept: Path) -> None:
    """Keep the files that a format has just written; without room for them, nothing is kept."""
    with suppress(OSError):
        files = {}
        for path in sorted((host.root / _CURRENT).iterdir()):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _FILE_AT_MOST:
                return
            files[path.name] = base64.b64encode(path.read_bytes()).decode()
        kept.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(kept, json.dumps(files))


def _with_new_ids(version: str, address: str) -> str:
    """``VERSION`` with the ids that a format would have given now (NNStorage, Hadoop 3)."""
    now_ms, random = int(time.time() * 1000), SystemRandom()
    ids = {
        "namespaceID": str(random.randrange(1, 0x7FFFFFFF)),
        "clusterID": f"CID-{uuid.uuid4()}",
        "cTime": str(now_ms),
        "blockpoolID": f"BP-{random.randrange(1, 0x7FFFFFFF)}-{address}-{now_ms}",
    }
    for name, value in ids.items():
        version, count = re.subn(rf"(?m)^{name}=.*$", f"{name}={value}", version)
        if count != 1:
            raise ValueError(f"{name} is not in VERSION once")
    return version
