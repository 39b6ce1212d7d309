package io.windtunnel.storage;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.AclEntry;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.security.UserGroupInformation;

/** Attributes of files, snapshots, free space. */
final class AttributeChecks {
  private static final long PAST = 1_000_000_000_123L;

  private AttributeChecks() {}

  static void add(Map<String, StorageChecks.Check> checks) {
    checks.put("extended-attributes", AttributeChecks::attributes);
    checks.put("permissions-kept", AttributeChecks::permissionsKept);
    checks.put("permissions-enforced", AttributeChecks::permissionsEnforced);
    checks.put("access-lists", AttributeChecks::accessLists);
    checks.put("times-set", AttributeChecks::timesSet);
    checks.put("time-of-folder", AttributeChecks::timeOfFolder);
    checks.put("time-while-written", AttributeChecks::timeWhileWritten);
    checks.put("snapshot", AttributeChecks::snapshot);
    checks.put("free-space", AttributeChecks::freeSpace);
  }

  private static Answer attributes(Place place) throws IOException {
    Path file = place.write("file", "text");
    place.files().setXAttr(file, "user.colour", Place.bytes("green"));
    boolean kept =
        Arrays.equals(place.other().getXAttr(file, "user.colour"), Place.bytes("green"))
            && place.other().listXAttrs(file).contains("user.colour");
    place.files().removeXAttr(file, "user.colour");
    boolean gone = !place.other().listXAttrs(file).contains("user.colour");
    return Answer.yesIf(kept && gone, "an attribute is not kept, or not removed");
  }

  private static Answer permissionsKept(Place place) throws IOException {
    Path file = place.write("file", "text");
    place.files().setPermission(file, new FsPermission((short) 0640));
    short found = place.other().getFileStatus(file).getPermission().toShort();
    return Answer.yesIf(found == 0640, "the mode is " + Integer.toOctalString(found));
  }

  private static Answer permissionsEnforced(Place place) throws Exception {
    Path file = place.write("file", "text");
    place.files().setPermission(file, new FsPermission((short) 0));
    UserGroupInformation user = UserGroupInformation.createRemoteUser("somebody");
    String found;
    try (FileSystem theirs =
        user.doAs(
            (java.security.PrivilegedExceptionAction<FileSystem>)
                () -> FileSystem.newInstance(place.files().getConf()))) {
      found =
          user.doAs(
              (java.security.PrivilegedExceptionAction<String>) () -> Place.read(theirs, file));
    } catch (IOException refused) {
      return Answer.yes();
    }
    return Answer.no("another user reads " + found.length() + " bytes of a file with mode 0");
  }

  private static Answer accessLists(Place place) throws IOException {
    Path file = place.write("file", "text");
    List<AclEntry> wanted = AclEntry.parseAclSpec("user:somebody:r--", true);
    return supported(
        () -> {
          place.files().modifyAclEntries(file, wanted);
          boolean kept = place.other().getAclStatus(file).getEntries().containsAll(wanted);
          return Answer.yesIf(kept, "an entry is not kept");
        });
  }

  private static Answer timesSet(Place place) throws IOException {
    Path file = place.write("file", "text");
    place.files().setTimes(file, PAST, PAST + 1000);
    FileStatus found = place.other().getFileStatus(file);
    if (found.getModificationTime() == PAST && found.getAccessTime() == PAST + 1000) {
      return Answer.yes();
    }
    boolean seconds = found.getModificationTime() == PAST / 1000 * 1000;
    return seconds ? Answer.differs("in whole seconds") : Answer.no("the times are not kept");
  }

  private static Answer timeOfFolder(Place place) throws IOException {
    Path folder = place.path("folder");
    place.files().mkdirs(folder);
    place.files().setTimes(folder, PAST, -1);
    place.write("folder/file", "text");
    long found = place.other().getFileStatus(folder).getModificationTime();
    return Answer.yesIf(found > PAST, "a new file does not change the time of its folder");
  }

  private static Answer timeWhileWritten(Place place) throws Exception {
    Path file = place.path("file");
    try (var out = place.files().create(file)) {
      out.write(1);
      out.hflush();
      long before = place.other().getFileStatus(file).getModificationTime();
      Thread.sleep(1500);
      out.write(1);
      out.hflush();
      long after = place.other().getFileStatus(file).getModificationTime();
      return after > before ? Answer.yes() : Answer.differs("it changes at close()");
    }
  }

  private static Answer snapshot(Place place) throws IOException {
    Path folder = place.path("folder");
    Path file = place.write("folder/file", "old");
    return supported(
        () -> {
          if (place.files() instanceof DistributedFileSystem hdfs) {
            hdfs.allowSnapshot(folder);
          }
          Path kept = place.files().createSnapshot(folder, "first");
          try {
            place.write("folder/file", "new");
            boolean holds =
                place.readElsewhere(new Path(kept, "file")).equals("old")
                    && place.readElsewhere(file).equals("new");
            return Answer.yesIf(holds, "the snapshot has the new content");
          } finally {
            place.files().deleteSnapshot(folder, "first");
          }
        });
  }

  private static Answer freeSpace(Place place) throws IOException {
    FsStatus found = place.files().getStatus(place.folder());
    boolean known =
        found.getCapacity() > 0
            && found.getRemaining() > 0
            && found.getRemaining() <= found.getCapacity()
            && found.getCapacity() < Long.MAX_VALUE;
    return Answer.yesIf(known, "the capacity is not stated");
  }

  private static Answer supported(Callable<Answer> check) throws IOException {
    try {
      return check.call();
    } catch (UnsupportedOperationException absent) {
      return Answer.no("this file system of Hadoop does not support it");
    } catch (IOException | RuntimeException failed) {
      throw failed;
    } catch (Exception unexpected) {
      throw new IOException(unexpected);
    }
  }
}
