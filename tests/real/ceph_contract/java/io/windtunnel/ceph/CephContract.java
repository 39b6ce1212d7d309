package io.windtunnel.ceph;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.contract.AbstractFSContract;

/** What Hadoop's contract tests need to know of CephFS; its options are in contract/ceph.xml. */
public final class CephContract extends AbstractFSContract {
  private FileSystem files;

  public CephContract(Configuration conf) {
    super(conf);
    addConfResource("contract/ceph.xml");
  }

  @Override
  public void init() throws java.io.IOException {
    super.init();
    files = FileSystem.get(getConf());
  }

  @Override
  public FileSystem getTestFileSystem() {
    return files;
  }

  @Override
  public String getScheme() {
    return CephFileSystem.SCHEME;
  }

  @Override
  public Path getTestPath() {
    return new Path("/contract");
  }
}
