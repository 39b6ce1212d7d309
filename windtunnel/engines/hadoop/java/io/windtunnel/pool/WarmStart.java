package io.windtunnel.pool;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.List;

/**
 * A JVM that warms up, waits for the launch of one container, becomes it, and ends with it.
 *
 * <p>Arguments: the kind ({@code task} or {@code master}), a folder with the settings of the clients, a
 * folder of its own for temporary files, and the files of the host's CPU quota.
 */
public final class WarmStart {
  static final String READY = "windtunnel: warm";

  private WarmStart() {}

  public static void main(String[] args) throws Throwable {
    Become.check();
    Path own = Path.of(args[2], Long.toString(ProcessHandle.current().pid()));
    WarmUp.run(args[0], Path.of(args[1]), own);
    Become.forget();
    System.gc();
    System.out.println(READY);
    System.out.flush();
    BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream("/dev/stdin")));
    String line = in.readLine();
    if (line == null) {
      System.exit(1); // the keeper has ended
    }
    Launch launch = Launch.of(Long.parseLong(line.trim()));
    Become.launch(launch);
    if (args[0].equals("task") && args.length > 3) {
      Quota.atWork(List.of(args).subList(3, args.length));
    }
    Method main = Class.forName(launch.mainClass).getMethod("main", String[].class);
    main.setAccessible(true); // the class need not be public
    try {
      main.invoke(null, (Object) launch.arguments.toArray(new String[0]));
    } catch (InvocationTargetException error) {
      throw error.getCause(); // as if the launcher had called it
    }
  }
}
