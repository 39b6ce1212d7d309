package io.windtunnel.pool;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/**
 * The work that a waiting JVM does before: it loads the classes of its kind and runs a small job.
 *
 * <p>The job runs inside this JVM with the settings of the treatment. It generates records, sorts
 * them, writes them to the cluster's file system, and reads them.
 */
final class WarmUp {
  private static final String FOLDER = "/windtunnel/pool/";
  private static final String SORT_MB = "mapreduce.task.io.sort.mb";
  private static final int RECORDS = Integer.getInteger("windtunnel.pool.records", 100_000);

  private WarmUp() {}

  static void run(String kind, Path settings, Path own) throws Exception {
    initialise(kind);
    Configuration configuration = new Configuration();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(settings, "*-site.xml")) {
      for (Path file : files) {
        configuration.addResource(file.toUri().toURL());
      }
    }
    if (kind.equals("task")) {
      runJob(configuration, own);
    } else {
      FileSystem.get(configuration).getFileStatus(new org.apache.hadoop.fs.Path("/"));
    }
  }

  /** Loads and initialises Hadoop's classes of a kind; initialising the JDK's would break them. */
  private static void initialise(String kind) throws IOException {
    ClassLoader loader = ClassLoader.getSystemClassLoader();
    try (InputStream file = WarmUp.class.getResourceAsStream(kind + ".classes.gz");
        InputStream text = new GZIPInputStream(file)) {
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(text, StandardCharsets.US_ASCII));
      for (String name = lines.readLine(); name != null; name = lines.readLine()) {
        try {
          Class.forName(name, name.startsWith("org.apache.hadoop."), loader);
        } catch (ClassNotFoundException | LinkageError missing) {
          // another release of Hadoop: the task loads what it needs
        }
      }
    }
  }

  private static void runJob(Configuration configuration, Path own) throws Exception {
    JobConf settings = new JobConf(configuration);
    settings.set("mapreduce.framework.name", "local");
    settings.set("hadoop.tmp.dir", own.toString());
    settings.set("mapreduce.cluster.local.dir", own.resolve("local").toString());
    settings.set("mapreduce.jobtracker.staging.root.dir", own.resolve("staging").toUri().toString());
    settings.setInt("dfs.replication", 1);
    settings.setInt("mapreduce.job.reduces", 1);
    // the heap can be that of a reduce task, which has no such buffer
    int half = (int) Math.min(Integer.MAX_VALUE, Runtime.getRuntime().maxMemory() >> 21);
    settings.setInt(SORT_MB, Math.max(1, Math.min(settings.getInt(SORT_MB, 100), half)));
    settings.setInt(Records.COUNT, RECORDS);
    FileSystem files = FileSystem.get(settings);
    org.apache.hadoop.fs.Path folder = new org.apache.hadoop.fs.Path(FOLDER + own.getFileName() + "-"
        + Long.toHexString(System.nanoTime()));
    try {
      Job job = Job.getInstance(settings, "warm-up");
      job.setInputFormatClass(Records.class);
      job.setMapperClass(Mapper.class);
      job.setReducerClass(Reducer.class);
      job.setMapOutputKeyClass(Text.class);
      job.setMapOutputValueClass(Text.class);
      job.setOutputKeyClass(Text.class);
      job.setOutputValueClass(Text.class);
      FileOutputFormat.setOutputPath(job, folder);
      if (!job.waitForCompletion(false)) {
        throw new IOException("the job of the warm-up has failed");
      }
      read(files, folder);
    } finally {
      files.delete(folder, true);
      FileUtil.fullyDelete(own.toFile());
    }
  }

  /** Reads the files of a folder; their names depend on the compression of the output. */
  private static void read(FileSystem files, org.apache.hadoop.fs.Path folder) throws IOException {
    byte[] buffer = new byte[1 << 16];
    for (FileStatus file : files.listStatus(folder)) {
      try (InputStream in = files.open(file.getPath())) {
        while (in.read(buffer) > 0) {
          continue;
        }
      }
    }
  }
}
