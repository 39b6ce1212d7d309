package io.windtunnel.hbase;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** HBase as a store of YCSB: one connection for all threads, every write noted in the ledger. */
public final class Store extends DB {
  private static final int ERRORS_TOLD = 10;

  /** All threads of this process write into it. */
  static final Ledger LEDGER = new Ledger();

  private static final AtomicInteger ERRORS = new AtomicInteger();
  private static Connection connection;

  /** Rows of the last scan of a thread; the workload looks at them once it was timed. */
  static final ThreadLocal<List<Result>> SCANNED = new ThreadLocal<>();

  private Table table;

  /** The one connection, opened at the first call: before anything is timed. */
  static synchronized Connection connect() throws IOException {
    if (connection == null) {
      Configuration conf = HBaseConfiguration.create();
      connection = ConnectionFactory.createConnection(conf);
    }
    return connection;
  }

  @Override
  public void init() throws DBException {
    try {
      table = connect().getTable(TableName.valueOf(getProperties().getProperty("table")));
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      table.close();
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public Status read(
      String name, String key, Set<String> fields, Map<String, ByteIterator> result) {
    Get get = new Get(Rows.bytes(key));
    if (fields == null) {
      get.addFamily(Rows.FAMILY);
    } else {
      for (String field : fields) {
        get.addColumn(Rows.FAMILY, Rows.bytes(field));
      }
    }
    try {
      Result row = table.get(get);
      if (row.isEmpty()) {
        return Status.NOT_FOUND;
      }
      fill(row, result);
    } catch (IOException error) {
      return told("read", error);
    }
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
    Scan scan = new Scan().withStartRow(Rows.bytes(start)).setLimit(count).setCaching(count);
    scan.addFamily(Rows.FAMILY);
    List<Result> rows = new ArrayList<>(count);
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        HashMap<String, ByteIterator> cells = new HashMap<>();
        fill(row, cells);
        result.add(cells);
        rows.add(row);
      }
    } catch (IOException error) {
      return told("scan", error);
    }
    SCANNED.set(rows);
    return Status.OK;
  }

  @Override
  public Status update(String name, String key, Map<String, ByteIterator> values) {
    return write("update", key, values);
  }

  @Override
  public Status insert(String name, String key, Map<String, ByteIterator> values) {
    return write("insert", key, values);
  }

  @Override
  public Status delete(String name, String key) {
    try {
      table.delete(new Delete(Rows.bytes(key)));
      return Status.OK;
    } catch (IOException error) {
      return told("delete", error);
    }
  }

  private Status write(String what, String key, Map<String, ByteIterator> values) {
    Put put = new Put(Rows.bytes(key));
    for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
      put.addColumn(Rows.FAMILY, Rows.bytes(value.getKey()), value.getValue().toArray());
    }
    long version = LEDGER.begin();
    put.addColumn(Rows.FAMILY, Rows.VERSION, Bytes.toBytes(version));
    try {
      table.put(put);
    } catch (IOException error) {
      LEDGER.end(key, version, false);
      return told(what, error);
    }
    LEDGER.end(key, version, true);
    return Status.OK;
  }

  private static void fill(Result row, Map<String, ByteIterator> result) {
    for (Cell cell : row.rawCells()) {
      if (!CellUtil.matchingQualifier(cell, Rows.VERSION)) {
        String field = Rows.text(CellUtil.cloneQualifier(cell));
        result.put(field, new StringByteIterator(Rows.text(CellUtil.cloneValue(cell))));
      }
    }
  }

  private static Status told(String what, IOException error) {
    if (ERRORS.incrementAndGet() <= ERRORS_TOLD) {
      System.err.println(what + " failed: " + error);
    }
    return Status.ERROR;
  }
}
