package io.windtunnel.ceph;

import com.ceph.fs.CephFileExtent;
import com.ceph.fs.CephMount;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.BlockLocation;

/** The hosts of the blocks of a file, so that YARN can run a task where its data is. */
final class Blocks {
  private Blocks() {}

  static BlockLocation[] locate(Mount mount, String path, long start, long end)
      throws IOException {
    List<BlockLocation> found = new ArrayList<>();
    int file = mount.ceph().open(path, CephMount.O_RDONLY, 0);
    try {
      long object = mount.ceph().get_file_stripe_unit(file);
      for (long at = start / object * object; at < end; at += object) {
        CephFileExtent extent = mount.ceph().get_file_extent(file, at);
        found.add(block(mount.holders(extent), at, Math.min(object, end - at)));
      }
    } finally {
      mount.ceph().close(file);
    }
    return found.toArray(new BlockLocation[0]);
  }

  private static BlockLocation block(List<InetAddress> holders, long offset, long length) {
    String[] names = new String[holders.size()];
    String[] hosts = new String[holders.size()];
    for (int i = 0; i < names.length; i++) {
      names[i] = holders.get(i).getHostAddress();
      hosts[i] = holders.get(i).getHostName();
    }
    return new BlockLocation(names, hosts, offset, length);
  }
}
