package io.windtunnel.storage;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** What several clients see of a file that one of them writes, removes or locks. */
final class SharingChecks {
  private static final int CREATORS = 8;
  private static final int BLOCK = 1 << 20;
  private static final int REMOVED_LIMIT = 24; // half seconds: HDFS removes blocks after some of them

  private SharingChecks() {}

  static void add(Map<String, StorageChecks.Check> checks) {
    checks.put("exclusive-create", SharingChecks::exclusiveCreate);
    checks.put("name-before-close", SharingChecks::nameBeforeClose);
    checks.put("data-without-flush", SharingChecks::dataWithoutFlush);
    checks.put("data-after-hflush", SharingChecks::dataAfterHflush);
    checks.put("data-after-hsync", SharingChecks::dataAfterHsync);
    checks.put("length-after-hflush", SharingChecks::lengthAfterHflush);
    checks.put("open-reader-sees-more", SharingChecks::openReaderSeesMore);
    checks.put("two-writers", place -> twoWriters(place, false));
    checks.put("two-appenders", place -> twoWriters(place, true));
    checks.put("unlink-while-read", SharingChecks::unlinkWhileRead);
    checks.put("unlink-while-written", SharingChecks::unlinkWhileWritten);
    checks.put("lock", place -> NameChecks.lacksCall("lock", "tryLock", "lockFile"));
  }

  private static Answer exclusiveCreate(Place place) throws Exception {
    Path file = place.path("file");
    AtomicInteger winners = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    Thread[] all = new Thread[CREATORS];
    for (int number = 0; number < CREATORS; number++) {
      FileSystem files = number % 2 == 0 ? place.files() : place.other();
      all[number] =
          new Thread(
              () -> {
                try {
                  go.await();
                  files.create(file, false).close();
                  winners.incrementAndGet();
                } catch (IOException | InterruptedException lost) {
                  return; // another one has created it
                }
              });
      all[number].start();
    }
    go.countDown();
    for (Thread one : all) {
      one.join();
    }
    boolean holds = winners.get() == 1 && DataChecks.refusesSecond(place, file);
    return Answer.yesIf(holds, winners.get() + " of " + CREATORS + " clients created the file");
  }

  private static Answer nameBeforeClose(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(1);
      return Answer.yesIf(place.other().exists(file), "the name exists only after close()");
    }
  }

  private static Answer dataWithoutFlush(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(Place.bytes("text"));
      boolean seen = place.readElsewhere(file).equals("text");
      return Answer.yesIf(seen, "it is in a buffer of the client");
    }
  }

  private static Answer dataAfterHflush(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(Place.bytes("text"));
      out.hflush();
      return Answer.yesIf(place.readElsewhere(file).equals("text"), "a new reader does not see it");
    }
  }

  private static Answer dataAfterHsync(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(Place.bytes("text"));
      out.hsync();
      return Answer.yesIf(place.readElsewhere(file).equals("text"), "a new reader does not see it");
    }
  }

  private static Answer lengthAfterHflush(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(Place.bytes("text"));
      out.hflush();
      long length = place.other().getFileStatus(file).getLen();
      return length == 4
          ? Answer.yes()
          : Answer.differs("the status states " + length + " bytes until close()");
    }
  }

  private static Answer openReaderSeesMore(Place place) throws IOException {
    Path file = place.path("file");
    try (FSDataOutputStream out = place.files().create(file)) {
      out.write(Place.bytes("one"));
      out.hflush();
      try (FSDataInputStream in = place.other().open(file)) {
        in.readNBytes(3);
        out.write(Place.bytes("two"));
        out.hflush();
        boolean seen = in.readNBytes(3).length == 3;
        return Answer.yesIf(seen, "it must open the file again");
      }
    }
  }

  /** Two clients with the same file open for writing. */
  private static Answer twoWriters(Place place, boolean append) throws IOException {
    Path file = place.write("file", append ? "zero " : "");
    FSDataOutputStream first = open(place.files(), file, append);
    first.write(Place.bytes("first "));
    first.hflush();
    try (FSDataOutputStream second = open(place.other(), file, append)) {
      second.write(Place.bytes("second "));
      second.hflush();
    } catch (IOException refused) {
      first.close();
      return Answer.no("the second writer is refused");
    }
    try {
      first.write(Place.bytes("again "));
      first.close();
    } catch (IOException failed) {
      return Answer.differs("the second writer ends the first one");
    }
    String found = place.readElsewhere(file);
    boolean all = found.contains("again ") && (!append || found.contains("first second "));
    return all ? Answer.yes() : Answer.differs("bytes of one are lost: '" + found.trim() + "'");
  }

  private static FSDataOutputStream open(FileSystem files, Path file, boolean append)
      throws IOException {
    return append ? files.append(file) : files.create(file, true);
  }

  private static Answer unlinkWhileRead(Place place) throws Exception {
    Path file = place.path("file");
    FileSystem files = place.files();
    try (FSDataOutputStream out =
        files.create(file, true, 4096, files.getDefaultReplication(file), BLOCK)) {
      out.write(new byte[2 * BLOCK]);
    }
    byte[] few = new byte[16];
    try (FSDataInputStream in = place.other().open(file)) {
      in.readFully(0, few);
      place.files().delete(file, false);
      for (int tries = 0; tries < REMOVED_LIMIT; tries++) {
        try {
          in.readFully(BLOCK + 16 * tries, few); // of the second block, which is not open
        } catch (IOException gone) {
          return Answer.differs("the reader fails " + tries / 2.0 + " s later");
        }
        Thread.sleep(500);
      }
    }
    return Answer.yes();
  }

  private static Answer unlinkWhileWritten(Place place) throws IOException {
    Path file = place.path("file");
    FSDataOutputStream out = place.files().create(file);
    out.write(Place.bytes("text"));
    out.hflush();
    place.other().delete(file, false);
    try {
      out.write(Place.bytes("more"));
      out.hsync();
      out.close();
    } catch (IOException failed) {
      return Answer.no("the writer fails: " + failed.getClass().getSimpleName());
    }
    return Answer.yesIf(!place.other().exists(file), "close() creates the file again");
  }
}
