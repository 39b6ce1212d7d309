"""Add the kernel parameters of this machine to the catalogue of known names.

    python tools/refresh_kernel_parameters.py

The names come from /proc/sys. Names of NICs become ``*``. Names that are already in the catalogue
stay: kernels differ, and a name is known if one of them has it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

TARGET = Path(__file__).parents[1] / "windtunnel/catalogue/audit/kernel_parameters.txt"
TOP = Path("/proc/sys")
_PER_NIC = re.compile(r"^(net\.ipv[46]\.(?:conf|neigh))\.(?!all\.|default\.)[^.]+\.")
_PER_DOMAIN = re.compile(r"^(kernel\.sched_domain)\..*")


def main() -> None:
    """Write the union of the catalogue and this machine."""
    known = {line for line in TARGET.read_text().splitlines() if line and line[0] != "#"}
    for folder, _, names in os.walk(TOP):
        for name in names:
            key = str((Path(folder) / name).relative_to(TOP))
            key = key.translate({ord("/"): ".", ord("."): "/"})
            if key.startswith("fs.binfmt_misc"):
                continue
            known.add(_PER_NIC.sub(r"\1.*.", _PER_DOMAIN.sub(r"\1.*", key)))
    head = [line for line in TARGET.read_text().splitlines() if line.startswith("#")]
    TARGET.write_text("\n".join([*head, *sorted(known)]) + "\n")
    print(f"{TARGET}: {len(known)} names")


if __name__ == "__main__":
    main()
