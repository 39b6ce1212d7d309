package io.windtunnel.pool;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobalStorageStatistics;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.log4j.LogManager;
import org.apache.log4j.helpers.OptionConverter;

/** Makes this JVM what a new process of a launch would be. */
final class Become {
  private static final int WRITE_APPEND = 1 | 1024; // O_WRONLY | O_APPEND, open(2) on Linux
  private static final NativeLibrary C = NativeLibrary.getInstance("c");

  private Become() {}

  /**
   * Throws an exception if this Java has not the fields that {@link #launch} changes.
   *
   * <p>They are private, and their names differ between releases of Java.
   */
  static void check() throws Exception {
    environment();
    changeFolder(Path.of("").toAbsolutePath());
    classPath(ClassLoader.getSystemClassLoader());
  }

  /** Removes what the warm-up has left in Hadoop's static fields. */
  static void forget() throws Exception {
    FileSystem.closeAll();
    FileSystem.clearStatistics();
    GlobalStorageStatistics.INSTANCE.reset();
    UserGroupInformation.reset();
    while (!DefaultMetricsSystem.instance().shutdown()) { // it counts its users
      continue;
    }
    DefaultMetricsSystem.shutdown(); // also forgets the names of the sources
    ((Map<?, ?>) field(LocalDirAllocator.class, "contexts").get(null)).clear();
    // settings of HDFS's client, and file systems that a job may bring with it
    Class<?> context = Class.forName("org.apache.hadoop.hdfs.ClientContext");
    ((Map<?, ?>) field(context, "CACHES").get(null)).clear();
    field(FileSystem.class, "FILE_SYSTEMS_LOADED").setBoolean(null, false);
  }

  /** Takes the environment, folder, output files, properties and class path of a launch. */
  static void launch(Launch launch) throws Exception {
    redirect(launch.pid, 1);
    redirect(launch.pid, 2);
    setEnvironment(launch);
    changeFolder(launch.folder());
    for (String option : launch.options) {
      if (option.startsWith("-D")) {
        int equals = option.indexOf('=');
        String name = equals < 0 ? option.substring(2) : option.substring(2, equals);
        System.setProperty(name, equals < 0 ? "" : option.substring(equals + 1));
      }
    }
    extendClassPath(launch.classPath);
    startLogging();
  }

  private static void redirect(long pid, int number) throws IOException {
    int file = call("open", "/proc/" + pid + "/fd/" + number, WRITE_APPEND, 0);
    if (file < 0 || call("dup2", file, number) < 0) {
      throw new IOException("output " + number + " of process " + pid + " cannot be opened");
    }
    call("close", file);
  }

  private static int call(String name, Object... arguments) {
    return ((Function) C.getFunction(name)).invokeInt(arguments);
  }

  /** The environment that {@link System#getenv} reads. */
  @SuppressWarnings("unchecked")
  private static Map<String, String> environment() throws Exception {
    Class<?> type = Class.forName("java.lang.ProcessEnvironment");
    Object view = field(type, "theUnmodifiableEnvironment").get(null);
    Class<?> wrapper = Class.forName("java.util.Collections$UnmodifiableMap");
    return (Map<String, String>) field(wrapper, "m").get(view);
  }

  private static void setEnvironment(Launch launch) throws Exception {
    Map<String, String> environment = environment();
    for (String name : new ArrayList<>(environment.keySet())) {
      environment.remove(name);
    }
    environment.putAll(launch.environment);
    // Hadoop measures the CPU time and the memory of the process with this id
    environment.put("JVM_PID", Long.toString(ProcessHandle.current().pid()));
  }

  private static void changeFolder(Path folder) throws Exception {
    if (call("chdir", folder.toString()) != 0) {
      throw new IOException("no folder " + folder);
    }
    System.setProperty("user.dir", folder.toString());
    Object files = field(File.class, "FS", "fs").get(null); // fs: before Java 21
    field(files.getClass(), "userDir").set(files, folder.toString());
    Object paths = FileSystems.getDefault();
    Field before = field(paths.getClass().getSuperclass(), "defaultDirectory");
    before.set(paths, folder.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static void extendClassPath(String wanted) throws Exception {
    Set<String> known = new HashSet<>();
    Collections.addAll(known, System.getProperty("java.class.path").split(File.pathSeparator));
    ClassLoader loader = ClassLoader.getSystemClassLoader();
    Method append = classPath(loader);
    for (String entry : wanted.split(File.pathSeparator)) {
      for (String path : expanded(entry)) {
        if (known.add(path)) {
          append.invoke(loader, path);
        }
      }
    }
  }

  /** The method of a class loader that appends to its class path. */
  private static Method classPath(ClassLoader loader) throws NoSuchMethodException {
    Method append = loader.getClass()
        .getDeclaredMethod("appendToClassPathForInstrumentation", String.class);
    append.setAccessible(true);
    return append;
  }

  private static List<String> expanded(String entry) {
    List<String> found = new ArrayList<>();
    if (!entry.endsWith("/*")) {
      found.add(entry);
      return found;
    }
    String[] names = new File(entry.substring(0, entry.length() - 2)).list();
    for (String name : names == null ? new String[0] : names) {
      if (name.endsWith(".jar") || name.endsWith(".JAR")) {
        found.add(entry.substring(0, entry.length() - 1) + name);
      }
    }
    Collections.sort(found);
    return found;
  }

  private static void startLogging() {
    LogManager.resetConfiguration();
    String name = System.getProperty("log4j.configuration", "log4j.properties");
    URL settings = ClassLoader.getSystemResource(name);
    if (settings != null) {
      OptionConverter.selectAndConfigure(settings, null, LogManager.getLoggerRepository());
    }
  }

  /** The first field of these names that a class has. */
  private static Field field(Class<?> type, String... names) throws NoSuchFieldException {
    for (Field field : type.getDeclaredFields()) {
      if (List.of(names).contains(field.getName())) {
        field.setAccessible(true);
        return field;
      }
    }
    throw new NoSuchFieldException(type.getName() + " has no field " + String.join(" or ", names));
  }
}
