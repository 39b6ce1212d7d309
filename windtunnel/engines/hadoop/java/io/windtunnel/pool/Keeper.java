package io.windtunnel.pool;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Keeps started JVMs of one host for the containers of its NodeManager.
 *
 * <p>Arguments: the folder of the pool. Files in it:
 *
 * <ul>
 *   <li>{@code order}: the wanted JVMs, written by Windtunnel. Each new order (its serial number
 *       differs) starts the missing JVMs and ends those of other kinds.
 *   <li>{@code status}: the waiting JVMs and the launches so far, written by this program.
 *   <li>{@code requests}: a named pipe to which a launch writes its process id.
 *   <li>{@code reply-PID}: a named pipe for the answers: {@code stock}; or {@code warm PID} with
 *       the process id of the JVM, and then its exit code.
 * </ul>
 */
public final class Keeper {
  private static final long POLL_MS = 50;
  private static final int AT_ONCE = 2;
  private static final String MAP_REDUCE = "org.apache.hadoop.map";
  private static final String KILLED = "137"; // 128 + SIGKILL

  /** A kind of JVM: what a launch must ask for, and the command that starts one. */
  private static final class Kind {
    final List<String> key = new ArrayList<>();
    final List<String> command = new ArrayList<>();
    final Deque<Process> waiting = new ArrayDeque<>();
    int wanted;
  }

  private final Path folder;
  private Map<String, Kind> kinds = new LinkedHashMap<>();
  private String serial = "";
  private boolean filled = true;
  private int warm;
  private int stock;
  private int failed;
  private int died; // while they waited, since the order

