package io.windtunnel.hbase;

import java.io.IOException;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/**
 * Reads before anything is counted: a client that has just started compiles its code and does not
 * know where regions are, and with a target rate the operations that wait meanwhile would be the
 * slowest of the run.
 */
final class WarmUp {
  private static final int ROWS_OF_A_SCAN = 20;

  private WarmUp() {}

  /** Connect, find all regions, and read records by chance for a while, with YCSB's options. */
  static void run(long millis, String[] options) throws IOException, InterruptedException {
    Properties asked = new Properties();
    int threads = 1;
    for (int i = 0; i + 1 < options.length; i++) {
      if (options[i].equals("-p")) {
        String[] pair = options[i + 1].split("=", 2);
        asked.setProperty(pair[0], pair[1]);
      } else if (options[i].equals("-threads")) {
        threads = Integer.parseInt(options[i + 1]);
      }
    }
    TableName table = TableName.valueOf(asked.getProperty("table"));
    Connection connection = Store.connect();
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      locator.getAllRegionLocations();
    }
    if (millis == 0) {
      return;
    }
    long records = Long.parseLong(asked.getProperty("recordcount"));
    boolean scans = Double.parseDouble(asked.getProperty("scanproportion", "0")) > 0;
    long end = System.nanoTime() + millis * 1_000_000;
    Thread[] readers = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      readers[i] = new Thread(() -> read(connection, table, records, scans, end));
      readers[i].start();
    }
    for (Thread reader : readers) {
      reader.join();
    }
  }

  private static void read(
      Connection connection, TableName name, long records, boolean scans, long end) {
    try (Table table = connection.getTable(name)) {
      while (System.nanoTime() < end) {
        byte[] key = Rows.bytes(Rows.key(ThreadLocalRandom.current().nextLong(records)));
        if (scans) {
          try (ResultScanner scanner =
              table.getScanner(new Scan().withStartRow(key).setLimit(ROWS_OF_A_SCAN))) {
            scanner.forEach(row -> {});
          }
        } else {
          table.get(new Get(key));
        }
      }
    } catch (IOException error) {
      System.err.println("warm-up: " + error);
    }
  }
}
