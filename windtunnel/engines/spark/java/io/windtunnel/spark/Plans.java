package io.windtunnel.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import scala.jdk.javaapi.CollectionConverters;

/** What the plan of a query that has run says of the files that it read. */
final class Plans {
  private Plans() {}

  /** Add the files, bytes and partitions that the scans of a query had left after pruning. */
  static void addScans(Dataset<Row> answer, ObjectNode told) {
    long[] found = new long[4];
    visit(answer.queryExecution().executedPlan(), found);
    if (found[3] > 0) {
      told.putObject("scanned").put("files", found[0]).put("bytes", found[1]).put("partitions", found[2]);
    }
  }

  private static void visit(SparkPlan plan, long[] found) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      visit(adaptive.executedPlan(), found);
    } else if (plan instanceof QueryStageExec stage) {
      visit(stage.plan(), found);
    } else if (plan instanceof FileSourceScanExec scan) {
      found[0] += metric(scan, "numFiles");
      found[1] += metric(scan, "filesSize");
      found[2] += metric(scan, "numPartitions");
      found[3]++;
    }
    CollectionConverters.asJava(plan.children()).forEach(child -> visit(child, found));
  }

  private static long metric(SparkPlan plan, String name) {
    var metric = plan.metrics().get(name);
    return metric.isEmpty() ? 0 : metric.get().value();
  }
}
