package io.windtunnel.hbase;

import io.windtunnel.ycsb.Row;
import io.windtunnel.ycsb.Store;
import io.windtunnel.ycsb.Tables;
import io.windtunnel.ycsb.Tool;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.Size;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/**
 * HBase's tables. One command is its own: {@code settle TABLE compact|flush} brings what memory
 * holds into files and, with {@code compact}, makes one file of them for each region.
 */
public final class HBaseTables implements Tables {
  private static final long STEP_MS = 100;

  @Override
  public Store store() {
    return new HBaseStore();
  }

  /** Copies are those of the file system. */
  @Override
  public int create(String name, List<String> fields, List<String> splits, int copies)
      throws IOException {
    TableName table = TableName.valueOf(name);
    TableDescriptorBuilder made =
        TableDescriptorBuilder.newBuilder(table)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(HBaseStore.FAMILY));
    try (Admin admin = HBaseStore.connect().getAdmin()) {
      if (splits.isEmpty()) {
        admin.createTable(made.build());
      } else {
        admin.createTable(
            made.build(), splits.stream().map(HBaseStore::bytes).toArray(byte[][]::new));
      }
      return admin.getRegions(table).size();
    }
  }

  @Override
  public void locate(String table) throws IOException {
    try (RegionLocator locator =
        HBaseStore.connect().getRegionLocator(TableName.valueOf(table))) {
      locator.getAllRegionLocations();
    }
  }

  @Override
  public void each(String table, Consumer<Row> see) throws IOException {
    Scan scan =
        new Scan().addFamily(HBaseStore.FAMILY).setCaching(500).setCacheBlocks(false);
    try (ResultScanner scanner =
        HBaseStore.connect().getTable(TableName.valueOf(table)).getScanner(scan)) {
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        see.accept(HBaseStore.row(row));
      }
    }
  }

  @Override
  public void drop(String name) throws IOException {
    TableName table = TableName.valueOf(name);
    try (Admin admin = HBaseStore.connect().getAdmin()) {
      if (admin.tableExists(table)) {
        admin.disableTable(table);
        admin.deleteTable(table);
      }
    }
  }

  @Override
  public void more(String command, String[] words) throws IOException, InterruptedException {
    if (!command.equals("settle")) {
      throw new IllegalArgumentException(command);
    }
    try (Admin admin = HBaseStore.connect().getAdmin()) {
      settle(admin, TableName.valueOf(words[0]), words[1].equals("compact"));
    }
  }

  @Override
  public void close() throws IOException {
    HBaseStore.connect().close();
  }

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
    Tool.tell("regions", count);
    Tool.tell("servers", found.size());
    Tool.tell("file_bytes", (long) bytes);
    Tool.tell("memory_bytes", (long) memory);
    Tool.tell("most_files", files(found));
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
}
