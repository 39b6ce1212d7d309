package io.windtunnel.ceph;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/** {@link CephFileSystem} for users of FileContext, such as YARN and MapReduce. */
public final class CephFs extends DelegateToFileSystem {
  /** Called by Hadoop: {@code fs.AbstractFileSystem.ceph.impl}. */
  public CephFs(URI name, Configuration conf) throws IOException, URISyntaxException {
    super(name, new CephFileSystem(), conf, CephFileSystem.SCHEME, false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }
}
