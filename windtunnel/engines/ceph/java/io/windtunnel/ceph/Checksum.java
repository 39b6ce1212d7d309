package io.windtunnel.ceph;

import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.MD5MD5CRC32CastagnoliFileChecksum;
import org.apache.hadoop.io.MD5Hash;
import org.apache.hadoop.util.DataChecksum;

/**
 * The checksum that HDFS gives for a file: the MD5 of the MD5s of the CRCs of its blocks.
 *
 * <p>HDFS has the CRCs on its DataNodes. Here the file is read.
 */
final class Checksum {
  private static final int BYTES_PER_CRC = 512;
  private static final int CRC_BYTES = 4;
  private static final int CHUNK = BYTES_PER_CRC * 2048;

  private Checksum() {}

  static FileChecksum of(InputStream in, long length, long block) throws IOException {
    DataChecksum crc = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, BYTES_PER_CRC);
    java.io.ByteArrayOutputStream ofBlocks = new java.io.ByteArrayOutputStream();
    long left = length;
    while (left > 0) {
      long size = Math.min(left, block);
      ofBlocks.write(ofBlock(in, size, crc));
      left -= size;
    }
    long perBlock = length > block ? block / BYTES_PER_CRC : 0;
    MD5Hash all = MD5Hash.digest(ofBlocks.toByteArray());
    return new MD5MD5CRC32CastagnoliFileChecksum(BYTES_PER_CRC, perBlock, all);
  }

  private static byte[] ofBlock(InputStream in, long size, DataChecksum crc) throws IOException {
    java.security.MessageDigest digest = MD5Hash.getDigester();
    byte[] data = new byte[CHUNK];
    byte[] sums = new byte[CHUNK / BYTES_PER_CRC * CRC_BYTES];
    long left = size;
    while (left > 0) {
      int count = in.readNBytes(data, 0, (int) Math.min(CHUNK, left));
      if (count == 0) {
        throw new java.io.EOFException("the file has become shorter");
      }
      crc.calculateChunkedSums(data, 0, count, sums, 0);
      digest.update(sums, 0, (count + BYTES_PER_CRC - 1) / BYTES_PER_CRC * CRC_BYTES);
      left -= count;
    }
    return digest.digest();
  }
}
