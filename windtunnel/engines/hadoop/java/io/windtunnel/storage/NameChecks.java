package io.windtunnel.storage;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/** Names, folders, renames and links. */
final class NameChecks {
  private static final int DEPTH = 60;

  private NameChecks() {}

  static void add(Map<String, StorageChecks.Check> checks) {
    checks.put("rename-file", NameChecks::renameFile);
    checks.put("rename-over-file", NameChecks::renameOverFile);
    checks.put("rename-folder", NameChecks::renameFolder);
    checks.put("rename-over-empty-folder", NameChecks::renameOverEmptyFolder);
    checks.put("rename-below-itself", NameChecks::renameBelowItself);
    checks.put("rename-open-file", NameChecks::renameOpenFile);
    checks.put("hard-link", place -> lacksCall("createLink", "createHardLink", "link", "hardLink"));
    checks.put("symbolic-link", NameChecks::symbolicLink);
    checks.put("long-name", NameChecks::longName);
    checks.put("too-long-name", NameChecks::tooLongName);
    checks.put("unusual-characters", NameChecks::unusualCharacters);
    checks.put("case-of-names", NameChecks::caseOfNames);
    checks.put("deep-folders", NameChecks::deepFolders);
    checks.put("create-folder-once", NameChecks::createFolderOnce);
    checks.put("create-without-parent", NameChecks::createWithoutParent);
    checks.put("remove-full-folder", NameChecks::removeFullFolder);
    checks.put("recursive-delete", NameChecks::recursiveDelete);
    checks.put("list-after-change", NameChecks::listAfterChange);
  }

  /** Hadoop's interface has no call for it, which its class shows. */
  static Answer lacksCall(String... names) {
    boolean has =
        Arrays.stream(FileSystem.class.getMethods())
            .map(Method::getName)
            .anyMatch(Arrays.asList(names)::contains);
    return has
        ? Answer.differs("Hadoop's FileSystem has a call that this check does not use")
        : Answer.no("Hadoop's FileSystem has no call for it");
  }

  private static Answer renameFile(Place place) throws IOException {
    Path from = place.write("from", "text");
    Path to = place.path("to");
    boolean done = place.files().rename(from, to);
    boolean holds = done && !place.other().exists(from) && place.readElsewhere(to).equals("text");
    return Answer.yesIf(holds, "the file has not got its new name");
  }

  private static Answer renameOverFile(Place place) throws Exception {
    Path from = place.write("from", "new");
    Path to = place.write("to", "old");
    String plain;
    try {
      if (place.files().rename(from, to)) {
        return Answer.yesIf(place.readElsewhere(to).equals("new"), "the old content remained");
      }
      plain = "rename() returns false";
    } catch (IOException refused) {
      plain = "rename() fails";
    }
    // the call is not public, but FileContext and committers use it
    Method rename =
        FileSystem.class.getDeclaredMethod(
            "rename", Path.class, Path.class, Options.Rename[].class);
    rename.setAccessible(true);
    try {
      rename.invoke(
          place.files(), from, to, new Options.Rename[] {Options.Rename.OVERWRITE});
    } catch (InvocationTargetException refused) {
      return Answer.no(plain + ", and so does Rename.OVERWRITE");
    }
    boolean replaced = place.readElsewhere(to).equals("new");
    return replaced
        ? Answer.differs(plain + "; only Rename.OVERWRITE replaces the file")
        : Answer.no(plain);
  }

  private static Answer renameFolder(Place place) throws IOException {
    place.write("from/below/file", "text");
    boolean done = place.files().rename(place.path("from"), place.path("to"));
    boolean holds =
        done
            && !place.other().exists(place.path("from"))
            && place.readElsewhere(place.path("to/below/file")).equals("text");
    return Answer.yesIf(holds, "the folder has not got its new name");
  }

  private static Answer renameOverEmptyFolder(Place place) throws IOException {
    place.write("from/file", "text");
    place.files().mkdirs(place.path("to"));
    if (!place.files().rename(place.path("from"), place.path("to"))) {
      return Answer.no("rename() returns false");
    }
    if (place.other().exists(place.path("to/from/file"))) {
      return Answer.differs("the folder is moved into the empty one");
    }
    return Answer.yesIf(place.other().exists(place.path("to/file")), "the content is lost");
  }

  private static Answer renameBelowItself(Place place) throws IOException {
    place.write("from/file", "text");
    boolean done;
    try {
      done = place.files().rename(place.path("from"), place.path("from/below"));
    } catch (IOException refused) {
      done = false;
    }
    boolean kept = place.other().exists(place.path("from/file"));
    return Answer.yesIf(!done && kept, "the rename is not refused");
  }

