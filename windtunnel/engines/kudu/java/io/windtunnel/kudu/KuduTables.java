package io.windtunnel.kudu;

import io.windtunnel.ycsb.Row;
import io.windtunnel.ycsb.Rows;
import io.windtunnel.ycsb.Store;
import io.windtunnel.ycsb.Tables;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kudu.ColumnSchema;
import org.apache.kudu.Schema;
import org.apache.kudu.Type;
import org.apache.kudu.client.CreateTableOptions;
import org.apache.kudu.client.KuduScanner;
import org.apache.kudu.client.KuduTable;
import org.apache.kudu.client.PartialRow;
import org.apache.kudu.client.RowResult;

/** Kudu's tables: split by ranges of keys, as HBase's are. */
public final class KuduTables implements Tables {
  @Override
  public Store store() {
    return new KuduStore();
  }

  @Override
  public int create(String name, List<String> fields, List<String> splits, int copies)
      throws IOException {
    List<ColumnSchema> columns = new ArrayList<>();
    columns.add(new ColumnSchema.ColumnSchemaBuilder(KuduStore.KEY, Type.STRING).key(true).build());
    for (String field : fields) {
      columns.add(new ColumnSchema.ColumnSchemaBuilder(field, Type.STRING).nullable(true).build());
    }
    columns.add(
        new ColumnSchema.ColumnSchemaBuilder(Rows.VERSION, Type.INT64).nullable(true).build());
    Schema schema = new Schema(columns);
    CreateTableOptions options =
        new CreateTableOptions()
            .setRangePartitionColumns(List.of(KuduStore.KEY))
            .setNumReplicas(copies);
    for (String split : splits) {
      PartialRow row = schema.newPartialRow();
      row.addString(KuduStore.KEY, split);
      options.addSplitRow(row);
    }
    KuduStore.connect().createTable(name, schema, options);
    return splits.size() + 1;
  }

  @Override
  public void locate(String name) throws IOException {
    KuduStore.connect().newScanTokenBuilder(KuduStore.table(name)).build();
  }

  @Override
  public void each(String name, Consumer<Row> see) throws IOException {
    KuduTable table = KuduStore.table(name);
    KuduScanner scanner =
        KuduStore.connect()
            .newScannerBuilder(table)
            .setFaultTolerant(true) // no row twice, whatever happens meanwhile
            .cacheBlocks(false)
            .build();
    while (scanner.hasMoreRows()) {
      for (RowResult row : scanner.nextRows()) {
        see.accept(KuduStore.row(row));
      }
    }
  }

  @Override
  public void drop(String table) throws IOException {
    if (KuduStore.connect().tableExists(table)) {
      KuduStore.connect().deleteTable(table);
    }
  }

  @Override
  public void close() throws IOException {
    KuduStore.connect().close();
  }
}
