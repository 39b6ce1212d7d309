package io.windtunnel.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.sql.SparkSession;

/** What the tasks of a step counted: each task, and their sums. */
final class Counts extends SparkListener {
  private final List<SparkListenerTaskEnd> ended = new ArrayList<>();

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd task) {
    ended.add(task);
  }

  /** Forget what was counted until now. */
  void forget(SparkSession spark) throws Exception {
    spark.sparkContext().listenerBus().waitUntilEmpty();
    synchronized (this) {
      ended.clear();
    }
  }

  /** Add what was counted since; waits until all of it is known. */
  void addTo(ObjectNode told, SparkSession spark) throws Exception {
    spark.sparkContext().listenerBus().waitUntilEmpty();
    synchronized (this) {
      if (ended.isEmpty()) {
        return;
      }
      long read = 0, records = 0, written = 0, shuffled = 0, cpu = 0, run = 0, gc = 0, spilled = 0;
      Set<Integer> stages = new HashSet<>();
      ArrayNode tasks = told.putArray("tasks");
      for (SparkListenerTaskEnd task : ended) {
        stages.add(task.stageId());
        TaskMetrics counted = task.taskMetrics();
        add(tasks.addObject(), task, counted);
        if (counted == null) {
          continue;
        }
        read += counted.inputMetrics().bytesRead();
        records += counted.inputMetrics().recordsRead();
        written += counted.outputMetrics().bytesWritten();
        shuffled += counted.shuffleReadMetrics().totalBytesRead();
        cpu += counted.executorCpuTime();
        run += counted.executorRunTime();
        gc += counted.jvmGCTime();
        spilled += counted.diskBytesSpilled();
      }
      ObjectNode sums = told.putObject("counts");
      sums.put("bytes_read", read).put("records_read", records).put("bytes_written", written);
      sums.put("bytes_shuffled", shuffled).put("bytes_spilled", spilled);
      sums.put("cpu_s", cpu / 1e9).put("run_s", run / 1e3).put("gc_s", gc / 1e3);
      sums.put("stages", stages.size());
    }
  }

  private static void add(ObjectNode row, SparkListenerTaskEnd task, TaskMetrics counted) {
    TaskInfo info = task.taskInfo();
    row.put("stage", task.stageId()).put("task", info.taskId()).put("attempt", info.attemptNumber());
    row.put("host", info.host()).put("ok", info.successful()).put("speculative", info.speculative());
    row.put("locality", info.taskLocality().toString());
    row.put("started", info.launchTime() / 1e3).put("ended", info.finishTime() / 1e3);
    if (counted != null) {
      row.put("bytes_read", counted.inputMetrics().bytesRead());
      row.put("records_read", counted.inputMetrics().recordsRead());
      row.put("bytes_shuffled", counted.shuffleReadMetrics().totalBytesRead());
      row.put("records_shuffled", counted.shuffleReadMetrics().recordsRead());
      row.put("cpu_s", counted.executorCpuTime() / 1e9).put("gc_s", counted.jvmGCTime() / 1e3);
    }
  }
}