  private static Answer renameOpenFile(Place place) throws IOException {
    Path from = place.path("from");
    Path to = place.path("to");
    try (FSDataOutputStream out = place.files().create(from)) {
      out.write(Place.bytes("before"));
      if (!place.files().rename(from, to)) {
        return Answer.no("rename() returns false");
      }
      out.write(Place.bytes(" after"));
    }
    String found = place.readElsewhere(to);
    return Answer.yesIf(found.equals("before after"), "the file has " + found.length() + " bytes");
  }

  private static Answer symbolicLink(Place place) throws IOException {
    Path file = place.write("file", "text");
    place.files().createSymlink(file, place.path("link"), false);
    return Answer.yesIf(place.readElsewhere(place.path("link")).equals("text"), "it is not followed");
  }

  private static Answer longName(Place place) throws IOException {
    String name = "n".repeat(255);
    place.write(name, "text");
    return Answer.yesIf(place.lists(name), "the name is not listed");
  }

  private static Answer tooLongName(Place place) throws IOException {
    try {
      place.write("n".repeat(256), "text");
    } catch (IOException refused) {
      return Answer.yes();
    }
    return Answer.no("a name of 256 bytes is accepted");
  }

  private static Answer unusualCharacters(Place place) {
    StringBuilder refused = new StringBuilder();
    for (String name : new String[] {"white space", "a:b", "*?[x]", "\u00fc\u6f22", "line\nbreak"}) {
      try {
        place.write(name, "text");
        if (!place.lists(name)) {
          refused.append(refused.isEmpty() ? "" : ", ").append(shown(name));
        }
      } catch (IOException | IllegalArgumentException problem) {
        refused.append(refused.isEmpty() ? "" : ", ").append(shown(name));
      }
    }
    return refused.isEmpty() ? Answer.yes() : Answer.differs("refused: " + refused);
  }

  private static String shown(String name) {
    return "'" + name.replace("\n", "\\n") + "'";
  }

  private static Answer caseOfNames(Place place) throws IOException {
    place.write("name", "small");
    place.write("NAME", "large");
    boolean both = place.readElsewhere(place.path("name")).equals("small");
    return Answer.yesIf(both, "the names are the same file");
  }

  private static Answer deepFolders(Place place) throws IOException {
    String name = "folder/".repeat(DEPTH) + "file";
    place.write(name, "text");
    return Answer.yesIf(place.readElsewhere(place.path(name)).equals("text"), "it is not read");
  }

  private static Answer createFolderOnce(Place place) throws IOException {
    Path folder = place.path("folder");
    place.files().mkdirs(folder);
    try {
      return place.files().mkdirs(folder)
          ? Answer.differs("mkdirs() succeeds again, so it is no lock")
          : Answer.yes();
    } catch (IOException refused) {
      return Answer.yes();
    }
  }

  private static Answer createWithoutParent(Place place) throws IOException {
    try {
      place.files().createNonRecursive(
          place.path("no/file"), false, 4096, (short) 1, 1 << 20, null).close();
    } catch (FileNotFoundException refused) {
      try {
        place.write("none/file", "text");
      } catch (IOException alsoRefused) {
        return Answer.yes();
      }
      return Answer.differs("create() creates the parent; createNonRecursive() is refused");
    }
    return Answer.no("the parent is created");
  }

  private static Answer removeFullFolder(Place place) throws IOException {
    place.write("folder/file", "text");
    boolean done;
    try {
      done = place.files().delete(place.path("folder"), false);
    } catch (IOException refused) {
      done = false;
    }
    boolean kept = place.other().exists(place.path("folder/file"));
    return Answer.yesIf(!done && kept, "the folder is removed with its content");
  }

  private static Answer recursiveDelete(Place place) throws IOException {
    for (int number = 0; number < 20; number++) {
      place.write("folder/" + number % 3 + "/file-" + number, "text");
    }
    boolean done = place.files().delete(place.path("folder"), true);
    return Answer.yesIf(done && !place.other().exists(place.path("folder")), "something is left");
  }

  private static Answer listAfterChange(Place place) throws IOException {
    for (int number = 0; number < 20; number++) {
      String name = "file-" + number;
      place.write(name, "text");
      if (!place.lists(name)) {
        return Answer.no("another client does not list a new file");
      }
      place.files().delete(place.path(name), false);
      if (place.lists(name)) {
        return Answer.no("another client lists a deleted file");
      }
    }
    return Answer.yes();
  }
}
