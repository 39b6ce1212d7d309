package io.windtunnel.ceph;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;

/**
 * Writes a file through a buffer.
 *
 * <p>libcephfs keeps written data in the memory of this process, and a killed process loses it.
 * HDFS promises that data is with the DataNodes after hflush and close. So hflush, hsync and close
 * wait until the OSDs have the data, which they acknowledge when it is on their disks.
 */
final class CephOutput extends OutputStream implements Syncable, StreamCapabilities {
  private final Mount mount;
  private final int file;
  private final byte[] buffer;
  private int filled;
  private boolean closed;

  CephOutput(Mount mount, int file, int bufferBytes) {
    this.mount = mount;
    this.file = file;
    this.buffer = new byte[bufferBytes];
  }

  @Override
  public synchronized void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] source, int offset, int length) throws IOException {
    refuseClosed();
    Objects.checkFromIndexSize(offset, length, source.length);
    int done = 0;
    while (done < length) {
      int count = Math.min(length - done, buffer.length - filled);
      System.arraycopy(source, offset + done, buffer, filled, count);
      filled += count;
      done += count;
      if (filled == buffer.length) {
        send();
      }
    }
  }

  @Override
  public synchronized void flush() throws IOException {
    refuseClosed();
    send();
  }

  @Override
  public synchronized void hflush() throws IOException {
    refuseClosed();
    send();
    mount.ceph().fsync(file, true);
  }

  @Override
  public synchronized void hsync() throws IOException {
    refuseClosed();
    send();
    mount.ceph().fsync(file, false);
  }

  @Override
  public boolean hasCapability(String capability) {
    return capability.equals(StreamCapabilities.HFLUSH)
        || capability.equals(StreamCapabilities.HSYNC);
  }

  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    try {
      send();
      mount.ceph().fsync(file, true);
    } finally {
      mount.ceph().close(file);
    }
  }

  private void send() throws IOException {
    byte[] rest = buffer;
    while (filled > 0) {
      int sent = (int) mount.ceph().write(file, rest, filled, -1);
      filled -= sent;
      if (filled > 0) {
        rest = java.util.Arrays.copyOfRange(rest, sent, sent + filled);
      }
    }
  }

  private void refuseClosed() throws IOException {
    if (closed) {
      throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
    }
  }
}
