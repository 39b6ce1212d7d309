package io.windtunnel.hbase;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import org.apache.hadoop.hbase.client.Result;
import site.ycsb.Utils;

/**
 * What a row of the table is: its key, the value that each field must have, and the version of
 * its last write. Keys and values are those that YCSB makes with {@code dataintegrity=true}.
 */
final class Rows {
  static final byte[] FAMILY = bytes("f");
  /** Column of the version; no field of YCSB has such a name. */
  static final byte[] VERSION = bytes("~v");
  /** Digits of a key: with all of them the keys lie evenly, so that equal regions hold as much. */
  static final int DIGITS = 19;

  private Rows() {}

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] data) {
    return new String(data, StandardCharsets.UTF_8);
  }

  /** The key of the record number {@code number}, counted from 0. */
  static String key(long number) {
    return "user" + padded(Utils.hash(number));
  }

  private static String padded(long number) {
    String digits = Long.toString(number);
    return "0".repeat(DIGITS - digits.length()) + digits;
  }

  /** Keys at which {@code regions} equal regions meet. */
  static byte[][] splits(int regions) {
    byte[][] found = new byte[regions - 1][];
    for (int i = 1; i < regions; i++) {
      found[i - 1] = bytes("user" + padded(Long.MAX_VALUE / regions * i));
    }
    return found;
  }

  static List<String> fields(int count) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("field" + i);
    }
    return names;
  }

  /** The value of a field: a chain of hashes that begins with key and name, cut to a length. */
  static String value(String key, String field, int length) {
    StringBuilder made = new StringBuilder(length + 12).append(key).append(':').append(field);
    int hashed = 0;
    int hash = 0;
    while (made.length() < length) {
      made.append(':');
      for (; hashed < made.length(); hashed++) {
        hash = 31 * hash + made.charAt(hashed);
      }
      made.append(hash);
    }
    made.setLength(length);
    return made.toString();
  }

  /** What is wrong with the fields of a row; null if nothing is. */
  static String fault(Result row, List<String> fields, int length) {
    String key = text(row.getRow());
    NavigableMap<byte[], byte[]> cells = row.getFamilyMap(FAMILY);
    int known = cells.containsKey(VERSION) ? 1 : 0;
    for (String field : fields) {
      byte[] value = cells.get(bytes(field));
      if (value == null) {
        return "no " + field;
      }
      if (!text(value).equals(value(key, field, length))) {
        return field + " altered";
      }
    }
    return cells.size() == fields.size() + known ? null : "more fields than were written";
  }
}
