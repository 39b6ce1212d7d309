package io.windtunnel.ceph;

import com.ceph.fs.CephFileExtent;
import com.ceph.fs.CephMount;
import com.ceph.fs.CephNotDirectoryException;
import com.ceph.fs.CephPoolException;
import com.ceph.fs.CephStat;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A mounted CephFS with what the file system, its streams and its block locations share.
 *
 * <p>libcephfs allows calls of several threads at the same time. After {@link #close}, a call would
 * crash the JVM, so that each use asks {@link #ceph} for the mount.
 */
final class Mount {
  private static final String CONF_FILE = "ceph.conf.file";
  private static final String CLIENT = "ceph.auth.id";
  private static final String KEYRING = "ceph.auth.keyring";
  private static final String ROOT = "ceph.root.dir";
  private static final String LOCALIZE = "ceph.localize.reads";

  static {
    loadQuietly();
  }

  private final CephMount ceph;
  private final Map<Integer, InetAddress> addresses = new ConcurrentHashMap<>();
  private final int uid;
  private final int gid;
  private final String user;
  private final short replication;
  private volatile boolean closed;

  Mount(Configuration conf) throws IOException {
    String file = conf.get(CONF_FILE);
    if (file == null) {
      throw new IOException("the property " + CONF_FILE + " must name a ceph.conf");
    }
    ceph = new CephMount(conf.get(CLIENT, "admin"));
    try {
      ceph.conf_read_file(file);
    } catch (FileNotFoundException missing) {
      throw new IOException(CONF_FILE + " cannot be read: " + file, missing);
    }
    if (conf.get(KEYRING) != null) {
      ceph.conf_set("keyring", conf.get(KEYRING));
    }
    try {
      ceph.mount(conf.get(ROOT, "/"));
    } catch (RuntimeException | Error problem) {
      throw new IOException("CephFS of " + file + " cannot be mounted: " + problem, problem);
    }
    ceph.localize_reads(conf.getBoolean(LOCALIZE, false));
    uid = own("unix:uid");
    gid = own("unix:gid");
    user = UserGroupInformation.getCurrentUser().getShortUserName();
    replication = poolReplication();
  }

  /** Loads libcephfs; its binding prints to standard output, which programs may read. */
  private static void loadQuietly() {
    java.io.PrintStream out = System.out;
    System.setOut(System.err);
    try {
      Class.forName(CephMount.class.getName());
    } catch (ClassNotFoundException impossible) {
      throw new IllegalStateException(impossible);
    } finally {
      System.setOut(out);
    }
  }

  /** The mount; throws an exception after {@link #close}. */
  CephMount ceph() throws IOException {
    if (closed) {
      throw new IOException("Filesystem closed");
    }
    return ceph;
  }

  synchronized void close() {
    if (!closed) {
      closed = true;
      ceph.unmount();
    }
  }

  /** What libcephfs knows of a path; throws FileNotFoundException. */
  CephStat stat(String path) throws IOException {
    CephStat found = new CephStat();
    try {
      ceph().lstat(path, found);
    } catch (CephNotDirectoryException below) { // of a file
      throw new FileNotFoundException("there is no file " + path);
    }
    return found;
  }

  /** The replication of the default data pool; of an erasure code, the number of its cells. */
  short replication() {
    return replication;
  }

  /** The name of an account: that of this process, or the number of another one. */
  String owner(int number) {
    return number == uid ? user : Integer.toString(number);
  }

  String group(int number) {
    return number == gid ? user : Integer.toString(number);
  }

  /** The number of an account that {@link #owner} or {@link #group} has named. */
  int number(String name, boolean group) throws IOException {
    if (name.equals(user)) {
      return group ? gid : uid;
    }
    try {
      return Integer.parseInt(name);
    } catch (NumberFormatException unknown) {
      throw new IOException("no account of this process and no number: " + name, unknown);
    }
  }

  /** The addresses of the OSDs of an extent of a file. */
  List<InetAddress> holders(CephFileExtent extent) throws IOException {
    List<InetAddress> found = new ArrayList<>();
    for (int osd : extent.getOSDs()) {
      InetAddress known = addresses.get(osd);
      if (known == null) {
        known = ceph().get_osd_address(osd);
        addresses.put(osd, known);
      }
      found.add(known);
    }
    return found;
  }

  private short poolReplication() throws IOException {
    try {
      int pool = ceph.get_pool_id(ceph.get_default_data_pool_name());
      return (short) ceph.get_pool_replication(pool);
    } catch (CephPoolException problem) {
      throw new IOException("CephFS has no data pool", problem);
    }
  }

  private static int own(String attribute) throws IOException {
    return (Integer) Files.getAttribute(java.nio.file.Path.of("/proc/self"), attribute);
  }
}