  private Keeper(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] args) throws Exception {
    Keeper keeper = new Keeper(Path.of(args[0]));
    Thread requests = new Thread(keeper::serve, "requests");
    requests.setDaemon(true);
    requests.start();
    keeper.writeStatus();
    FileTime seen = null;
    while (requests.isAlive()) {
      Path order = keeper.folder.resolve("order");
      FileTime now = Files.exists(order) ? Files.getLastModifiedTime(order) : null;
      if (now != null && !now.equals(seen)) {
        List<String> lines = Files.readAllLines(order);
        if (!lines.isEmpty() && lines.get(lines.size() - 1).equals("end")) { // else not whole yet
          seen = now;
          keeper.obey(lines.subList(0, lines.size() - 1));
        }
      }
      if (!keeper.fill()) {
        Thread.sleep(POLL_MS);
      }
    }
    System.exit(1);
  }

  /** Takes an order: lines {@code serial N}, {@code kind NAME COUNT}, {@code key}, {@code command}; then {@code end}. */
  private synchronized void obey(List<String> lines) throws IOException {
    Map<String, Kind> wanted = new LinkedHashMap<>();
    Kind kind = null;
    String number = serial;
    for (String line : lines) {
      String[] word = line.split(" ", 2);
      if (word[0].equals("serial")) {
        number = word[1];
      } else if (word[0].equals("kind")) {
        String[] named = word[1].split(" ");
        kind = new Kind();
        kind.wanted = Integer.parseInt(named[1]);
        wanted.put(named[0], kind);
      } else if (kind != null) {
        (word[0].equals("key") ? kind.key : kind.command).add(word[1]);
      }
    }
    if (number.equals(serial)) {
      return;
    }
    for (Map.Entry<String, Kind> old : kinds.entrySet()) {
      Kind same = wanted.get(old.getKey());
      boolean kept = same != null && same.command.equals(old.getValue().command);
      for (Process process : old.getValue().waiting) {
        if (kept && process.isAlive() && same.waiting.size() < same.wanted) {
          same.waiting.add(process);
        } else {
          process.destroyForcibly();
        }
      }
    }
    kinds = wanted;
    serial = number;
    failed = 0;
    died = 0;
    filled = false;
    writeStatus();
  }

  /** Starts a few of the missing JVMs; a failed one ends the order. Returns whether it started any. */
  private boolean fill() throws Exception {
    List<Kind> missing = new ArrayList<>();
    synchronized (this) {
      if (filled) {
        return false;
      }
      int wanted = 0;
      for (Kind kind : kinds.values()) {
        int before = kind.waiting.size();
        kind.waiting.removeIf(process -> !process.isAlive());
        died += before - kind.waiting.size();
        wanted += kind.wanted;
        for (int i = kind.waiting.size(); i < kind.wanted && missing.size() < AT_ONCE; i++) {
          missing.add(kind);
        }
      }
      if (died > wanted) {
        say("waiting JVMs end again and again: does the host have enough memory for them?");
        failed++;
        missing.clear();
      }
      if (missing.isEmpty()) {
        filled = true;
        writeStatus();
        return false;
      }
    }
    List<Process> started = new ArrayList<>();
    for (Kind kind : missing) {
      started.add(start(kind));
    }
    for (int i = 0; i < started.size(); i++) {
      Process process = warm(started.get(i));
      synchronized (this) {
        if (process != null) {
          missing.get(i).waiting.add(process);
        } else {
          failed++;
          filled = true;
        }
        writeStatus();
      }
    }
    return true;
  }

  private static Process start(Kind kind) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(kind.command);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    // A NodeManager passes no locale to a container. MapReduce sets the folder of the container as
    // the first one with libraries; this JVM will be in that folder.
    builder.environment().keySet().removeIf(name -> name.startsWith("LC_"));
    builder.environment().put("LD_LIBRARY_PATH", ".");
    return builder.start();
  }

  /** Waits until a JVM is warm; null if it has failed. */
  private static Process warm(Process process) throws IOException {
    BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()));
    for (String line = reader.readLine(); line != null; line = reader.readLine()) {
      if (line.equals(WarmStart.READY)) {
        return process;
      }
    }
    say("a JVM ended before it was warm");
    return null;
  }

  private void serve() {
    try (RandomAccessFile pipe = new RandomAccessFile(folder.resolve("requests").toFile(), "rw")) {
      while (true) {
        answer(Long.parseLong(pipe.readLine().trim()));
      }
    } catch (IOException | RuntimeException error) {
      say("no more requests: " + error);
    }
  }

  private void answer(long pid) {
    Path reply = folder.resolve("reply-" + pid);
    try {
      RandomAccessFile pipe = new RandomAccessFile(reply.toFile(), "rw");
      Files.delete(reply); // both ends are open
      Process process = null;
      Optional<PidFile> file = Optional.empty();
      try {
        Launch launch = Launch.of(pid);
        process = take(launch);
        if (process != null) {
          file = PidFile.of(launch);
          hand(launch, process, file, pipe);
          return;
        }
      } catch (IOException error) {
        say("launch " + pid + ": " + error);
        if (process != null && !giveUp(pid, process, file)) {
          finish(pipe, KILLED);
          return;
        }
      }
      finish(pipe, "stock");
    } catch (IOException error) {
      say("launch " + pid + ": " + error);
    }
  }

  /**
   * A JVM did not take its launch: the script starts a stock one, whose process the file named before.
   *
   * <p>Returns false if the container has ended: its NodeManager has removed the file, or has
   * killed the JVM, whose process id it had read.
   */
  private synchronized boolean giveUp(long pid, Process process, Optional<PidFile> file) {
    boolean killed = !process.isAlive();
    process.destroyForcibly();
    warm--;
    try {
      killed |= file.isPresent() && !file.get().restore();
      stock += killed ? 0 : 1;
      writeStatus();
    } catch (IOException error) {
      say("launch " + pid + ": " + error); // the script gets its answer nevertheless
    }
    return !killed;
  }

  private synchronized Process take(Launch launch) {
    List<String> key = launch.key();
    Process found = null;
    String reason = "no JVM of its kind";
    for (Kind kind : kinds.values()) {
      if (kind.key.equals(key)) {
        do {
          found = kind.waiting.poll();
        } while (found != null && !found.isAlive());
        if (found != null) {
          break; // another kind with this key keeps its JVMs
        }
        reason = "none left";
      }
    }
    if (found != null) {
      warm++;
    } else if (launch.mainClass.startsWith(MAP_REDUCE)) {
      stock++;
      say("stock start: " + reason + ": " + String.join(" ", key));
    }
    try {
      writeStatus();
    } catch (IOException error) {
      // the next status contains this start; the JVM was taken and must get its launch
      say("status: " + error);
    }
    return found;
  }

  private void hand(Launch launch, Process process, Optional<PidFile> file, RandomAccessFile pipe)
      throws IOException {
    if (file.isPresent()) {
      file.get().write(process.pid());
    }
    process.getOutputStream().write((launch.pid + "\n").getBytes(StandardCharsets.US_ASCII));
    process.getOutputStream().flush();
    pipe.write(("warm " + process.pid() + "\n").getBytes(StandardCharsets.US_ASCII));
    process.onExit().thenAccept(ended -> finish(pipe, Integer.toString(ended.exitValue())));
    ProcessHandle.of(launch.pid).ifPresentOrElse(
        stub -> stub.onExit().thenAccept(gone -> process.destroyForcibly()),
        process::destroyForcibly);
  }

  private static void finish(RandomAccessFile pipe, String answer) {
    try (pipe) {
      pipe.write((answer + "\n").getBytes(StandardCharsets.US_ASCII));
    } catch (IOException error) {
      say("no answer: " + error);
    }
  }

  private synchronized void writeStatus() throws IOException {
    StringBuilder text = new StringBuilder();
    text.append("serial ").append(serial).append('\n');
    text.append("filled ").append(filled).append('\n');
    text.append("warm ").append(warm).append('\n');
    text.append("stock ").append(stock).append('\n');
    text.append("failed ").append(failed).append('\n');
    for (Map.Entry<String, Kind> kind : kinds.entrySet()) {
      text.append("waiting ").append(kind.getKey());
      kind.getValue().waiting.forEach(process -> text.append(' ').append(process.pid()));
      text.append('\n');
    }
    Path made = folder.resolve("status.new");
    Files.writeString(made, text);
    Files.move(made, folder.resolve("status"), StandardCopyOption.ATOMIC_MOVE);
  }

  private static void say(String text) {
    System.err.println(text);
  }
}
