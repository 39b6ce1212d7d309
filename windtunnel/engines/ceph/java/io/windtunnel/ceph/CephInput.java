package io.windtunnel.ceph;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;

/** Reads a file through a buffer, because each call of libcephfs crosses JNI. */
final class CephInput extends FSInputStream {
  private final Mount mount;
  private final int file;
  private final long size;
  private final byte[] buffer;
  private long start; // position of the buffer in the file
  private int filled;
  private long position;
  private boolean closed;

  CephInput(Mount mount, int file, long size, int bufferBytes) {
    this.mount = mount;
    this.file = file;
    this.size = size;
    this.buffer = new byte[bufferBytes];
  }

  @Override
  public synchronized int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public synchronized int read(byte[] target, int offset, int length) throws IOException {
    refuseClosed();
    java.util.Objects.checkFromIndexSize(offset, length, target.length);
    if (length == 0) {
      return 0;
    }
    if (position < start || position >= start + filled) {
      filled = (int) mount.ceph().read(file, buffer, buffer.length, position);
      start = position;
      if (filled <= 0) {
        filled = 0;
        return -1;
      }
    }
    int from = (int) (position - start);
    int count = Math.min(length, filled - from);
    System.arraycopy(buffer, from, target, offset, count);
    position += count;
    return count;
  }

  @Override
  public int read(long from, byte[] target, int offset, int length) throws IOException {
    validatePositionedReadArgs(from, target, offset, length);
    refuseClosed();
    if (length == 0) {
      return 0;
    }
    byte[] own = offset == 0 ? target : new byte[length];
    int count = (int) mount.ceph().read(file, own, length, from);
    if (count > 0 && own != target) {
      System.arraycopy(own, 0, target, offset, count);
    }
    return count > 0 ? count : -1;
  }

  @Override
  public synchronized void seek(long target) throws IOException {
    refuseClosed();
    if (target < 0) {
      throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK);
    }
    if (target > size) {
      throw new EOFException(FSExceptionMessages.CANNOT_SEEK_PAST_EOF);
    }
    position = target;
  }

  @Override
  public synchronized long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public synchronized int available() throws IOException {
    refuseClosed();
    return (int) Math.min(Integer.MAX_VALUE, size - position);
  }

  @Override
  public synchronized void close() throws IOException {
    if (!closed) {
      closed = true;
      mount.ceph().close(file);
    }
  }

  private void refuseClosed() throws IOException {
    if (closed) {
      throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
    }
  }
}
