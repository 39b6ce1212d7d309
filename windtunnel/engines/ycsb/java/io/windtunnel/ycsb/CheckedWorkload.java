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

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    fields = Rows.fields(Integer.parseInt(properties.getProperty("fieldcount")));
    length = Integer.parseInt(properties.getProperty("fieldlength"));
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
    List<Row> rows = Store.SCANNED.get();
    if (rows != null) {
      Store.SCANNED.remove();
      look(rows);
    }
    return more;
  }

  private static void ended() {
    LAST.lazySet(System.currentTimeMillis());
  }

  private void look(List<Row> rows) {
    String before = null;
    for (Row row : rows) {
      SCANNED.incrementAndGet();
      String fault = Rows.fault(row, fields, length);
      if (before != null && before.compareTo(row.key()) >= 0) {
        fault = "out of order";
      }
      before = row.key();
      if (fault != null && WRONG.incrementAndGet() == 1) {
        System.err.println("scan: " + row.key() + ": " + fault);
      }
    }
  }
}
