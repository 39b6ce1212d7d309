package io.windtunnel.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * A Spark application that does the steps of a job description and tells what came of each.
 *
 * <p>The description is JSON: {@code settings} of Spark, and {@code steps}, each with a word
 * {@code do}:
 *
 * <ul>
 *   <li>{@code table}: give files a name; {@code name, format, schema, path, options}
 *   <li>{@code write}: write the rows of a query; {@code sql, format, path, options, partition}
 *   <li>{@code query}: run a query and give its rows; {@code name, sql}
 *   <li>{@code files}: list the files below a path with their checksums; {@code path}
 * </ul>
 *
 * <p>Each step that works prints a line: the word {@code windtunnel}, then a JSON object. Times
 * are seconds since 1970.
 */
public final class Driver {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String MARK = "windtunnel ";

  private final SparkSession spark;
  private final Counts counts = new Counts();

  private Driver(SparkSession spark) {
    this.spark = spark;
    spark.sparkContext().addSparkListener(counts);
  }

  /** Do the job that the file named by the first word describes. */
  public static void main(String[] words) throws Exception {
    JsonNode job = JSON.readTree(new File(words[0]));
    SparkConf settings = new SparkConf();
    job.get("settings").fields().forEachRemaining(s -> settings.set(s.getKey(), s.getValue().asText()));
    SparkSession spark = SparkSession.builder().config(settings).getOrCreate();
    try {
      ObjectNode ready = JSON.createObjectNode().put("did", "start");
      ready.put("jvm_started", ManagementFactory.getRuntimeMXBean().getStartTime() / 1e3);
      ready.put("ended", now()).put("spark", spark.version());
      ready.put("application", spark.sparkContext().applicationId());
      tell(ready);
      Driver driver = new Driver(spark);
      for (JsonNode step : job.get("steps")) {
        driver.step(step);
      }
    } finally {
      spark.stop();
    }
  }

  private void step(JsonNode step) throws Exception {
    String what = step.get("do").asText();
    ObjectNode told = JSON.createObjectNode().put("did", what);
    if (step.has("name")) {
      told.put("name", step.get("name").asText());
    }
    counts.forget(spark);
    told.put("started", now());
    switch (what) {
      case "table" -> table(step);
      case "write" -> write(step);
      case "query" -> query(step, told);
      case "files" -> files(step, told);
      default -> throw new IllegalArgumentException("no such step: " + what);
    }
    if (!told.has("ended")) {
      told.put("ended", now());
    }
    counts.addTo(told, spark);
    tell(told);
  }

  private void table(JsonNode step) {
    spark.read().format(step.get("format").asText()).schema(step.get("schema").asText())
        .options(texts(step.path("options"))).load(step.get("path").asText())
        .createOrReplaceTempView(step.get("name").asText());
  }

  private void write(JsonNode step) {
    DataFrameWriter<Row> writer = spark.sql(step.get("sql").asText()).write()
        .format(step.get("format").asText()).options(texts(step.path("options")));
    if (step.has("partition")) {
      writer = writer.partitionBy(step.get("partition").asText());
    }
    writer.save(step.get("path").asText());
  }

  private void query(JsonNode step, ObjectNode told) throws Exception {
    Dataset<Row> answer = spark.sql(step.get("sql").asText());
    List<Row> rows = answer.collectAsList();
    told.put("ended", now());
    ArrayNode given = told.putArray("rows");
    for (Row row : rows) {
      given.add(JSON.readTree(row.json()));
    }
    Plans.addScans(answer, told);
  }

  private void files(JsonNode step, ObjectNode told) throws Exception {
    Path given = new Path(step.get("path").asText());
    FileSystem system = given.getFileSystem(spark.sparkContext().hadoopConfiguration());
    Path root = system.makeQualified(given);
    ArrayNode listed = told.putArray("files");
    RemoteIterator<LocatedFileStatus> found = system.listFiles(root, true);
    while (found.hasNext()) {
      FileStatus file = found.next();
      FileChecksum sum = system.getFileChecksum(file.getPath());
      ObjectNode one = listed.addObject();
      one.put("path", root.toUri().relativize(file.getPath().toUri()).getPath());
      one.put("bytes", file.getLen()).put("replication", file.getReplication());
      one.put("checksum", sum == null ? "" : sum.toString());
    }
  }

  private static Map<String, String> texts(JsonNode object) {
    Map<String, String> found = new HashMap<>();
    object.fields().forEachRemaining(entry -> found.put(entry.getKey(), entry.getValue().asText()));
    return found;
  }

  private static double now() {
    return System.currentTimeMillis() / 1e3;
  }

  private static synchronized void tell(ObjectNode told) throws Exception {
    System.out.println(MARK + JSON.writeValueAsString(told));
    System.out.flush();
  }
}
