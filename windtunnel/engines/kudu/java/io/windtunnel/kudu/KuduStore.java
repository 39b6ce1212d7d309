package io.windtunnel.kudu;

import io.windtunnel.ycsb.Row;
import io.windtunnel.ycsb.Rows;
import io.windtunnel.ycsb.Store;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kudu.ColumnSchema;
import org.apache.kudu.client.KuduClient;
import org.apache.kudu.client.KuduPredicate;
import org.apache.kudu.client.KuduScanner;
import org.apache.kudu.client.KuduSession;
import org.apache.kudu.client.KuduTable;
import org.apache.kudu.client.Operation;
import org.apache.kudu.client.OperationResponse;
import org.apache.kudu.client.PartialRow;
import org.apache.kudu.client.RowResult;
import org.apache.kudu.client.SessionConfiguration;

/** Kudu under YCSB: a row is a row, every field a column, the version one more. */
public final class KuduStore extends Store {
  static final String KEY = "key";

  private static KuduClient client;
  private static final Map<String, KuduTable> TABLES = new HashMap<>();

  private KuduTable table;
  private KuduSession session;
  private List<String> fields;

  static synchronized KuduClient connect() {
    if (client == null) {
      long millis = Long.getLong("windtunnel.kudu.timeout_ms");
      client =
          new KuduClient.KuduClientBuilder(System.getProperty("windtunnel.kudu.masters"))
              .defaultOperationTimeoutMs(millis)
              .defaultAdminOperationTimeoutMs(millis)
              .build();
    }
    return client;
  }

  /** One for all threads: it knows where the tablets are. */
  static synchronized KuduTable table(String name) throws IOException {
    KuduTable found = TABLES.get(name);
    if (found == null) {
      found = connect().openTable(name);
      TABLES.put(name, found);
    }
    return found;
  }

  @Override
  protected void open(String name) throws IOException {
    table = table(name);
    fields = new ArrayList<>();
    for (ColumnSchema column : table.getSchema().getColumns()) {
      if (!column.isKey() && !column.getName().equals(Rows.VERSION)) {
        fields.add(column.getName());
      }
    }
    session = connect().newSession();
    session.setFlushMode(SessionConfiguration.FlushMode.AUTO_FLUSH_SYNC);
  }

  @Override
  protected void shut() throws IOException {
    session.close();
  }

  @Override
  protected Row get(String key, Set<String> wanted) throws IOException {
    KuduPredicate same =
        KuduPredicate.newComparisonPredicate(
            table.getSchema().getColumn(KEY), KuduPredicate.ComparisonOp.EQUAL, key);
    KuduScanner scanner =
        connect()
            .newScannerBuilder(table)
            .setProjectedColumnNames(with(wanted == null ? fields : wanted))
            .addPredicate(same)
            .build();
    List<Row> found = rows(scanner, 1);
    return found.isEmpty() ? null : found.get(0);
  }

  @Override
  protected List<Row> scan(String start, int count) throws IOException {
    PartialRow from = table.getSchema().newPartialRow();
    from.addString(KEY, start);
    KuduScanner scanner =
        connect()
            .newScannerBuilder(table)
            .setProjectedColumnNames(with(fields))
            .lowerBound(from)
            .setFaultTolerant(true) // in the order of keys
            .limit(count)
            .build();
    return rows(scanner, count);
  }

  private static List<String> with(Iterable<String> wanted) {
    List<String> names = new ArrayList<>(List.of(KEY));
    wanted.forEach(names::add);
    return names;
  }

  private static List<Row> rows(KuduScanner scanner, int most) throws IOException {
    List<Row> found = new ArrayList<>();
    try {
      while (found.size() < most && scanner.hasMoreRows()) {
        for (RowResult row : scanner.nextRows()) {
          if (found.size() < most) {
            found.add(row(row));
          }
        }
      }
    } finally {
      scanner.close();
    }
    return found;
  }

  @Override
  protected void put(String key, Map<String, byte[]> values, Long version, boolean isNew)
      throws IOException {
    Operation operation = isNew ? table.newInsert() : table.newUpdate();
    PartialRow row = operation.getRow();
    row.addString(KEY, key);
    values.forEach(row::addStringUtf8);
    if (version != null) {
      row.addLong(Rows.VERSION, version);
    }
    apply(operation);
  }

  @Override
  protected void remove(String key) throws IOException {
    Operation operation = table.newDelete();
    operation.getRow().addString(KEY, key);
    apply(operation);
  }

  private void apply(Operation operation) throws IOException {
    OperationResponse answer = session.apply(operation);
    if (answer.hasRowError()) {
      throw new IOException(answer.getRowError().toString());
    }
  }

  static Row row(RowResult found) {
    Map<String, String> fields = new HashMap<>();
    Long version = null;
    List<ColumnSchema> columns = found.getSchema().getColumns();
    for (int i = 0; i < columns.size(); i++) {
      ColumnSchema column = columns.get(i);
      if (column.getName().equals(KEY) || found.isNull(i)) {
        continue;
      }
      if (column.getName().equals(Rows.VERSION)) {
        version = found.getLong(i);
      } else {
        fields.put(column.getName(), found.getString(i));
      }
    }
    return new Row(found.getString(KEY), fields, version);
  }
}
