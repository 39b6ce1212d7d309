package io.windtunnel.ycsb;

import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** What is done with a store's tables beside reading and writing them; see Tool. */
public interface Tables extends AutoCloseable {
  /** One more binding, for a thread. */
  Store store();

  /** Make a table whose regions meet at some keys; returns how many regions it has. */
  int create(String table, List<String> fields, List<String> splits, int copies)
      throws IOException;

  /** Find out where all parts of a table lie. */
  void locate(String table) throws IOException;

  /** Show every row, with its version. */
  void each(String table, Consumer<Row> see) throws IOException;

  /** Remove a table if it is there. */
  void drop(String table) throws IOException;

  /** A command of the store's own; IllegalArgumentException if it has no such. */
  default void more(String command, String[] words) throws IOException, InterruptedException {
    throw new IllegalArgumentException(command);
  }

  @Override
  void close() throws IOException;
}
