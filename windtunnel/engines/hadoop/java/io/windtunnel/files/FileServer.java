package io.windtunnel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.ContentSummary;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.StringUtils;

/**
 * Serves the file system of a cluster without HDFS over HTTP, with those operations of WebHDFS that
 * Windtunnel needs: it lists, reads the first bytes of, locates, writes and removes files of any
 * Hadoop file system.
 *
 * <p>Hadoop's own gateway, HttpFS, is not published for the supported releases.
 *
 * <p>Arguments: address, port, and the replicas of every file if the client of the file system does
 * not know them. The default file system comes from the configuration.
 */
public final class FileServer {
  private static final String ROOT = "/webhdfs/v1";
  private static final int THREADS = 4;
  private static final int NOT_FOUND = 404;
  private static final int FAILED = 500;

  private final ObjectMapper json = new ObjectMapper();
  private final FileSystem files;
  private final Short replicas;

  private FileServer(FileSystem files, Short replicas) {
    this.files = files;
    this.replicas = replicas;
  }

  public static void main(String[] args) throws Exception {
    FileSystem files = FileSystem.get(new Configuration());
    FileServer server = new FileServer(files, args.length > 2 ? Short.valueOf(args[2]) : null);
    InetSocketAddress address = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
    HttpServer http = HttpServer.create(address, 0);
    http.createContext(ROOT, server::answer);
    http.setExecutor(Executors.newFixedThreadPool(THREADS));
    http.start();
  }

  private void answer(HttpExchange exchange) throws IOException {
    byte[] body;
    int code = 200;
    try {
      String path = exchange.getRequestURI().getPath().substring(ROOT.length());
      body =
          run(
              new Path(path.isEmpty() ? "/" : path),
              query(exchange.getRequestURI().getRawQuery()),
              exchange.getRequestBody());
    } catch (FileNotFoundException missing) {
      code = NOT_FOUND;
      body = text(missing);
    } catch (IOException | RuntimeException problem) {
      code = FAILED;
      body = text(problem);
    }
    exchange.sendResponseHeaders(code, body.length == 0 ? -1 : body.length);
    try (exchange) {
      exchange.getResponseBody().write(body);
    }
  }

  private byte[] run(Path path, Map<String, String> query, InputStream content)
      throws IOException {
    switch (query.getOrDefault("op", "")) {
      case "LISTSTATUS":
        return list(path);
      case "OPEN":
        return open(path, Integer.parseInt(query.get("length")));
      case "CREATE":
        return create(path, content);
      case "GETFILEBLOCKLOCATIONS":
        return locations(path);
      case "GETFILECHECKSUM":
        return checksum(path);
      case "GETCONTENTSUMMARY":
        return summary(path);
      case "DELETE":
        return json.writeValueAsBytes(Map.of("boolean", files.delete(path, true)));
      case "MKDIRS":
        return json.writeValueAsBytes(Map.of("boolean", files.mkdirs(path)));
      case "SETREPLICATION":
        short copies = Short.parseShort(query.get("replication"));
        return json.writeValueAsBytes(Map.of("boolean", files.setReplication(path, copies)));
      default:
        throw new IOException("no such operation: " + query.get("op"));
    }
  }

  private byte[] list(Path path) throws IOException {
    List<Map<String, Object>> found = new ArrayList<>();
    for (FileStatus status : files.listStatus(path)) {
      Map<String, Object> entry = new HashMap<>();
      entry.put("pathSuffix", status.getPath().getName());
      entry.put("length", status.getLen());
      entry.put("replication", replicas == null ? status.getReplication() : replicas);
      entry.put("type", status.isDirectory() ? "DIRECTORY" : "FILE");
      found.add(entry);
    }
    return json.writeValueAsBytes(Map.of("FileStatuses", Map.of("FileStatus", found)));
  }

  private byte[] open(Path path, int length) throws IOException {
    try (FSDataInputStream in = files.open(path)) {
      return in.readNBytes(length);
    }
  }

  private byte[] create(Path path, InputStream content) throws IOException {
    try (FSDataOutputStream out = files.create(path, false)) {
      content.transferTo(out);
    }
    return new byte[0];
  }

  private byte[] locations(Path path) throws IOException {
    FileStatus status = files.getFileStatus(path);
    List<Map<String, Object>> found = new ArrayList<>();
    for (BlockLocation block : files.getFileBlockLocations(status, 0, status.getLen())) {
      found.add(Map.of("hosts", block.getHosts()));
    }
    return json.writeValueAsBytes(Map.of("BlockLocations", Map.of("BlockLocation", found)));
  }

  private byte[] checksum(Path path) throws IOException {
    FileChecksum found = files.getFileChecksum(path);
    if (found == null) {
      throw new IOException(files.getUri() + " has no checksums of files");
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    found.write(new DataOutputStream(bytes));
    Map<String, Object> entry = new HashMap<>();
    entry.put("algorithm", found.getAlgorithmName());
    entry.put("bytes", StringUtils.byteToHexString(bytes.toByteArray()));
    entry.put("length", found.getLength());
    return json.writeValueAsBytes(Map.of("FileChecksum", entry));
  }

  private byte[] summary(Path path) throws IOException {
    ContentSummary found = files.getContentSummary(path);
    Map<String, Object> entry = new HashMap<>();
    entry.put("length", found.getLength());
    entry.put("spaceConsumed", found.getSpaceConsumed());
    return json.writeValueAsBytes(Map.of("ContentSummary", entry));
  }

  private static Map<String, String> query(String raw) {
    Map<String, String> found = new HashMap<>();
    for (String pair : raw == null ? new String[0] : raw.split("&")) {
      String[] parts = pair.split("=", 2);
      if (parts.length == 2) {
        found.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
      }
    }
    return found;
  }

  private static byte[] text(Exception problem) {
    return String.valueOf(problem).getBytes(StandardCharsets.UTF_8);
  }
}
