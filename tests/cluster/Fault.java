import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.api.java.UDF2;

/** True, but the first row that meets an action runs it: `halt <marker>`, `throw <marker>`, `delete <marker> <folder>`. */
public class Fault implements UDF2<Long, String, Boolean> {
  @Override
  public Boolean call(Long value, String action) throws Exception {
    if (value == null || value % 100 != 57 || action.equals("none")) return true;
    String[] words = action.split(" ");
    if (words[0].equals("slow")) {
      // Every executor but the second attempt is slow: speculation has something to win.
      if (first(words[1])) Thread.sleep(4000);
      return true;
    }
    if (!first(words[1])) return true;
    switch (words[0]) {
      case "halt":
        Runtime.getRuntime().halt(1);
        break;
      case "throw":
        throw new IllegalStateException("injected");
      case "delete":
        List<Path> found;
        try (Stream<Path> files = Files.walk(Path.of(words[2]))) {
          found = files.filter(f -> f.getFileName().toString().startsWith("shuffle_")).collect(Collectors.toList());
        }
        for (Path f : found) Files.deleteIfExists(f);
        break;
      default:
        throw new IllegalArgumentException(action);
    }
    return true;
  }

  /** A file that can be made once, whichever process makes it. */
  private static boolean first(String marker) throws Exception {
    try {
      Files.createFile(Path.of(marker));
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }
}
