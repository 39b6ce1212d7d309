package io.windtunnel.ycsb;

import java.io.IOException;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Reads before anything is counted: a client that has just started compiles its code and does not
 * know where regions are, and with a target rate the operations that wait meanwhile would be the
 * slowest of the run.
 */
final class WarmUp {
  private static final int ROWS_OF_A_SCAN = 20;

  private WarmUp() {}

  /** Connect, find all regions, and read records by chance for a while, with YCSB's options. */
  static void run(Tables tables, long millis, String[] options)
      throws IOException, InterruptedException {
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
    String table = asked.getProperty("table");
    tables.locate(table);
    if (millis == 0) {
      return;
    }
    long records = Long.parseLong(asked.getProperty("recordcount"));
    boolean scans = Double.parseDouble(asked.getProperty("scanproportion", "0")) > 0;
    long end = System.nanoTime() + millis * 1_000_000;
    Thread[] readers = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      readers[i] = new Thread(() -> read(tables.store(), table, records, scans, end));
      readers[i].start();
    }
    for (Thread reader : readers) {
      reader.join();
    }
  }

  private static void read(Store store, String table, long records, boolean scans, long end) {
    try {
      store.open(table);
      while (System.nanoTime() < end) {
        String key = Rows.key(ThreadLocalRandom.current().nextLong(records));
        if (scans) {
          store.scan(key, ROWS_OF_A_SCAN);
        } else {
          store.get(key, null);
        }
      }
      store.shut();
    } catch (IOException error) {
      System.err.println("warm-up: " + error);
    }
  }
}
