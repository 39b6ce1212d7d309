package io.windtunnel.pool;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.LogManager;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/**
 * Brings this JVM under the CPU quota of its host at the first work of its task.
 *
 * <p>The start-up of a task does not shrink with the data of a scale model, so it runs without the
 * quota. MapTask and ReduceTask write a log message when their work starts.
 */
final class Quota extends AppenderSkeleton {
  private static final String[] WORK = {
    "org.apache.hadoop.mapred.MapTask", "org.apache.hadoop.mapred.ReduceTask"
  };
  private final List<String> files;
  private boolean applied;

  private Quota(List<String> files) {
    this.files = files;
  }

  /** Waits for the first work; without messages of this level, the quota applies at once. */
  static void atWork(List<String> files) throws IOException {
    Quota quota = new Quota(files);
    for (String name : WORK) {
      Logger logger = LogManager.getLogger(name);
      if (!logger.isInfoEnabled()) {
        quota.apply();
        return;
      }
      logger.addAppender(quota);
    }
  }

  private void apply() throws IOException {
    for (String file : files) {
      try (FileOutputStream out = new FileOutputStream(file)) {
        out.write("0".getBytes(StandardCharsets.US_ASCII)); // all threads of this process
      }
    }
    applied = true;
  }

  @Override
  protected synchronized void append(LoggingEvent event) {
    if (applied) {
      return;
    }
    try {
      apply();
    } catch (IOException error) {
      // work without the quota of its host would be a wrong result
      System.err.println("windtunnel: the CPU quota cannot be applied: " + error);
      Runtime.getRuntime().halt(1);
    }
  }

  @Override
  public boolean requiresLayout() {
    return false;
  }

  @Override
  public void close() {
    // nothing is open
  }
}
