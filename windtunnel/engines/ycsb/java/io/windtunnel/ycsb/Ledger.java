package io.windtunnel.ycsb;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Which versions a row may have in the end, by what the store acknowledged.
 *
 * <p>Every write takes a number from one clock when it begins and another when it is acknowledged.
 * A write is superseded if another began after its acknowledgement and was acknowledged itself;
 * what is left may be the last. A write that failed may yet have happened, at any time later: it
 * is never superseded, and supersedes nothing.
 */
final class Ledger {
  /** Instead of the moment of acknowledgement: there was none. */
  static final long NEVER = Long.MAX_VALUE;

  private final ConcurrentHashMap<String, long[]> open = new ConcurrentHashMap<>();
  /** Above every number of an earlier process: a million a millisecond are not written. */
  private final AtomicLong clock = new AtomicLong(System.currentTimeMillis() * 1_000_000);
  private final AtomicLong acknowledged = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();

  /** The version of a write that begins now. */
  long begin() {
    return clock.incrementAndGet();
  }

  /** Note how a write ended. */
  void end(String key, long version, boolean ok) {
    (ok ? acknowledged : failed).incrementAndGet();
    long at = ok ? clock.incrementAndGet() : NEVER;
    open.merge(key, new long[] {version, at}, ok ? Ledger::superseding : Ledger::both);
  }

  private static long[] superseding(long[] old, long[] added) {
    int kept = 0;
    for (int i = 0; i < old.length; i += 2) {
      kept += old[i + 1] > added[0] ? 2 : 0;
    }
    long[] found = new long[kept + 2];
    int place = 0;
    for (int i = 0; i < old.length; i += 2) {
      if (old[i + 1] > added[0]) {
        found[place++] = old[i];
        found[place++] = old[i + 1];
      }
    }
    found[place] = added[0];
    found[place + 1] = added[1];
    return found;
  }

  private static long[] both(long[] old, long[] added) {
    long[] found = java.util.Arrays.copyOf(old, old.length + 2);
    found[old.length] = added[0];
    found[old.length + 1] = added[1];
    return found;
  }

  long acknowledged() {
    return acknowledged.get();
  }

  long failed() {
    return failed.get();
  }

  /** Keep it: pairs of version and moment of acknowledgement by key. */
  void write(Path file) throws IOException {
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(part)))) {
      out.writeInt(open.size());
      for (Map.Entry<String, long[]> entry : open.entrySet()) {
        out.writeUTF(entry.getKey());
        out.writeInt(entry.getValue().length);
        for (long number : entry.getValue()) {
          out.writeLong(number);
        }
      }
    }
    Files.move(part, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
  }

  /** Add what a ledger of a later process holds to {@code known}. */
  static void read(Path file, Map<String, long[]> known) throws IOException {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
      for (int left = in.readInt(); left > 0; left--) {
        String key = in.readUTF();
        long[] found = new long[in.readInt()];
        for (int i = 0; i < found.length; i++) {
          found[i] = in.readLong();
        }
        known.merge(key, found, (old, later) -> certain(later) ? later : joined(old, later));
      }
    }
  }

  /** Whether all that was written to a key failed: its row may be there or not. */
  boolean unsure(String key) {
    long[] writes = open.get(key);
    return writes != null && !certain(writes);
  }

  /** Whether one of the writes was acknowledged: then the row is there. */
  static boolean certain(long[] writes) {
    for (int i = 1; i < writes.length; i += 2) {
      if (writes[i] != NEVER) {
        return true;
      }
    }
    return false;
  }

  private static long[] joined(long[] old, long[] later) {
    long[] found = java.util.Arrays.copyOf(old, old.length + later.length);
    System.arraycopy(later, 0, found, old.length, later.length);
    return found;
  }

  /** Whether a row may have a version in the end. */
  static boolean allows(long[] writes, long version) {
    for (int i = 0; i < writes.length; i += 2) {
      if (writes[i] == version) {
        return true;
      }
    }
    return false;
  }
}
