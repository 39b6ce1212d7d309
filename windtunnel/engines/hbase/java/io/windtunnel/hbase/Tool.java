package io.windtunnel.hbase;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.Size;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What a workload does to its table beside reading and writing it. Results are lines that begin
 * with {@code windtunnel:}, each name=value.
 *
 * <pre>
 *   create TABLE REGIONS                  drop TABLE
 *   settle TABLE compact|flush            ycsb LEDGER WARM_UP_MS YCSB-OPTIONS...
 *   verify TABLE RECORDS FIELDS LENGTH LEDGER...
 *   spoil TABLE (NUMBER lost|altered|outdated)...
 * </pre>
 *
 * <p>{@code spoil} breaks records, by their numbers, on purpose: by it the tests see that
 * {@code verify} finds such a thing.
 */
public final class Tool {
  private static final long STEP_MS = 100;
  private static final int EXAMPLES = 3;

  private Tool() {}

  /** See the class. */
  public static void main(String[] words) throws Exception {
    String[] rest = Arrays.copyOfRange(words, 1, words.length);
    if (words[0].equals("ycsb")) {
      ycsb(rest);
      return;
    }
    try (Admin admin = Store.connect().getAdmin()) {
      TableName table = TableName.valueOf(rest[0]);
      switch (words[0]) {
        case "create" -> create(admin, table, Integer.parseInt(rest[1]));
        case "settle" -> settle(admin, table, rest[1].equals("compact"));
        case "verify" -> verify(table, Arrays.copyOfRange(rest, 1, rest.length));
        case "drop" -> drop(admin, table);
        case "spoil" -> {
          for (int i = 1; i < rest.length; i += 2) {
            spoil(table, Long.parseLong(rest[i]), rest[i + 1]);
          }
        }
        default -> throw new IllegalArgumentException(words[0]);
      }
    } finally {
      Store.connect().close();
    }
  }

  /** On the error stream: YCSB closes the other one when it has written its results. */
  private static void tell(String name, Object value) {
    System.err.println("windtunnel: " + name + "=" + value);
  }

