package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;

/**
 * The checks of owners without native code, for the NodeManager of a secure test cluster.
 *
 * <p>Hadoop's class of this name refuses to work in secure mode without libhadoop, which the jars of
 * Maven do not contain. Here a file belongs to its user, or to the user of the NodeManager: without
 * the container executor of Linux, all containers run as that user.
 */
public class SecureIOUtils {
  private SecureIOUtils() {}

  /** Says that a file that was to be created exists. */
  public static class AlreadyExistsException extends IOException {
    private static final long serialVersionUID = 1L;

    public AlreadyExistsException(String message) {
      super(message);
    }

    public AlreadyExistsException(Throwable cause) {
      super(cause);
    }
  }

  public static RandomAccessFile openForRandomRead(
      File file, String mode, String owner, String group) throws IOException {
    checkOwner(file, owner);
    return new RandomAccessFile(file, mode);
  }

  public static FSDataInputStream openFSDataInputStream(File file, String owner, String group)
      throws IOException {
    checkOwner(file, owner);
    FileSystem local = FileSystem.getLocal(new Configuration()).getRaw();
    return local.open(new org.apache.hadoop.fs.Path(file.getAbsolutePath()));
  }

  public static FileInputStream openForRead(File file, String owner, String group)
      throws IOException {
    checkOwner(file, owner);
    return new FileInputStream(file);
  }

  public static FileOutputStream createForWrite(File file, int permissions) throws IOException {
    StringBuilder letters = new StringBuilder();
    for (int bit = 8; bit >= 0; bit--) {
      letters.append((permissions >> bit & 1) == 0 ? '-' : "xwr".charAt(bit % 3));
    }
    try {
      Files.createFile(
          file.toPath(),
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(letters.toString())));
    } catch (FileAlreadyExistsException e) {
      throw new AlreadyExistsException(e);
    }
    return new FileOutputStream(file);
  }

  private static void checkOwner(File file, String expected) throws IOException {
    Path path = file.toPath().toRealPath();
    String owner = Files.getOwner(path).getName();
    if (expected != null && !owner.equals(expected) && !owner.equals(System.getProperty("user.name"))) {
      throw new IOException(path + " belongs to " + owner + ", not to " + expected);
    }
  }
}
