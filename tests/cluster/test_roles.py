"""The table of roles: what derives from it, and how an engine adds its own."""

from __future__ import annotations

import pytest

from windtunnel.cluster import ROLES, RoleEntry, apply_overrides, cluster_schema, load_cluster
from windtunnel.cluster.role_table import HADOOPS_WORDS, Roles
from windtunnel.cluster.roles import HADOOP
from windtunnel.cluster.settings import _properties, affects, engine_of
from windtunnel.errors import DescriptionError

CLUSTER = load_cluster("local-3")


@pytest.fixture
def roles() -> Roles:
    """A table with one engine, separate from the program's own."""
    made = Roles()
    made.add(
        "store",
        [
            RoleEntry("store-server", main="s", step=2, worker=True, needs=("store-master",)),
            RoleEntry("store-master", main="m", returns="restart", aliases=("smaster",)),
            RoleEntry("store-console"),
        ],
        settings=("store",),
    )
    return made


# -- the program's own table --


def test_every_role_that_is_started_says_how() -> None:
    assert ROLES.steps(HADOOP) == [
        ("namenode", "journalnode", "resourcemanager"),
        ("datanode", "nodemanager"),
        ("historyserver",),
    ]
    assert ROLES.workers(HADOOP) == ("datanode", "nodemanager")
    assert list(ROLES.main_classes("hbase")) == ["zookeeper", "hbase-master", "regionserver"]
    assert ROLES.main_classes("spark") == {}, "its roles can be described, and nobody starts them"


def test_what_can_be_killed_is_started_and_says_what_is_lost() -> None:
    for name in ROLES.killable():
        assert ROLES[name].main and ROLES[name].loss
    assert "historyserver" not in ROLES.killable()
    assert {"trino-worker", "trino-coordinator", "regionserver"} <= {*ROLES.killable()}
    assert [role.name for role in ROLES if role.within_phase] == [
        "trino-coordinator",
        "trino-worker",
    ]
    assert [role.name for role in ROLES if role.replicas] == [
        "namenode",
        "datanode",
        "mon",
        "osd",
        "mds",
        "rgw",
        "scm",
        "om",
        "ozone-datanode",
    ]


def test_daemons_start_masters_first_and_stop_the_other_way_round() -> None:
    daemons = ["trino-worker@w", "nodemanager@w", "other@w", "regionserver@w", "namenode@m"]
    daemons += ["hbase-master@m", "datanode@w", "resourcemanager@m"]
    wanted = ["namenode@m", "resourcemanager@m", "datanode@w", "nodemanager@w", "hbase-master@m"]
    wanted += ["regionserver@w", "trino-worker@w", "other@w"]
    assert ROLES.in_start_order(daemons) == wanted
    assert ROLES.in_stop_order(daemons) == wanted[::-1]


@pytest.mark.parametrize("line", ["3.4", "3.5"])
def test_no_engine_takes_hadoop_s_own_properties(line: str) -> None:
    assert {name.partition(".")[0] for name in _properties(line)} <= HADOOPS_WORDS


def test_the_first_word_of_a_property_names_its_engine() -> None:
    assert engine_of("hfile.block.cache.size") == "hbase"
    assert engine_of("hive.exec.parallel") == "hive", "an engine without daemons"
    assert engine_of("dfs.replication") is None
    assert affects("trino.query.max-memory") == "client"


# -- names in descriptions --


def test_the_older_name_of_hbase_s_master_is_accepted_and_becomes_the_one_name() -> None:
    old, new = (
        apply_overrides(CLUSTER, {"hosts.worker.extra_roles": {0: [name]}})
        for name in ("hmaster", "hbase-master")
    )
    assert old == new and old.fingerprint() == new.fingerprint()
    for name in ("hmaster", "hbase-master"):
        assert [node.name for node in old.nodes_with(name)] == ["worker-1"]


@pytest.mark.parametrize("given", ["datanod", 7, None, ["datanode"]])
def test_what_is_no_role_is_refused_with_those_there_are(given: object) -> None:
    with pytest.raises(DescriptionError, match=r"must be one of namenode, .*, management, not"):
        apply_overrides(CLUSTER, {"hosts.worker.roles": [given]})


