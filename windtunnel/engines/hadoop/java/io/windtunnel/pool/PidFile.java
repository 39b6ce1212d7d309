package io.windtunnel.pool;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/**
 * The file in which a NodeManager looks for the process of a container.
 *
 * <p>The NodeManager measures the memory of this process and its children, and sends signals to its
 * process group (DefaultContainerExecutor, ContainersMonitorImpl of Hadoop 3). So it must name the
 * JVM, which leads a group of its own.
 */
final class PidFile {
  private final Path file;
  private final String before;

  private PidFile(Path file) throws IOException {
    this.file = file;
    before = Files.readString(file);
  }

  /** The file of a launch; empty if there is none. */
  static Optional<PidFile> of(Launch launch) throws IOException {
    String container = launch.environment.getOrDefault("CONTAINER_ID", "");
    for (String folder : launch.environment.getOrDefault("LOCAL_DIRS", "").split(",")) {
      // LOCAL/usercache/USER/appcache/APPLICATION
      Path application = Path.of(folder);
      if (application.getNameCount() < 5) {
        continue;
      }
      Path local = application.getParent().getParent().getParent().getParent();
      Path file =
          local
              .resolve("nmPrivate")
              .resolve(application.getFileName())
              .resolve(container)
              .resolve(container + ".pid");
      if (Files.exists(file)) {
        return Optional.of(new PidFile(file));
      }
    }
    return Optional.empty();
  }

  /** Names another process. */
  void write(long pid) throws IOException {
    write(pid + "\n");
  }

  /** Names the process of before; returns false if the file is gone. */
  boolean restore() throws IOException {
    if (!Files.exists(file)) {
      return false;
    }
    write(before);
    return true;
  }

  private void write(String text) throws IOException {
    Path made = file.resolveSibling(file.getFileName() + ".pool");
    Files.writeString(made, text);
    Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
  }
}
