package io.windtunnel.trino;

import java.lang.reflect.InvocationTargetException;

/**
 * Starts Trino's server. Its own main class checks the Java and calls the same; the jar of that
 * class is not published with each release. By reflection, for it needs a newer Java to be read.
 */
public final class Main {
  private Main() {}

  /** Takes the version, which coordinator and workers compare. */
  public static void main(String[] args) throws Exception {
    Class<?> server = Class.forName("io.trino.server.Server");
    Object made = server.getDeclaredConstructor().newInstance();
    try {
      server.getMethod("start", String.class).invoke(made, args[0]);
    } catch (InvocationTargetException failed) {
      failed.getCause().printStackTrace();
      System.exit(100);
    }
  }
}
