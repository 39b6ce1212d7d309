"""The constants of the physics model: name, unit, meaning, prior, range and origin.

All constants are positive, and the model is fitted in their logarithms. ``prior`` is the value
before any data; ``spread`` is the standard deviation of its natural logarithm, so that 0.7 means
"within a factor of two". docs/physics.md has the equation in which each constant appears.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Constant:
    """One fitted constant. ``low`` and ``high`` bound every fit."""

    name: str
    unit: str
    meaning: str
    prior: float
    spread: float
    low: float
    high: float
    origin: str


CONSTANTS: tuple[Constant, ...] = (
    Constant(
        "cycles_generate",
        "Gcycles/GB",
        "CPU work of TeraGen for a byte of data, with one replica",
        40.0,
        0.7,
        2.0,
        1000.0,
        "Cisco 2014, CPU times of TeraGen",
    ),
    Constant(
        "cycles_sort",
        "Gcycles/GB",
        "CPU work of TeraSort for a byte of data",
        250.0,
        0.7,
        10.0,
        5000.0,
        "Cisco 2014, CPU times of TeraSort",
    ),
    Constant(
        "cycles_validate",
        "Gcycles/GB",
        "CPU work of a sequential read by a task (TeraValidate, TestDFSIO, scans)",
        18.0,
        0.7,
        0.5,
        500.0,
        "Cisco 2014, CPU times of TeraValidate",
    ),
    Constant(
        "cycles_count",
        "Gcycles/GB",
        "CPU work of WordCount for a byte of text",
        1000.0,
        1.0,
        50.0,
        50000.0,
        "Cisco 2014, CPU times of WordCount with Pig",
    ),
    Constant(
        "cycles_sample",
        "kcycles/sample",
        "CPU work of a sample of Pi",
        0.1,
        0.7,
        0.01,
        10.0,
        "VMware 2011, times of Pi",
    ),
    Constant(
        "smt_gain",
        "ratio",
        "work of a core with two threads beyond that of one thread",
        0.2,
        0.4,
        0.01,
        0.8,
        "VMware 2011 (Pi) and Cisco 2014 (CPU times with and without Hyper-Threading)",
    ),
    Constant(
        "memory_stall",
        "ratio",
        "inflation of CPU time by memory contention with 10 busy cores per socket at 3 GHz",
        0.1,
        0.7,
        0.001,
        1.0,
        "Cisco 2014, CPU times against cores and clock",
    ),
    Constant(
        "old_release",
        "ratio",
        "CPU work, and disk time of reads, of Hadoop 0.20 and 1.x relative to Hadoop 2 and later",
        1.5,
        0.4,
        0.3,
        5.0,
        "VMware 2011 against Cisco 2014",
    ),
    Constant(
        "disk_write",
        "MB/s",
        "write rate of one disk of 7200 rpm with all streams of HDFS",
        70.0,
        0.3,
        5.0,
        250.0,
        "VMware 2011, TestDFSIO and TeraGen",
    ),
    Constant(
        "disk_read",
        "MB/s",
        "read rate of one disk of 7200 rpm with all streams of HDFS",
        40.0,
        0.5,
        5.0,
        250.0,
        "VMware 2011, TestDFSIO and TeraValidate",
    ),
    Constant(
        "cached",
        "ratio",
        "part of a host's memory that holds recently written data",
        0.5,
        0.4,
        0.01,
        1.0,
        "Cisco 2014, TeraValidate of 1 and 2 TB",
    ),
    Constant(
        "coupling_cpu",
        "ratio",
        "coupling of CPU with input and output: times add as the norm of order 1 + 1/coupling",
        0.4,
        0.4,
        0.01,
        1.0,
        "Cisco 2014, TeraGen and TeraSort at 1, 5 and 10 Gb/s",
    ),
    Constant(
        "coupling_network",
        "ratio",
        "coupling of disks with the network, as a norm of the same form",
        0.5,
        0.4,
        0.01,
        4.0,
        "Cisco 2014, TeraGen at 1, 5 and 10 Gb/s",
    ),
    Constant(
        "waiting",
        "ratio",
        "time of a sorting task relative to its CPU time: waits for memory, disks and other tasks",
        1.3,
        0.3,
        1.0,
        4.0,
        "Cisco 2014, elapsed and CPU times of TeraSort",
    ),
    Constant(
        "shared_uplink",
        "ratio",
        "data rate of uplinks that several hosts share, relative to their sum",
        0.6,
        0.3,
        0.2,
        1.0,
        "Cisco 2014, TeraGen behind the fabric extender",
    ),
    Constant(
        "start",
        "s",
        "time of a job without work",
        15.0,
        0.7,
        0.5,
        120.0,
        "Cisco 2014, WordCount; VMware 2011, Pi",
    ),
    Constant(
        "task_start",
        "s",
        "time of a task before and after its work",
        3.0,
        0.7,
        0.1,
        30.0,
        "Cisco 2014, TeraSort with 7,500 and 15,000 map tasks",
    ),
    Constant(
        "guest_cpu",
        "ratio",
        "CPU work in virtual machines relative to hosts",
        1.0,
        0.1,
        0.5,
        2.0,
        "VMware 2011, Pi",
    ),
    Constant(
        "guest_disk",
        "ratio",
        "time of the disks in virtual machines relative to hosts",
        1.05,
        0.15,
        0.5,
        3.0,
        "VMware 2011, TestDFSIO",
    ),
    Constant(
        "guest_pinned",
        "ratio",
        "time of disks with virtual machines pinned to sockets, relative to one machine",
        0.9,
        0.15,
        0.3,
        2.0,
        "VMware 2011, TestDFSIO with one and two virtual machines",
    ),
)
INDEX: Mapping[str, int] = {one.name: place for place, one in enumerate(CONSTANTS)}


def priors() -> Vector:
    """Natural logarithms of the priors, in the order of :data:`CONSTANTS`."""
    return np.log([one.prior for one in CONSTANTS])


def spreads() -> Vector:
    """Standard deviations of the logarithms before any data."""
    return np.array([one.spread for one in CONSTANTS])


def bounds() -> tuple[Vector, Vector]:
    """Lower and upper bounds of the logarithms."""
    return np.log([one.low for one in CONSTANTS]), np.log([one.high for one in CONSTANTS])