def test_a_misspelt_role_is_answered_with_the_nearest() -> None:
    with pytest.raises(DescriptionError) as caught:
        apply_overrides(CLUSTER, {"hosts.worker.roles": ["datanod"]})
    assert caught.value.remedy == "did you mean 'datanode'?"


def test_the_json_schema_lists_the_names_and_marks_older_ones() -> None:
    items = cluster_schema()["$defs"]["HostClass"]["properties"]["roles"]["items"]
    now, older = items["anyOf"]
    assert now["enum"] == ROLES.names()
    assert older == {"enum": ["hmaster"], "type": "string", "deprecated": True}


# -- roles of an engine of another package --


def test_an_engine_adds_its_roles_with_order_settings_and_aliases(roles: Roles) -> None:
    assert list(roles.main_classes("store")) == ["store-master", "store-server"]
    assert roles["smaster"].name == "store-master" and roles["smaster"].engine == "store"
    assert roles.engine_of_setting("store.cache.size") == "store"
    assert roles.killable() == ["store-master"]
    assert roles.in_start_order(["store-server@a", "smaster@b"]) == ["smaster@b", "store-server@a"]


def test_a_lookup_loads_the_engines_that_add_their_roles(roles: Roles) -> None:
    entry = RoleEntry("echo", returns="restart", loss="no echo", main="org.example.Echo")
    roles.complete_with(lambda: roles.add("echo", [entry]))

    assert roles["echo"].engine == "echo"
    with pytest.raises(KeyError):
        roles["nothing"]


def test_the_same_roles_again_change_nothing(roles: Roles) -> None:
    before = list(roles)
    roles.add("store", [RoleEntry("store-console")], settings=("store",))
    assert list(roles) == before


@pytest.mark.parametrize(
    ("engine", "entry", "settings", "says"),
    [
        ("other", RoleEntry("store-master"), (), "'store-master' belongs to store"),
        ("other", RoleEntry("mine", aliases=("smaster",)), (), "'smaster' belongs to store"),
        ("other", RoleEntry("a@b"), (), "'a@b' is not a valid role"),
        ("other", RoleEntry("mine", needs=("nobody",)), (), "unknown role 'nobody'"),
        ("other", RoleEntry("mine", beside="nobody"), (), "unknown role 'nobody'"),
        ("other", RoleEntry("mine"), ("store",), "belongs to the engine store"),
        ("other", RoleEntry("mine"), ("dfs",), "are properties of Hadoop"),
        (None, RoleEntry("mine"), ("word",), "require an engine"),
    ],
)
def test_roles_that_clash_are_refused_and_leave_the_table_alone(
    roles: Roles, engine: str | None, entry: RoleEntry, settings: tuple[str, ...], says: str
) -> None:
    before = list(roles)
    with pytest.raises(ValueError, match=says):
        roles.add(engine, [entry], settings=settings)
    assert list(roles) == before


def test_an_added_role_can_be_described_placed_and_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_entries", "_aliases", "_words", "_ranks"):
        monkeypatch.setattr(ROLES, name, dict(getattr(ROLES, name)))
    monkeypatch.setattr(ROLES, "_engines", list(ROLES._engines))
    monkeypatch.setattr(ROLES, "_in_order", ROLES._in_order)
    server = RoleEntry("druid-server", main="D", worker=True, needs=("zookeeper",))
    ROLES.add("druid", [server], settings=("druid",))
    with pytest.raises(DescriptionError, match="no host has the role 'zookeeper'"):
        apply_overrides(CLUSTER, {"hosts.worker.extra_roles": {0: ["druid-server"]}})
    changes = {"hosts.worker.extra_roles": {0: ["druid-server", "zookeeper"]}}
    assert apply_overrides(CLUSTER, changes).role_counts()["druid-server"] == 1
    assert engine_of("druid.port") == "druid"
    assert "druid-server" in str(cluster_schema())
