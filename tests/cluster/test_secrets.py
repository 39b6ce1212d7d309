"""Secrets in settings are masked, other values are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cluster.secrets import MASK, holds_secret, is_secret, masked, masked_text

PLANTED = "planted-secret"


@pytest.mark.parametrize(
    "name",
    [
        "ssl.server.keystore.password",
        "ssl.server.keystore.keypassword",
        "fs.s3a.secret.key",
        "fs.s3a.access.key",
        "fs.azure.account.key.mine.blob.core.windows.net",
        "javax.jdo.option.ConnectionPassword",
        "hadoop.security.credential.provider.path",
        "dfs.client.oauth2.refresh.token",
        "hadoop.http.authentication.signature.secret",
        "my.api-key",
        "db.passwd",
        "db_pwd",
        "yarn.client.private-key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.ssl.keyPassword",
        "fs.azure.sas.container.account",
        "ha.zookeeper.auth",
        "hadoop.zk.auth",
        "yarn.resourcemanager.zk-auth",
    ],
)
def test_secret_names(name: str) -> None:
    assert masked(name, PLANTED) == MASK


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dfs.block.access.token.enable", "true"),
        ("dfs.block.access.token.lifetime", "600"),
        ("dfs.namenode.delegation.token.renew-interval", "86400000"),
        ("ha.zookeeper.auth", "@/etc/hadoop/zk-auth.txt"),
        ("yarn.resourcemanager.zk-acl", "world:anyone:rwcda"),
        ("hadoop.zk.acl", "digest:rm:4V5hj2C7Bz9qCsDk1nm0pQrStUv=:rwcda,sasl:nn:rwcda"),
        ("yarn.resourcemanager.zk-address", "zk1:2181"),
        ("my.image", "store/hadoop@digest:sha256:0123"),
        ("mapreduce.task.io.sort.mb", "512"),
        ("mapreduce.map.java.opts", "-Xmx2g -XX:+UseG1GC"),
        ("fs.defaultFS", "hdfs://nn:8020"),
        ("mapreduce.partition.keypartitioner.options", "-k1"),
        ("map.sort.class", "org.apache.hadoop.util.QuickSort"),
    ],
)
def test_other_values_stay(name: str, value: str) -> None:
    assert masked(name, value) == value


@pytest.mark.parametrize(
    "text",
    [
        f"-Xmx1g -Dkey.password={PLANTED} -Da=b",
        f"jdbc:postgresql://db/x?user=a&password={PLANTED}&ssl=true",
        f"http://ann:{PLANTED}@proxy:3128",
        f"addauth digest:rm:{PLANTED}",
        f"digest:rm:x,digest:nn:{PLANTED}",
        f"AccountName=a;AccountKey={PLANTED};",
        f"password: '{PLANTED}'",
        f"-----BEGIN RSA PRIVATE KEY-----\n{PLANTED}\n-----END RSA PRIVATE KEY-----",
        f"Authorization: Negotiate {PLANTED}",
        f"https://store/x?sig={PLANTED}",
    ],
)
def test_secrets_inside_a_text(text: str) -> None:
    assert PLANTED not in masked_text(text)
    assert MASK in masked_text(text)


def test_an_access_key_of_aws() -> None:
    assert masked_text("id AKIAABCDEFGHIJKLMNOP x") == f"id {MASK} x"


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6, max_size=40))
def test_no_password_of_any_form_stays(value: str) -> None:
    assert not is_secret("a.password", "true")
    if value.lower() not in ("true", "false"):
        assert masked("a.password", value) == MASK
    assert f"password={value}" not in masked_text(f"-Dmy.password={value} -Xmx1g")


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("fs.s3a.secret.key", "planted", True),
        ("hadoop.security.credential.provider.path", "jceks://file/keys", False),
        ("hadoop.http.authentication.signature.secret.file", "/etc/secret", False),
        ("fs.s3a.aws.credentials.provider", "org.example.Provider", False),
        ("dfs.block.access.token.enable", "true", False),
    ],
)
def test_the_place_of_a_secret_is_none(name: str, value: str, secret: bool) -> None:
    assert holds_secret(name, value) is secret
