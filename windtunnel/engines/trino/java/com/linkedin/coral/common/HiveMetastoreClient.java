package com.linkedin.coral.common;

/**
 * Stands in for a library of 29 MB that the connector asks about views of Hive, of which there are
 * none here: Java's verifier wants to see this one type of it.
 */
public interface HiveMetastoreClient {}