  private static void create(Admin admin, TableName table, int regions) throws IOException {
    TableDescriptorBuilder made =
        TableDescriptorBuilder.newBuilder(table)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(Rows.FAMILY));
    if (regions == 1) {
      admin.createTable(made.build());
    } else {
      admin.createTable(made.build(), Rows.splits(regions));
    }
    tell("regions", admin.getRegions(table).size());
  }

  private static void drop(Admin admin, TableName table) throws IOException {
    if (admin.tableExists(table)) {
      admin.disableTable(table);
      admin.deleteTable(table);
    }
  }

  /** Bring what memory holds into files and, with {@code compact}, make one file of them. */
  private static void settle(Admin admin, TableName table, boolean compact)
      throws IOException, InterruptedException {
    admin.flush(table);
    if (compact) {
      admin.majorCompact(table);
      do {
        Thread.sleep(STEP_MS);
      } while (admin.getCompactionState(table) != CompactionState.NONE
          || files(regions(admin, table)) > 1);
    }
    Map<ServerName, List<RegionMetrics>> found = regions(admin, table);
    double bytes = 0;
    double memory = 0;
    int count = 0;
    for (List<RegionMetrics> held : found.values()) {
      for (RegionMetrics region : held) {
        bytes += region.getStoreFileSize().get(Size.Unit.BYTE);
        memory += region.getMemStoreSize().get(Size.Unit.BYTE);
        count++;
      }
    }
    tell("regions", count);
    tell("servers", found.size());
    tell("file_bytes", (long) bytes);
    tell("memory_bytes", (long) memory);
    tell("most_files", files(found));
  }

  /** The regions of a table by the server that holds them, as these servers tell. */
  private static Map<ServerName, List<RegionMetrics>> regions(Admin admin, TableName table)
      throws IOException {
    Map<ServerName, List<RegionMetrics>> found = new HashMap<>();
    for (ServerName server : admin.getRegionServers()) {
      try {
        List<RegionMetrics> held = admin.getRegionMetrics(server, table);
        if (!held.isEmpty()) {
          found.put(server, held);
        }
      } catch (NotServingRegionException gone) {
        continue;
      }
    }
    return found;
  }

  /** Files of the region that has most of them. */
  private static int files(Map<ServerName, List<RegionMetrics>> regions) {
    int most = 0;
    for (List<RegionMetrics> held : regions.values()) {
      for (RegionMetrics region : held) {
        most = Math.max(most, region.getStoreFileCount());
      }
    }
    return most;
  }

  /** Run YCSB and keep the ledger of its writes. YCSB ends this process itself. */
  private static void ycsb(String[] words) throws IOException, InterruptedException {
    Path ledger = Path.of(words[0]);
    String[] options = Arrays.copyOfRange(words, 2, words.length);
    WarmUp.run(Long.parseLong(words[1]), options);
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
    tell("rows_scanned", CheckedWorkload.SCANNED.get());
    tell("rows_scanned_wrong", CheckedWorkload.WRONG.get());
  }

  /** Read every row and hold it against what must be there. */
  private static void verify(TableName table, String[] words) throws IOException {
    long records = Long.parseLong(words[0]);
    List<String> fields = Rows.fields(Integer.parseInt(words[1]));
    int length = Integer.parseInt(words[2]);
    Map<String, long[]> writes = new HashMap<>();
    for (String file : Arrays.asList(words).subList(3, words.length)) {
      Ledger.read(Path.of(file), writes);
    }
    Set<String> absent = new HashSet<>();
    for (long number = 0; number < records; number++) {
      absent.add(Rows.key(number));
    }
    // written while the workload ran; where it was not acknowledged, the row may be there or not
    writes.forEach((key, found) -> maybe(absent, key, Ledger.certain(found)));
    long expected = absent.size();
    long rows = 0;
    long unsure = 0;
    Map<String, Long> wrong = new HashMap<>();
    List<String> examples = new ArrayList<>();
    Scan scan = new Scan().addFamily(Rows.FAMILY).setCaching(500).setCacheBlocks(false);
    try (ResultScanner scanner = Store.connect().getTable(table).getScanner(scan)) {
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        rows++;
        String key = Rows.text(row.getRow());
        boolean sure = absent.remove(key);
        boolean known = sure || writes.containsKey(key);
        unsure += known && !sure ? 1 : 0;
        String fault = known ? Rows.fault(row, fields, length) : "nobody wrote it";
        String kind = known ? "altered" : "unknown";
        if (fault == null && !current(row, writes.get(key))) {
          fault = "an acknowledged write is not in it";
          kind = "outdated";
        }
        if (fault != null) {
          wrong.merge(kind, 1L, Long::sum);
          examples.add(key + ": " + fault);
        }
        if (examples.size() > EXAMPLES) {
          examples.remove(EXAMPLES);
        }
      }
    }
    absent.stream().limit(EXAMPLES).forEach(key -> examples.add(key + ": lost"));
    tell("rows", rows);
    tell("expected", expected);
    tell("unsure", unsure);
    tell("lost", absent.size());
    for (String kind : List.of("altered", "outdated", "unknown")) {
      tell(kind, wrong.getOrDefault(kind, 0L));
    }
    examples.forEach(example -> tell("example", example));
  }

  private static void spoil(TableName table, long number, String how) throws IOException {
    byte[] key = Rows.bytes(Rows.key(number));
    try (Table rows = Store.connect().getTable(table)) {
      switch (how) {
        case "lost" -> rows.delete(new Delete(key));
        case "altered" ->
            rows.put(new Put(key).addColumn(Rows.FAMILY, Rows.bytes("field0"), Rows.bytes("?")));
        case "outdated" ->
            rows.put(new Put(key).addColumn(Rows.FAMILY, Rows.VERSION, Bytes.toBytes(1L)));
        default -> throw new IllegalArgumentException(how);
      }
    }
  }

  private static void maybe(Set<String> absent, String key, boolean certain) {
    if (certain) {
      absent.add(key);
    }
  }

  private static boolean current(Result row, long[] writes) {
    byte[] version = row.getValue(Rows.FAMILY, Rows.VERSION);
    return version != null && writes != null && Ledger.allows(writes, Bytes.toLong(version));
  }
}
