package io.windtunnel.storage;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Tests what a file system promises, through Hadoop's {@link FileSystem}.
 *
 * <p>Argument: a folder that does not exist. Writes one JSON object per behaviour to standard output:
 * {@code check} (its id), {@code answer} (yes, no, differs) and {@code note}. The ids are those of
 * {@code behaviours.py}; {@code posix_program.py} has the same checks for mounted file systems.
 */
public final class StorageChecks {
  private static final int LIMIT_S = 45;

  /** One behaviour. What it throws means that the file system does not have it. */
  interface Check {
    Answer run(Place place) throws Exception;
  }

  private StorageChecks() {}

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt("ipc.client.connect.max.retries", 3);
    Path home = new Path(args[0]);
    Map<String, Check> checks = new LinkedHashMap<>();
    NameChecks.add(checks);
    DataChecks.add(checks);
    SharingChecks.add(checks);
    AttributeChecks.add(checks);
    ObjectMapper json = new ObjectMapper();
    ExecutorService threads = Executors.newCachedThreadPool(StorageChecks::daemon);
    FileSystem files = FileSystem.newInstance(conf);
    FileSystem other = FileSystem.newInstance(conf);
    try {
      for (Map.Entry<String, Check> entry : checks.entrySet()) {
        Path folder = files.makeQualified(new Path(home, entry.getKey()));
        files.mkdirs(folder);
        Place place = new Place(files, other, folder);
        Answer answer = answer(threads.submit(() -> entry.getValue().run(place)));
        Map<String, String> row = new LinkedHashMap<>();
        row.put("check", entry.getKey());
        row.put("answer", answer.word());
        row.put("note", answer.note());
        System.out.println(json.writeValueAsString(row));
      }
    } finally {
      files.delete(home, true);
    }
    System.out.flush();
    Runtime.getRuntime().halt(0); // a check that hangs must not keep the process
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }

  private static Answer answer(Future<Answer> running) throws InterruptedException {
    try {
      return running.get(LIMIT_S, TimeUnit.SECONDS);
    } catch (TimeoutException late) {
      running.cancel(true);
      return Answer.no("no answer within " + LIMIT_S + " s");
    } catch (ExecutionException failed) {
      return Answer.no(Place.words(failed.getCause()));
    }
  }
}
