package io.windtunnel.ceph;

import com.ceph.fs.CephMount;
import com.ceph.fs.CephStat;
import com.ceph.fs.CephStatVFS;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.XAttrSetFlag;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's file system on CephFS, through libcephfs: {@code ceph://NAME/}.
 *
 * <p>Properties: {@code ceph.conf.file} (required), {@code ceph.auth.id} (admin), {@code
 * ceph.auth.keyring}, {@code ceph.root.dir} (/), {@code ceph.object.size} (the block size of the
 * file), {@code ceph.data.pools} (the first one is used), {@code ceph.localize.reads} (false).
 *
 * <p>The replication of a file is that of its pool. A block is one object.
 */
public final class CephFileSystem extends FileSystem {
  static final String SCHEME = "ceph";

  private static final String BLOCK = "dfs.blocksize";
  private static final String OBJECT = "ceph.object.size";
  private static final String POOLS = "ceph.data.pools";
  private static final long DEFAULT_BLOCK = 64L << 20;
  private static final long LARGEST_OBJECT = 128L << 20; // osd_max_object_size
  private static final long GRANULE = 64L << 10; // objects are multiples of it
  private static final int BUFFER = 1 << 20;

  private URI uri;
  private Path working;
  private Mount mount;
  private FsPermission mask;

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    setConf(conf);
    String authority = name.getAuthority();
    uri = URI.create(SCHEME + "://" + (authority == null ? "" : authority) + "/");
    mask = FsPermission.getUMask(conf);
    mount = new Mount(conf);
    working = getHomeDirectory();
  }

  @Override
  public void close() throws IOException {
    super.close();
    if (mount != null) {
      mount.close();
    }
  }

  @Override
  public String getCanonicalServiceName() {
    return null; // it has no delegation tokens
  }

  @Override
  public Path getWorkingDirectory() {
    return working;
  }

  @Override
  public void setWorkingDirectory(Path path) {
    working = fixRelativePart(path);
  }

  @Override
  public long getDefaultBlockSize() {
    return getConf().getLongBytes(BLOCK, DEFAULT_BLOCK);
  }

  @Override
  public short getDefaultReplication() {
    return mount.replication();
  }

  // --- streams ----------------------------------------------------------------------------------

  @Override
  public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
    CephStat found = mount.stat(key(path));
    if (found.isDir()) {
      throw new FileNotFoundException(path + " is a directory");
    }
    int file = mount.ceph().open(key(path), CephMount.O_RDONLY, 0);
    return new FSDataInputStream(
        new CephInput(mount, file, found.size, Math.max(bufferBytes, BUFFER)));
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferBytes,
      short replication,
      long block,
      Progressable progress)
      throws IOException {
    Path parent = absolute(path).getParent();
    if (parent != null) {
      mkdirs(parent, FsPermission.getDirDefault());
    }
    return make(path, permission, overwrite, bufferBytes, block);
  }

  @Override
  public FSDataOutputStream createNonRecursive(
      Path path,
      FsPermission permission,
      EnumSet<CreateFlag> flags,
      int bufferBytes,
      short replication,
      long block,
      Progressable progress)
      throws IOException {
    Path parent = absolute(path).getParent();
    if (parent != null && !mount.stat(key(parent)).isDir()) {
      throw new ParentNotDirectoryException(parent + " is not a directory");
    }
    return make(path, permission, flags.contains(CreateFlag.OVERWRITE), bufferBytes, block);
  }

  private FSDataOutputStream make(
      Path path, FsPermission permission, boolean overwrite, int bufferBytes, long block)
      throws IOException {
    CephStat old = statOrNull(key(path));
    if (old != null && (old.isDir() || !overwrite)) {
      String kind = old.isDir() ? " is a directory" : " already exists";
      throw new FileAlreadyExistsException(path + kind);
    }
    if (old != null) { // its layout cannot be changed
      mount.ceph().unlink(key(path));
    }
    int flags = CephMount.O_WRONLY | CephMount.O_CREAT | CephMount.O_EXCL;
    int mode = permission.applyUMask(mask).toShort();
    int object = objectBytes(block);
    String[] pools = getConf().getTrimmedStrings(POOLS);
    String pool = pools.length > 0 ? pools[0] : null;
    int file;
    try {
      file = mount.ceph().open(key(path), flags, mode, object, 1, object, pool);
    } catch (com.ceph.fs.CephFileAlreadyExistsException race) {
      throw new FileAlreadyExistsException(path + " already exists");
    }
    CephOutput out = new CephOutput(mount, file, Math.max(bufferBytes, BUFFER));
    return new FSDataOutputStream(out, statistics);
  }

  /** The size of the objects of a file: its block, within the limits of Ceph. */
  private int objectBytes(long block) {
    long wanted = Math.min(getConf().getLongBytes(OBJECT, block), LARGEST_OBJECT);
    return (int) Math.max(GRANULE, (wanted + GRANULE - 1) / GRANULE * GRANULE);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress)
      throws IOException {
    CephStat found = mount.stat(key(path));
    if (found.isDir()) {
      throw new FileAlreadyExistsException(path + " is a directory");
    }
    int flags = CephMount.O_WRONLY | CephMount.O_APPEND;
    int file = mount.ceph().open(key(path), flags, 0);
    CephOutput out = new CephOutput(mount, file, Math.max(bufferBytes, BUFFER));
    return new FSDataOutputStream(out, statistics, found.size);
  }

  @Override
  public boolean truncate(Path path, long length) throws IOException {
    CephStat found = mount.stat(key(path));
    if (found.isDir()) {
      throw new FileNotFoundException(path + " is a directory");
    }
    if (length < 0 || length > found.size) {
      throw new IllegalArgumentException(
          "cannot truncate " + path + " of " + found.size + " bytes to " + length);
    }
    mount.ceph().truncate(key(path), length);
    return true;
  }

  // --- folders and names ------------------------------------------------------------------------

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    String source = key(from);
    String target = key(to);
    CephStat old = statOrNull(source);
    if (old == null || source.equals("/")) {
      return false;
    }
    CephStat there = statOrNull(target);
    if (there != null && there.isDir() && !source.equals(target)) {
      target = key(new Path(absolute(to), from.getName()));
      there = statOrNull(target);
    }
    if (source.equals(target)) {
      return old.isFile();
    }
    if (there != null || target.startsWith(source + "/")) {
      return false;
    }
    Path parent = new Path(target).getParent();
    CephStat above = parent == null ? null : statOrNull(key(parent));
    if (above == null || !above.isDir()) {
      return false;
    }
    mount.ceph().rename(source, target);
    return true;
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    CephStat found = statOrNull(key(path));
    if (found == null) {
      return false;
    }
    if (!found.isDir()) {
      mount.ceph().unlink(key(path));
      return true;
    }
    String[] names = mount.ceph().listdir(key(path));
    if (names.length > 0 && !recursive) {
      throw new PathIsNotEmptyDirectoryException(path.toString());
    }
    if (key(path).equals("/")) {
      return false; // the root stays, and so does its content
    }
    for (String name : names) {
      delete(new Path(absolute(path), name), true);
    }
    mount.ceph().rmdir(key(path));
    return true;
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    CephStat found = statOrNull(key(path));
    if (found != null) {
      if (!found.isDir()) {
        throw new FileAlreadyExistsException(path + " is a file");
      }
      return true;
    }
    for (Path up = absolute(path).getParent(); up != null; up = up.getParent()) {
      CephStat above = statOrNull(key(up));
      if (above != null && !above.isDir()) {
        throw new ParentNotDirectoryException(up + " is a file");
      }
      if (above != null) {
        break;
      }
    }
    try {
      mount.ceph().mkdirs(key(path), permission.applyUMask(mask).toShort());
    } catch (com.ceph.fs.CephFileAlreadyExistsException race) {
      return mount.stat(key(path)).isDir();
    }
    return true;
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    CephStat found = mount.stat(key(path));
    if (!found.isDir()) {
      return new FileStatus[] {status(path, found)};
    }
    List<FileStatus> rows = new ArrayList<>();
    for (String name : mount.ceph().listdir(key(path))) {
      Path below = new Path(absolute(path), name);
      CephStat stat = statOrNull(key(below));
      if (stat != null) { // removed meanwhile
        rows.add(status(below, stat));
      }
    }
    return rows.toArray(new FileStatus[0]);
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    try {
      return status(path, mount.stat(key(path)));
    } catch (FileNotFoundException missing) {
      throw new FileNotFoundException("there is no file " + path);
    }
  }

  private FileStatus status(Path path, CephStat found) {
    boolean folder = found.isDir();
    return new FileStatus(
        folder ? 0 : found.size,
        folder,
        folder ? 0 : mount.replication(),
        folder ? 0 : found.blksize,
        found.m_time,
        found.a_time,
        new FsPermission((short) (found.mode & 07777)),
        mount.owner(found.uid),
        mount.group(found.gid),
        makeQualified(absolute(path)));
  }

  // --- attributes -------------------------------------------------------------------------------

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    mount.ceph().chmod(key(path), permission.toShort());
  }

  @Override
  public void setOwner(Path path, String user, String group) throws IOException {
    CephStat wanted = new CephStat();
    int what = 0;
    if (user != null) {
      wanted.uid = mount.number(user, false);
      what |= CephMount.SETATTR_UID;
    }
    if (group != null) {
      wanted.gid = mount.number(group, true);
      what |= CephMount.SETATTR_GID;
    }
    mount.ceph().setattr(key(path), wanted, what);
  }

  @Override
  public void setTimes(Path path, long modified, long accessed) throws IOException {
    CephStat wanted = new CephStat();
    int what = 0;
    if (modified != -1) {
      wanted.m_time = modified;
      what |= CephMount.SETATTR_MTIME;
    }
    if (accessed != -1) {
      wanted.a_time = accessed;
      what |= CephMount.SETATTR_ATIME;
    }
    mount.ceph().setattr(key(path), wanted, what);
  }

  @Override
  public void setXAttr(Path path, String name, byte[] value, EnumSet<XAttrSetFlag> flags)
      throws IOException {
    XAttrSetFlag.validate(name, listXAttrs(path).contains(name), flags);
    mount.ceph().setxattr(key(path), name, value, value.length, CephMount.XATTR_NONE);
  }

  @Override
  public byte[] getXAttr(Path path, String name) throws IOException {
    if (!listXAttrs(path).contains(name)) {
      throw new IOException(path + " has no attribute " + name);
    }
    byte[] value = new byte[(int) mount.ceph().getxattr(key(path), name, null)];
    mount.ceph().getxattr(key(path), name, value);
    return value;
  }

  @Override
  public Map<String, byte[]> getXAttrs(Path path) throws IOException {
    return getXAttrs(path, listXAttrs(path));
  }

  @Override
  public Map<String, byte[]> getXAttrs(Path path, List<String> names) throws IOException {
    Map<String, byte[]> found = new HashMap<>();
    for (String name : names) {
      found.put(name, getXAttr(path, name));
    }
    return found;
  }

  @Override
  public List<String> listXAttrs(Path path) throws IOException {
    return List.of(mount.ceph().listxattr(key(path)));
  }

  @Override
  public void removeXAttr(Path path, String name) throws IOException {
    mount.ceph().removexattr(key(path), name);
  }

  @Override
  public boolean hasPathCapability(Path path, String capability) throws IOException {
    switch (capability) {
      case CommonPathCapabilities.FS_APPEND:
      case CommonPathCapabilities.FS_CHECKSUMS:
      case CommonPathCapabilities.FS_PERMISSIONS:
      case CommonPathCapabilities.FS_TRUNCATE:
      case CommonPathCapabilities.FS_XATTRS:
        return true;
      default:
        return super.hasPathCapability(path, capability);
    }
  }

  // --- data -------------------------------------------------------------------------------------

  @Override
  public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length)
      throws IOException {
    if (start < 0 || length < 0) {
      throw new IllegalArgumentException("the start and the length must not be negative");
    }
    if (file.isDirectory() || start >= file.getLen()) {
      return new BlockLocation[0];
    }
    return Blocks.locate(mount, key(file.getPath()), start, Math.min(start + length, file.getLen()));
  }

  @Override
  public FileChecksum getFileChecksum(Path path, long length) throws IOException {
    FileStatus found = getFileStatus(path);
    if (found.isDirectory()) {
      throw new FileNotFoundException(path + " is a directory");
    }
    try (FSDataInputStream in = open(path)) {
      return Checksum.of(in, Math.min(length, found.getLen()), found.getBlockSize());
    }
  }

  @Override
  public FileChecksum getFileChecksum(Path path) throws IOException {
    return getFileChecksum(path, Long.MAX_VALUE);
  }

  @Override
  public FsStatus getStatus(Path path) throws IOException {
    CephStatVFS found = new CephStatVFS();
    mount.ceph().statfs(path == null ? "/" : key(path), found);
    long all = found.blocks * found.frsize;
    long left = found.bavail * found.frsize;
    return new FsStatus(all, all - left, left);
  }

  // --- paths ------------------------------------------------------------------------------------

  private Path absolute(Path path) {
    checkPath(path);
    return fixRelativePart(path);
  }

  /** The path as libcephfs takes it. */
  private String key(Path path) {
    return absolute(path).toUri().getPath();
  }

  private CephStat statOrNull(String path) throws IOException {
    try {
      return mount.stat(path);
    } catch (FileNotFoundException missing) {
      return null;
    }
  }
}
