package io.windtunnel.ycsb;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * A store under YCSB, every write of which is noted in the ledger; one object for each thread. A
 * binding opens its one connection for all of them at the first call, before anything is timed,
 * and throws where the store did not do, or did not acknowledge, what it was asked for.
 */
public abstract class Store extends DB {
  private static final int ERRORS_TOLD = 10;
  private static final int LONGEST = 300; // some tell their whole history

  /** All threads of this process write into it. */
  static final Ledger LEDGER = new Ledger();

  /** Reads that found no row where the write of it had failed. */
  static final AtomicLong EXCUSED = new AtomicLong();

  /** The last scan of a thread; the workload looks at it once it was timed. */
  static final ThreadLocal<Scan> SCANNED = new ThreadLocal<>();

  /** What a scan was asked for, and what it gave. */
  record Scan(String start, int count, List<Row> rows) {}

  private static final AtomicInteger ERRORS = new AtomicInteger();

  /** Begin with a table. */
  protected abstract void open(String table) throws IOException;

  /** Be done with it. */
  protected abstract void shut() throws IOException;

  /** The row of a key with some fields, or (null) all of them; null if there is none. */
  protected abstract Row get(String key, Set<String> fields) throws IOException;

  /** The first rows, in the order of keys, from a key on. */
  protected abstract List<Row> scan(String start, int count) throws IOException;

  /** Write fields and, if it is not null, the version into one row, all or nothing. */
  protected abstract void put(String key, Map<String, byte[]> fields, Long version, boolean isNew)
      throws IOException;

  /** Remove a row. */
  protected abstract void remove(String key) throws IOException;

  @Override
  public void init() throws DBException {
    try {
      open(getProperties().getProperty("table"));
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      shut();
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public Status read(
      String name, String key, Set<String> fields, Map<String, ByteIterator> result) {
    Row row;
    try {
      row = get(key, fields);
    } catch (IOException error) {
      return told("read", error);
    }
    if (row == null) {
      if (LEDGER.unsure(key)) {
        EXCUSED.incrementAndGet();
      }
      return Status.NOT_FOUND;
    }
    fill(row, result);
    if (fields != null && result.size() < fields.size()) {
      // YCSB compares what it gets with what it wrote, and would not miss a field
      for (String field : fields) {
        result.putIfAbsent(field, new StringByteIterator("absent"));
      }
    }
    return Status.OK;
  }

  @Override
  public Status scan(
      String name,
      String start,
      int count,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    List<Row> rows;
    try {
      rows = scan(start, count);
    } catch (IOException error) {
      return told("scan", error);
    }
    for (Row row : rows) {
      HashMap<String, ByteIterator> cells = new HashMap<>();
      fill(row, cells);
      result.add(cells);
    }
    SCANNED.set(new Scan(start, count, rows));
    return Status.OK;
  }

  @Override
  public Status update(String name, String key, Map<String, ByteIterator> values) {
    return write("update", key, values, false);
  }

  @Override
  public Status insert(String name, String key, Map<String, ByteIterator> values) {
    return write("insert", key, values, true);
  }

  @Override
  public Status delete(String name, String key) {
    try {
      remove(key);
      return Status.OK;
    } catch (IOException error) {
      return told("delete", error);
    }
  }

  private Status write(String what, String key, Map<String, ByteIterator> values, boolean isNew) {
    Map<String, byte[]> fields = new HashMap<>();
    values.forEach((field, value) -> fields.put(field, value.toArray()));
    long version = LEDGER.begin();
    try {
      put(key, fields, version, isNew);
    } catch (IOException error) {
      LEDGER.end(key, version, false);
      return told(what, error);
    }
    LEDGER.end(key, version, true);
    return Status.OK;
  }

  private static void fill(Row row, Map<String, ByteIterator> result) {
    row.fields().forEach((field, value) -> result.put(field, new StringByteIterator(value)));
  }

  private static Status told(String what, IOException error) {
    if (ERRORS.incrementAndGet() <= ERRORS_TOLD) {
      String why = error.toString();
      System.err.println(what + " failed: " + why.substring(0, Math.min(LONGEST, why.length())));
    }
    return Status.ERROR;
  }
}
