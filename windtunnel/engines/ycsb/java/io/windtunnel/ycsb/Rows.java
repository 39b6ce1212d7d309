package io.windtunnel.ycsb;

import java.util.ArrayList;
import java.util.List;
import site.ycsb.Utils;

/**
 * What a row of the table is: its key, the value that each field must have, and the version of
 * its last write. Keys and values are those that YCSB makes with {@code dataintegrity=true}.
 */
public final class Rows {
  /** Column of the version; no field of YCSB has such a name. */
  public static final String VERSION = "~v";
  /** Digits of a key: with all of them the keys lie evenly, so that equal regions hold as much. */
  static final int DIGITS = 19;

  private Rows() {}

  /** The key of the record number {@code number}, counted from 0. */
  public static String key(long number) {
    return "user" + padded(Utils.hash(number));
  }

  private static String padded(long number) {
    String digits = Long.toString(number);
    return "0".repeat(DIGITS - digits.length()) + digits;
  }

  /** Keys at which {@code regions} equal regions meet. */
  public static List<String> splits(int regions) {
    List<String> found = new ArrayList<>();
    for (int i = 1; i < regions; i++) {
      found.add("user" + padded(Long.MAX_VALUE / regions * i));
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
  static String fault(Row row, List<String> fields, int length) {
    for (String field : fields) {
      String value = row.fields().get(field);
      if (value == null) {
        return "no " + field;
      }
      if (!value.equals(value(row.key(), field, length))) {
        return field + " altered";
      }
    }
    return row.fields().size() == fields.size() ? null : "more fields than were written";
  }
}
