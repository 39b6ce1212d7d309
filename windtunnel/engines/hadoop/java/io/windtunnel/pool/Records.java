package io.windtunnel.pool;

import java.io.DataInput;
import java.io.DataOutput;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** The input of the warm-up: records of 100 bytes with random keys of 10, as those of TeraSort. */
public final class Records extends InputFormat<Text, Text> {
  static final String COUNT = "windtunnel.pool.records";

  @Override
  public List<InputSplit> getSplits(JobContext context) {
    return List.of(new Split());
  }

  @Override
  public RecordReader<Text, Text> createRecordReader(InputSplit split, TaskAttemptContext context) {
    return new Reader(context.getConfiguration().getInt(COUNT, 0));
  }

  /** One split without content. */
  public static final class Split extends InputSplit implements Writable {
    @Override
    public long getLength() {
      return 0;
    }

    @Override
    public String[] getLocations() {
      return new String[0];
    }

    @Override
    public void write(DataOutput out) {}

    @Override
    public void readFields(DataInput in) {}
  }

  private static final class Reader extends RecordReader<Text, Text> {
    private final Random random = new Random(1);
    private final Text key = new Text();
    private final Text value = new Text("v".repeat(90));
    private final byte[] bytes = new byte[10];
    private final int count;
    private int done;

    Reader(int count) {
      this.count = count;
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) {}

    @Override
    public boolean nextKeyValue() {
      random.nextBytes(bytes);
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) (' ' + (bytes[i] & 0x3f));
      }
      key.set(bytes);
      return done++ < count;
    }

    @Override
    public Text getCurrentKey() {
      return key;
    }

    @Override
    public Text getCurrentValue() {
      return value;
    }

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void close() {}
  }
}
