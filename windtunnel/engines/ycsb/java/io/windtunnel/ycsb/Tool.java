package io.windtunnel.ycsb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a workload does to its table beside reading and writing it. The first word is the class
 * of the store's Tables. Results are lines that begin with {@code windtunnel:}, each name=value.
 *
 * <pre>
 *   create TABLE REGIONS FIELDS COPIES    drop TABLE
 *   ycsb LEDGER WARM_UP_MS YCSB-OPTIONS...
 *   verify TABLE RECORDS FIELDS LENGTH LEDGER...
 *   spoil TABLE (NUMBER lost|altered|outdated)...
 * </pre>
 *
 * <p>{@code spoil} breaks records, by their numbers, on purpose: by it the tests see that
 * {@code verify} finds such a thing. Other words are the store's own.
 */
public final class Tool {
  private static final int EXAMPLES = 3;

  private Tool() {}

  /** See the class. */
  public static void main(String[] words) throws Exception {
    Tables tables = (Tables) Class.forName(words[0]).getDeclaredConstructor().newInstance();
    String command = words[1];
    String[] rest = Arrays.copyOfRange(words, 2, words.length);
    if (command.equals("ycsb")) {
      ycsb(tables, rest); // which ends this process itself
      return;
    }
    try (tables) {
      switch (command) {
        case "create" -> {
          List<String> fields = Rows.fields(Integer.parseInt(rest[2]));
          List<String> splits = Rows.splits(Integer.parseInt(rest[1]));
          tell("regions", tables.create(rest[0], fields, splits, Integer.parseInt(rest[3])));
        }
        case "verify" -> verify(tables, rest);
        case "drop" -> tables.drop(rest[0]);
        case "spoil" -> spoil(tables.store(), rest);
        default -> tables.more(command, rest);
      }
    }
  }

  /** Say a result; on the error stream: YCSB closes the other one when it has written its own. */
  public static void tell(String name, Object value) {
    System.err.println("windtunnel: " + name + "=" + value);
  }

  /** Run YCSB and keep the ledger of its writes. */
  private static void ycsb(Tables tables, String[] words) throws IOException, InterruptedException {
    Path ledger = Path.of(words[0]);
    String[] options = Arrays.copyOfRange(words, 2, words.length);
    WarmUp.run(tables, Long.parseLong(words[1]), options);
    tell("warm_ms", System.currentTimeMillis());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> finish(ledger)));
    site.ycsb.Client.main(options);
  }

  private static void finish(Path ledger) {
    try {
      Store.LEDGER.write(ledger);
    } catch (IOException error) {
      System.err.println("the ledger cannot be kept: " + error);
      return;
    }
    tell("first_ms", CheckedWorkload.FIRST.get());
    tell("last_ms", CheckedWorkload.LAST.get());
    tell("acknowledged", Store.LEDGER.acknowledged());
    tell("unacknowledged", Store.LEDGER.failed());
    tell("reads_excused", Store.EXCUSED.get());
    tell("rows_scanned", CheckedWorkload.SCANNED.get());
    tell("rows_scanned_wrong", CheckedWorkload.WRONG.get());
  }

  /** Read every row and hold it against what must be there. */
  private static void verify(Tables tables, String[] words) throws IOException {
    long records = Long.parseLong(words[1]);
    List<String> fields = Rows.fields(Integer.parseInt(words[2]));
    int length = Integer.parseInt(words[3]);
    Map<String, long[]> writes = new HashMap<>();
    for (String file : Arrays.asList(words).subList(4, words.length)) {
      Ledger.read(Path.of(file), writes);
    }
    Set<String> absent = new HashSet<>();
    for (long number = 0; number < records; number++) {
      absent.add(Rows.key(number));
    }
    // written while the workload ran; where it was not acknowledged, the row may be there or not
    writes.forEach((key, found) -> maybe(absent, key, Ledger.certain(found)));
    Map<String, Long> counts = new HashMap<>();
    List<String> examples = new ArrayList<>();
    tell("expected", absent.size());
    tables.each(
        words[0],
        row -> {
          count(counts, "rows");
          boolean sure = absent.remove(row.key());
          boolean known = sure || writes.containsKey(row.key());
          if (known && !sure && !Ledger.certain(writes.get(row.key()))) {
            count(counts, "unsure"); // a row that is there twice is not
          }
          String fault = known ? Rows.fault(row, fields, length) : "nobody wrote it";
          String kind = known ? "altered" : "unknown";
          if (fault == null && !current(row, writes.get(row.key()))) {
            fault = "an acknowledged write is not in it";
            kind = "outdated";
          }
          if (fault != null) {
            count(counts, kind);
            if (examples.size() < EXAMPLES) {
              examples.add(row.key() + ": " + fault);
            }
          }
        });
    absent.stream().limit(EXAMPLES).forEach(key -> examples.add(key + ": lost"));
    tell("lost", absent.size());
    for (String kind : List.of("rows", "unsure", "altered", "outdated", "unknown")) {
      tell(kind, counts.getOrDefault(kind, 0L));
    }
    examples.forEach(example -> tell("example", example));
  }

  private static void count(Map<String, Long> counts, String kind) {
    counts.merge(kind, 1L, Long::sum);
  }

  private static void spoil(Store store, String[] words) throws IOException {
    store.open(words[0]);
    for (int i = 1; i < words.length; i += 2) {
      String key = Rows.key(Long.parseLong(words[i]));
      byte[] wrong = "?".getBytes(StandardCharsets.UTF_8);
      switch (words[i + 1]) {
        case "lost" -> store.remove(key);
        case "altered" -> store.put(key, Map.of("field0", wrong), null, false);
        case "outdated" -> store.put(key, Map.of(), 1L, false);
        default -> throw new IllegalArgumentException(words[i + 1]);
      }
    }
    store.shut();
  }

  private static void maybe(Set<String> absent, String key, boolean certain) {
    if (certain) {
      absent.add(key);
    }
  }

  private static boolean current(Row row, long[] writes) {
    return row.version() != null && writes != null && Ledger.allows(writes, row.version());
  }
}
