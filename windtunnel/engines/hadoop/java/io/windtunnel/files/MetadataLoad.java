package io.windtunnel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Runs one kind of metadata operation on many small files, with several threads of one client.
 *
 * <p>Arguments: operation (create, stat, list, rename, delete), folder, files, files of each folder,
 * threads, bytes of each file, listings of each folder. It prints one line of JSON: the times of the
 * start and of the end in milliseconds since 1970, the number of operations, their latencies, and
 * what the file system lists afterwards.
 */
public final class MetadataLoad {
  private static final String OLD = "f";
  private static final String NEW = "r";

  private final FileSystem files;
  private final Path folder;
  private final int number;
  private final int perFolder;
  private final byte[] content;
  private final AtomicLong done = new AtomicLong();
  private final AtomicLong seen = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();

  private MetadataLoad(FileSystem files, String[] args) {
    this.files = files;
    this.folder = new Path(args[1]);
    this.number = Integer.parseInt(args[2]);
    this.perFolder = Integer.parseInt(args[3]);
    this.content = new byte[Integer.parseInt(args[5])];
  }

  /** One operation; its argument is the number of a file or of a folder. */
  private interface Operation {
    void on(int which) throws IOException;
  }

  public static void main(String[] args) throws Exception {
    FileSystem files = FileSystem.get(new Configuration());
    MetadataLoad load = new MetadataLoad(files, args);
    String name = args[0];
    int threads = Integer.parseInt(args[4]);
    int listings = Integer.parseInt(args[6]);
    if (name.equals("create")) {
      load.makeFolders();
    }
    boolean lists = name.equals("list");
    int operations = lists ? load.folders() * listings : load.number;
    Operation operation = load.operation(name);
    long[] took = new long[operations];
    long startedAt = System.currentTimeMillis();
    long began = System.nanoTime();
    load.run(operation, operations, threads, took);
    long elapsed = System.nanoTime() - began;
    load.print(name, startedAt, elapsed, took);
  }

  private int folders() {
    return (number + perFolder - 1) / perFolder;
  }

  private void makeFolders() throws IOException {
    for (int which = 0; which < folders(); which++) {
      files.mkdirs(folderOf(which));
    }
  }

  private Path folderOf(int which) {
    return new Path(folder, String.format("d%05d", which));
  }

  private Path file(String lead, int which) {
    return new Path(folderOf(which / perFolder), String.format("%s%08d", lead, which));
  }

  private Operation operation(String name) throws IOException {
    switch (name) {
      case "create":
        return which -> {
          try (FSDataOutputStream out = files.create(file(OLD, which), false)) {
            out.write(content);
          }
        };
      case "stat":
        return which -> see(files.getFileStatus(file(OLD, which)));
      case "list":
        return which -> {
          for (FileStatus status : files.listStatus(folderOf(which % folders()))) {
            see(status);
          }
        };
      case "rename":
        return which -> require(files.rename(file(OLD, which), file(NEW, which)), which);
      case "delete":
        return which -> require(files.delete(file(NEW, which), false), which);
      default:
        throw new IOException("no such operation: " + name);
    }
  }

  private void see(FileStatus status) {
    seen.incrementAndGet();
    bytes.addAndGet(status.getLen());
  }

  private void require(boolean done, int which) throws IOException {
    if (!done) {
      throw new IOException("the operation on file " + which + " returned false");
    }
  }

  private void run(Operation operation, int operations, int threads, long[] took) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Callable<Void>> parts = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      int first = thread;
      parts.add(
          () -> {
            for (int which = first; which < operations; which += threads) {
              long began = System.nanoTime();
              operation.on(which);
              took[which] = System.nanoTime() - began;
              done.incrementAndGet();
            }
            return null;
          });
    }
    try {
      for (Future<Void> part : pool.invokeAll(parts)) {
        part.get();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private void print(String name, long startedAt, long elapsed, long[] took) throws IOException {
    Arrays.sort(took);
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("operation", name);
    line.put("started_at_ms", startedAt);
    line.put("elapsed_ns", elapsed);
    line.put("operations", done.get());
    line.put("p50_ns", took[(took.length - 1) / 2]);
    line.put("p99_ns", took[(int) ((took.length - 1) * 0.99)]);
    line.put("files", seen.get());
    line.put("bytes", bytes.get());
    long old = 0;
    long renamed = 0;
    for (int which = 0; which < folders(); which++) {
      for (FileStatus status : files.listStatus(folderOf(which))) {
        String found = status.getPath().getName();
        old += found.startsWith(OLD) ? 1 : 0;
        renamed += found.startsWith(NEW) ? 1 : 0;
      }
    }
    line.put("old_names", old);
    line.put("new_names", renamed);
    System.out.println(new ObjectMapper().writeValueAsString(line));
  }
}
