package io.windtunnel.storage;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.io.ElasticByteBufferPool;

/** The content of files: create, write, append, truncate, read. */
final class DataChecks {
  private static final int BLOCK = 1 << 20;

  private DataChecks() {}

  static void add(Map<String, StorageChecks.Check> checks) {
    checks.put("overwrite-file", DataChecks::overwriteFile);
    checks.put("append", DataChecks::append);
    checks.put("random-overwrite", DataChecks::randomOverwrite);
    checks.put("write-beyond-end", DataChecks::randomOverwrite);
    checks.put("truncate", DataChecks::truncate);
    checks.put("extend-by-truncate", DataChecks::extend);
    checks.put("random-read", DataChecks::randomRead);
    checks.put("read-at-end", DataChecks::readAtEnd);
    checks.put("empty-file", DataChecks::emptyFile);
    checks.put("memory-map", DataChecks::memoryMap);
    checks.put("checksum", DataChecks::checksum);
    checks.put("concat", DataChecks::concat);
    checks.put("block-locations", DataChecks::blockLocations);
  }

  private static Answer overwriteFile(Place place) throws IOException {
    Path file = place.write("file", "a long text");
    place.write("file", "short");
    return Answer.yesIf(place.readElsewhere(file).equals("short"), "the old content remained");
  }

  private static Answer append(Place place) throws IOException {
    Path file = place.write("file", "first");
    try (FSDataOutputStream out = place.files().append(file)) {
      out.write(Place.bytes(" second"));
    }
    return Answer.yesIf(place.readElsewhere(file).equals("first second"), "the content is wrong");
  }

  private static Answer randomOverwrite(Place place) throws IOException {
    try (FSDataOutputStream out = place.files().create(place.path("file"))) {
      boolean seeks = out.getWrappedStream() instanceof Seekable;
      return seeks
          ? Answer.differs("the stream has a position that can be set, which is not tested")
          : Answer.no("Hadoop's output streams have no position that can be set");
    }
  }

  private static Answer truncate(Place place) throws Exception {
    Path file = place.path("file");
    byte[] content = new byte[BLOCK + 1000];
    Arrays.fill(content, (byte) 7);
    try (FSDataOutputStream out =
        place.files().create(file, true, 4096, place.files().getDefaultReplication(file), BLOCK)) {
      out.write(content);
    }
    boolean atOnce = place.files().truncate(file, BLOCK / 2);
    for (int tries = 0; !atOnce && tries < 300; tries++) {
      Thread.sleep(100);
      try { // a truncated file is closed when its last block is recovered
        place.files().append(file).close();
        break;
      } catch (IOException notYet) {
        continue;
      }
    }
    long length = place.other().getFileStatus(file).getLen();
    if (length != BLOCK / 2) {
      return Answer.no("the file has " + length + " bytes");
    }
    return atOnce ? Answer.yes() : Answer.differs("it is done later, after the call");
  }

  private static Answer extend(Place place) throws IOException {
    Path file = place.write("file", "text");
    try {
      place.files().truncate(file, 8);
    } catch (IllegalArgumentException refused) {
      return Answer.no("a greater length is refused");
    }
    return Answer.yesIf(place.readElsewhere(file).equals("text\0\0\0\0"), "no zeros are added");
  }

  private static Answer randomRead(Place place) throws IOException {
    Path file = place.write("file", "0123456789");
    byte[] two = new byte[2];
    try (FSDataInputStream in = place.other().open(file)) {
      in.seek(8);
      boolean sought = in.read() == '8';
      in.readFully(3, two);
      return Answer.yesIf(sought && two[0] == '3' && in.getPos() == 9, "wrong bytes are read");
    }
  }

  private static Answer readAtEnd(Place place) throws IOException {
    Path file = place.write("file", "text");
    try (FSDataInputStream in = place.other().open(file)) {
      in.readNBytes(4);
      if (in.read() != -1) {
        return Answer.no("more bytes than written");
      }
      try {
        in.seek(100);
      } catch (EOFException refused) {
        return Answer.differs("a position beyond the end is refused");
      }
      return Answer.yesIf(in.read() == -1, "bytes beyond the end");
    }
  }

  private static Answer emptyFile(Place place) throws IOException {
    Path file = place.write("file", "");
    place.files().mkdirs(place.path("folder"));
    boolean holds =
        place.other().getFileStatus(file).getLen() == 0
            && place.other().getFileStatus(place.path("folder")).isDirectory();
    return Answer.yesIf(holds, "an empty file or folder is lost");
  }

  /** Hadoop's only form of it: reads without a copy, which need mapped files. */
  private static Answer memoryMap(Place place) throws IOException {
    Path file = place.write("file", "0123456789");
    try (FSDataInputStream in = place.files().open(file)) {
      ElasticByteBufferPool pool = new ElasticByteBufferPool();
      EnumSet<ReadOption> options = EnumSet.of(ReadOption.SKIP_CHECKSUMS);
      ByteBuffer got = in.read(pool, 10, options);
      boolean mapped = got instanceof java.nio.MappedByteBuffer && got.isReadOnly();
      in.releaseBuffer(got);
      return mapped
          ? Answer.differs("only reads (HasEnhancedByteBufferAccess)")
          : Answer.no("reads are copied");
    }
  }

  private static Answer checksum(Place place) throws IOException {
    FileSystem files = place.files();
    Path one = place.write("one", "same text");
    Path two = place.write("two", "same text");
    Path three = place.write("three", "other text");
    if (files.getFileChecksum(one) == null) {
      return Answer.no("the file system has no checksums of files");
    }
    boolean holds =
        files.getFileChecksum(one).equals(place.other().getFileChecksum(two))
            && !files.getFileChecksum(one).equals(files.getFileChecksum(three));
    return Answer.yesIf(holds, "equal files have different checksums, or the reverse");
  }

  private static Answer concat(Place place) throws IOException {
    Path one = place.write("one", "first");
    Path two = place.write("two", " second");
    place.files().concat(one, new Path[] {two});
    boolean holds =
        place.readElsewhere(one).equals("first second") && !place.other().exists(two);
    return Answer.yesIf(holds, "the content is wrong");
  }

  private static Answer blockLocations(Place place) throws IOException {
    Path file = place.write("file", "text");
    String[] hosts = place.files().getFileBlockLocations(file, 0, 4)[0].getHosts();
    boolean known = hosts.length > 0 && !hosts[0].equals("localhost");
    return Answer.yesIf(known, "only 'localhost' is named");
  }

  /** Whether an exclusive create of a file that exists is refused. */
  static boolean refusesSecond(Place place, Path file) throws IOException {
    try {
      place.other().create(file, false).close();
    } catch (FileAlreadyExistsException refused) {
      return true;
    }
    return false;
  }
}
