package io.windtunnel.ycsb;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import site.ycsb.DB;
import site.ycsb.WorkloadException;
import site.ycsb.workloads.CoreWorkload;

/** YCSB's core workload, which checks what it reads, and here what it scans as well. */
public final class CheckedWorkload extends CoreWorkload {
  static final AtomicLong SCANNED = new AtomicLong();
  static final AtomicLong WRONG = new AtomicLong();
  /** When operations began and ended, ms since 1970. */
  static final AtomicLong FIRST = new AtomicLong();
  static final AtomicLong LAST = new AtomicLong();

  private List<String> fields;
  private int length;
  /** The last key of those that were loaded: a scan may end early behind it. */
  private String last = "";

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    fields = Rows.fields(Integer.parseInt(properties.getProperty("fieldcount")));
    length = Integer.parseInt(properties.getProperty("fieldlength"));
    if (Double.parseDouble(properties.getProperty("scanproportion", "0")) > 0) {
      long records = Long.parseLong(properties.getProperty("recordcount"));
      for (long number = 0; number < records; number++) {
        String key = Rows.key(number);
        last = last.compareTo(key) < 0 ? key : last;
      }
    }
  }

  @Override
  public Object initThread(Properties properties, int thread, int threads)
      throws WorkloadException {
    FIRST.compareAndSet(0, System.currentTimeMillis());
    return super.initThread(properties, thread, threads);
  }

  @Override
  public boolean doInsert(DB db, Object state) {
    boolean more = super.doInsert(db, state);
    ended();
    return more;
  }

  @Override
  public boolean doTransaction(DB db, Object state) {
    boolean more = super.doTransaction(db, state);
    ended();
    Store.Scan scan = Store.SCANNED.get();
    if (scan != null) {
      Store.SCANNED.remove();
      look(scan);
    }
    return more;
  }

  private static void ended() {
    LAST.lazySet(System.currentTimeMillis());
  }

  private void look(Store.Scan scan) {
    String before = null;
    for (Row row : scan.rows()) {
      SCANNED.incrementAndGet();
      String fault = Rows.fault(row, fields, length);
      if (before != null && before.compareTo(row.key()) >= 0) {
        fault = "out of order";
      }
      before = row.key();
      wrong(row.key(), fault);
    }
    String first = scan.rows().isEmpty() ? null : scan.rows().get(0).key();
    if (!scan.start().equals(first) && !Store.LEDGER.unsure(scan.start())) {
      wrong(scan.start(), "a scan from it does not begin with it");
    }
    boolean more = before == null || before.compareTo(last) < 0;
    if (scan.rows().size() < scan.count() && more) {
      wrong(scan.start(), "a scan from it ended before its last row");
    }
  }

  private static void wrong(String key, String fault) {
    if (fault != null && WRONG.incrementAndGet() == 1) {
      System.err.println("scan: " + key + ": " + fault);
    }
  }
}
