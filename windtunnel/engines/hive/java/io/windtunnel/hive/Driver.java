package io.windtunnel.hive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.Schema;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.MapRedStats;
import org.apache.hadoop.hive.ql.hooks.Entity;
import org.apache.hadoop.hive.ql.hooks.ReadEntity;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * One session of Hive that takes the statements of a job description and tells what came of each.
 *
 * <p>The description is JSON: {@code settings} of Hive and of its jobs, and {@code steps} with
 * {@code name} and {@code sql}. Each step that works prints a line: the word {@code windtunnel},
 * then a JSON object with its {@code name}, when it {@code started} and {@code ended} (seconds
 * since 1970), its {@code rows}, the {@code jobs} that it submitted, and how many
 * {@code partitions} its plan reads, where it had one.
 */
public final class Driver {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String MARK = "windtunnel ";

  private final HiveConf conf;
  private final SessionState session;

  private Driver(HiveConf conf, SessionState session) {
    this.conf = conf;
    this.session = session;
  }

  /** Take the statements of the file that the first word names. */
  public static void main(String[] words) throws Exception {
    JsonNode job = JSON.readTree(new File(words[0]));
    HiveConf conf = new HiveConf(Driver.class);
    job.get("settings").fields().forEachRemaining(s -> conf.set(s.getKey(), s.getValue().asText()));
    SessionState session = new SessionState(conf);
    session.initTxnMgr(conf);
    SessionState.start(session);
    try {
      Driver driver = new Driver(conf, session);
      for (JsonNode step : job.get("steps")) {
        tell(driver.take(step.get("name").asText(), step.get("sql").asText()));
      }
    } finally {
      session.close();
    }
  }

  private ObjectNode take(String name, String sql) throws Exception {
    Map<String, MapRedStats> jobs = new LinkedHashMap<>();
    session.setMapRedStats(jobs);
    ObjectNode told = JSON.createObjectNode().put("name", name).put("started", now());
    try (IDriver driver = DriverFactory.newDriver(conf)) {
      driver.compileAndRespond(sql);
      if (driver.getPlan() != null) { // which is gone after it ran
        told.put("partitions", driver.getPlan().getInputs().stream().map(ReadEntity::getType)
            .filter(type -> type == Entity.Type.PARTITION).count());
      }
      driver.run();
      Schema schema = driver.getSchema();
      List<String> lines = new ArrayList<>();
      if (schema != null && schema.getFieldSchemasSize() > 0) {
        for (List<String> some = new ArrayList<>(); driver.getResults(some); some.clear()) {
          lines.addAll(some);
        }
      }
      told.put("ended", now());
      ArrayNode rows = told.putArray("rows");
      for (String line : lines) {
        row(rows.addObject(), line.split("\t", -1), schema.getFieldSchemas());
      }
    }
    ArrayNode ids = told.putArray("jobs");
    session.getMapRedStats().values().forEach(stats -> ids.add(stats.getJobId()));
    return told;
  }

  private static void row(ObjectNode row, String[] values, List<FieldSchema> columns) {
    for (int i = 0; i < columns.size(); i++) {
      String name = columns.get(i).getName();
      if (values[i].equals("NULL")) {
        row.putNull(name);
        continue;
      }
      switch (columns.get(i).getType()) {
        case "int", "bigint" -> row.put(name, Long.parseLong(values[i]));
        case "double" -> row.put(name, Double.parseDouble(values[i]));
        default -> row.put(name, values[i]);
      }
    }
  }

  private static double now() {
    return System.currentTimeMillis() / 1e3;
  }

  private static void tell(ObjectNode told) throws Exception {
    System.out.println(MARK + JSON.writeValueAsString(told));
    System.out.flush();
  }
}
