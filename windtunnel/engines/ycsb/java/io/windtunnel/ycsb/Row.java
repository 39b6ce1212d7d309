package io.windtunnel.ycsb;

import java.util.Map;

/**
 * A row as a store gave it back.
 *
 * @param key its key
 * @param fields the values of its fields by name, all that there are
 * @param version the version of its last write; null if it has none or nobody asked for it
 */
public record Row(String key, Map<String, String> fields, Long version) {}
