package io.windtunnel.storage;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Where a check runs: a folder of its own, and two clients that share no state. */
record Place(FileSystem files, FileSystem other, Path folder) {
  Path path(String name) {
    return new Path(folder, name);
  }

  Path write(String name, String text) throws IOException {
    Path path = path(name);
    try (FSDataOutputStream out = files.create(path, true)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return path;
  }

  String read(Path path) throws IOException {
    return read(files, path);
  }

  /** What the other client reads. */
  String readElsewhere(Path path) throws IOException {
    return read(other, path);
  }

  boolean lists(String name) throws IOException {
    FileStatus[] found = other.listStatus(folder);
    return Arrays.stream(found).anyMatch(status -> status.getPath().getName().equals(name));
  }

  static String read(FileSystem files, Path path) throws IOException {
    try (FSDataInputStream in = files.open(path)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Class and first line of the message of what was thrown. */
  static String words(Throwable problem) {
    String message = String.valueOf(problem.getMessage()).split("\n", 2)[0];
    return problem.getClass().getSimpleName()
        + ": "
        + message.substring(0, Math.min(message.length(), 120));
  }
}
