package org.apache.spark.sql.springbok.catalyst;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.FieldVisitor;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;

/**
 * Whether Spark has the members that Springbok's classes use: a vendor's build may lack one, and a query would fail with a
 * {@code NoSuchMethodError}. The build writes the list of members into the jar, as {@code springbok.members}: a line with
 * a class, then an indented line for each member, which is a name and a descriptor. The classes are read, not loaded.
 */
public final class MemberCheck {
  private static final String LIST = "springbok.members";

  private final ClassLoader loader;
  private final Map<String, Content> read = new HashMap<>();

  private MemberCheck(ClassLoader loader) {
    this.loader = loader;
  }

  /** The first class or member that is missing, as a person writes it; null if all are there, or the jar has no list. */
  public static String missing() {
    ClassLoader loader = MemberCheck.class.getClassLoader();
    try (InputStream in = loader.getResourceAsStream(LIST)) {
      return in == null ? null : missing(loader, in);
    } catch (IOException | RuntimeException | LinkageError e) {
      // A check that fails is no reason to stay off: each rule catches what it meets.
      return null;
    }
  }

  /** As above, of the classes that a loader has and of a list. */
  static String missing(ClassLoader loader, InputStream list) throws IOException {
    return new MemberCheck(loader).firstMissing(list);
  }

  private String firstMissing(InputStream list) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8));
    String owner = null;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      boolean isMember = line.startsWith(" ");
      if (!isMember) owner = line;
      if (isMember ? !has(owner, line.substring(1)) : content(owner) == null)
        return owner.replace('/', '.') + (isMember ? "." + line.substring(1) : "");
    }
    return null;
  }

  /** Whether a class has the member, or inherits it. */
  private boolean has(String owner, String member) throws IOException {
    if (!owner.startsWith("org/apache/")) return isForeign(owner, member);
    Content c = content(owner);
    if (c == null) return false;
    if (c.members.contains(member)) return true;
    for (String parent : c.parents) if (has(parent, member)) return true;
    return false;
  }

  /** Whether a class of Java or Scala has a method of that name: those are loaded anyhow. */
  private boolean isForeign(String owner, String member) {
    String name = member.substring(0, Math.max(member.indexOf('('), 0));
    try {
      Class<?> type = Class.forName(owner.replace('/', '.'), false, loader);
      for (Class<?> c = type; c != null; c = c.getSuperclass())
        for (Method m : c.getDeclaredMethods()) if (m.getName().equals(name)) return true;
      for (Method m : type.getMethods()) if (m.getName().equals(name)) return true;
      return false;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  private Content content(String name) throws IOException {
    if (!read.containsKey(name))
      try (InputStream in = loader.getResourceAsStream(name + ".class")) {
        read.put(name, in == null ? null : Content.of(in));
      }
    return read.get(name);
  }

  /** The members that a class declares, and its superclass and interfaces. */
  private static final class Content extends ClassVisitor {
    private final Set<String> members = new HashSet<>();
    private final List<String> parents = new ArrayList<>();

    private Content() {
      super(Opcodes.ASM9);
    }

    static Content of(InputStream in) throws IOException {
      Content c = new Content();
      new ClassReader(in).accept(c, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
      return c;
    }

    @Override
    public void visit(int v, int access, String name, String generic, String parent, String[] interfaces) {
      if (parent != null) parents.add(parent);
      for (String i : interfaces) parents.add(i);
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] errors) {
      members.add(name + type);
      return null;
    }

    @Override
    public FieldVisitor visitField(int access, String name, String type, String generic, Object value) {
      members.add(name + " " + type);
      return null;
    }
  }
}
