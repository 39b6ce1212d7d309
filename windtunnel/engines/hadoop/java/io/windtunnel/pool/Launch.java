package io.windtunnel.pool;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The launch of a container: the command, environment and folder of the process that waits. */
final class Launch {
  /** System properties that differ between the containers of a job; a running JVM can set them. */
  private static final List<String> SET_LATER =
      List.of("-Djava.io.tmpdir=", "-Dlog4j.", "-Dyarn.app.", "-Dhadoop.root.", "-Dhadoop.metrics.");

  /** Options that have their value in the next word. */
  private static final List<String> WITH_VALUE =
      List.of(
          "--add-exports", "--add-modules", "--add-opens", "--add-reads", "--limit-modules",
          "--module-path", "-p", "--patch-module", "--upgrade-module-path");

  /** Variables that a process reads only at its start; a waiting JVM had none of them. */
  private static final List<String> AT_START =
      List.of(
          "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "LD_PRELOAD", "LC_ALL",
          "LC_CTYPE", "GLIBC_TUNABLES");

  /** Variables that a process reads only at its start; a waiting JVM has those of its keeper. */
  private static final List<String> OF_KEEPER = List.of("LANG", "TZ", "MALLOC_ARENA_MAX");

  private static final String LIBRARIES = "LD_LIBRARY_PATH";

  final long pid;
  final List<String> options = new ArrayList<>();
  final List<String> arguments = new ArrayList<>();
  final Map<String, String> environment = new LinkedHashMap<>();
  String classPath = "";
  String mainClass = "";

  private Launch(long pid) {
    this.pid = pid;
  }

  /** The launch that a process waits for; IOException if the process has ended. */
  static Launch of(long pid) throws IOException {
    Launch launch = new Launch(pid);
    Path process = Path.of("/proc", Long.toString(pid));
    // the interpreter and the script come before the arguments of the script
    List<String> command = strings(process.resolve("cmdline"));
    launch.parse(command.subList(Math.min(2, command.size()), command.size()));
    for (String entry : strings(process.resolve("environ"))) {
      int equals = entry.indexOf('=');
      if (equals > 0) {
        launch.environment.put(entry.substring(0, equals), entry.substring(equals + 1));
      }
    }
    if (launch.classPath.isEmpty()) { // as java does without the option
      launch.classPath = launch.environment.getOrDefault("CLASSPATH", "");
    }
    return launch;
  }

  private void parse(List<String> words) {
    for (int i = 0; i < words.size(); i++) {
      String word = words.get(i);
      if (word.equals("-cp") || word.equals("-classpath") || word.equals("--class-path")) {
        classPath = i + 1 < words.size() ? words.get(++i) : "";
      } else if (word.startsWith("-")) {
        options.add(word);
        if (WITH_VALUE.contains(word) && i + 1 < words.size()) {
          options.add(words.get(++i));
        }
      } else {
        mainClass = word;
        arguments.addAll(words.subList(i + 1, words.size()));
        return;
      }
    }
  }

  /** What a waiting JVM must have in common with this launch. */
  List<String> key() {
    List<String> key = new ArrayList<>(options);
    key.removeIf(option -> SET_LATER.stream().anyMatch(option::startsWith));
    key.add(mainClass);
    for (String name : AT_START) {
      String value = environment.getOrDefault(name, "");
      if (!value.isEmpty()) {
        key.add(name + "=" + value);
      }
    }
    for (String name : OF_KEEPER) {
      String value = environment.getOrDefault(name, "");
      if (!value.equals(System.getenv().getOrDefault(name, ""))) {
        key.add(name + "=" + value);
      }
    }
    String libraries = libraries();
    if (!libraries.isEmpty()) {
      key.add(LIBRARIES + "=" + libraries);
    }
    return key;
  }

  /** The folders with libraries that a waiting JVM does not have: all but that of the container. */
  private String libraries() {
    List<String> found = new ArrayList<>();
    for (String name : environment.getOrDefault(LIBRARIES, "").split(":")) {
      boolean own = name.isEmpty() || folder().resolve(name).normalize().equals(folder().normalize());
      if (!own && Files.isDirectory(folder().resolve(name))) {
        found.add(name);
      }
    }
    return String.join(":", found);
  }

  /** The folder in which the process was started. */
  Path folder() {
    return Path.of(environment.getOrDefault("PWD", "."));
  }

  private static List<String> strings(Path file) throws IOException {
    String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    List<String> found = new ArrayList<>();
    int start = 0;
    for (int end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0', start)) {
      found.add(text.substring(start, end));
      start = end + 1;
    }
    return found;
  }
}
