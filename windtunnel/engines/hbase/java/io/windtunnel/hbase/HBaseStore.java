package io.windtunnel.hbase;

import io.windtunnel.ycsb.Row;
import io.windtunnel.ycsb.Rows;
import io.windtunnel.ycsb.Store;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

/** HBase under YCSB: a row is a row, its fields and the version are cells of one family. */
public final class HBaseStore extends Store {
  static final byte[] FAMILY = bytes("f");
  private static final byte[] VERSION = bytes(Rows.VERSION);
  private static Connection connection;

  private Table table;

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] data) {
    return new String(data, StandardCharsets.UTF_8);
  }

  static synchronized Connection connect() throws IOException {
    if (connection == null) {
      connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
    }
    return connection;
  }

  @Override
  protected void open(String name) throws IOException {
    table = connect().getTable(TableName.valueOf(name));
  }

  @Override
  protected void shut() throws IOException {
    table.close();
  }

  @Override
  protected Row get(String key, Set<String> fields) throws IOException {
    Get get = new Get(bytes(key));
    if (fields == null) {
      get.addFamily(FAMILY);
    } else {
      for (String field : fields) {
        get.addColumn(FAMILY, bytes(field));
      }
    }
    Result row = table.get(get);
    return row.isEmpty() ? null : row(row);
  }

  @Override
  protected List<Row> scan(String start, int count) throws IOException {
    Scan scan = new Scan().withStartRow(bytes(start)).setLimit(count).setCaching(count);
    List<Row> rows = new ArrayList<>(count);
    try (ResultScanner scanner = table.getScanner(scan.addFamily(FAMILY))) {
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        rows.add(row(row));
      }
    }
    return rows;
  }

  @Override
  protected void put(String key, Map<String, byte[]> fields, Long version, boolean isNew)
      throws IOException {
    Put put = new Put(bytes(key));
    fields.forEach((field, value) -> put.addColumn(FAMILY, bytes(field), value));
    if (version != null) {
      put.addColumn(FAMILY, VERSION, Bytes.toBytes(version));
    }
    table.put(put);
  }

  @Override
  protected void remove(String key) throws IOException {
    table.delete(new Delete(bytes(key)));
  }

  static Row row(Result found) {
    Map<String, String> fields = new HashMap<>();
    Long version = null;
    for (Cell cell : found.rawCells()) {
      if (CellUtil.matchingQualifier(cell, VERSION)) {
        version = Bytes.toLong(CellUtil.cloneValue(cell));
      } else {
        fields.put(text(CellUtil.cloneQualifier(cell)), text(CellUtil.cloneValue(cell)));
      }
    }
    return new Row(text(found.getRow()), fields, version);
  }
}
