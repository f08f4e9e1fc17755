package org.apache.spark.sql.springbok.catalyst;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Properties;

/**
 * Whether this jar can work on the Spark that runs. In Java, because it runs on every Scala version: see {@code
 * SpringbokExtensions}.
 */
public final class RunningSpark {
  private static final Properties JAR = properties();

  /** Springbok's own version. */
  public static final String VERSION = JAR.getProperty("version", "unknown");

  private static final String SCALA = scala.util.Properties.versionNumberString();

  private static final String REFUSAL = judge();

  private RunningSpark() {}

  /** Why this jar stays off on the Spark that runs, in one sentence; null if it works there. */
  public static String refusal() {
    return REFUSAL;
  }

  /**
   * Why this jar stays off on a Spark, in one sentence; null if it works there. Members are not looked at.
   *
   * @param spark the version of that Spark; vendors' versions such as {@code 3.5.6-amzn-1} belong to the line that they
   *     begin with
   * @param scala the version of its Scala library
   */
  public static String refusal(String spark, String scala) {
    String madeFor = JAR.getProperty("spark.version", spark);
    String madeWith = JAR.getProperty("scala.version", scala);
    if (line(spark).equals(line(madeFor)) && line(scala).equals(line(madeWith))) return null;
    return "Springbok "
        + VERSION
        + " was made for Spark " + line(madeFor) + " (Scala " + line(madeWith) + ") and this is Spark "
        + spark + " (Scala " + line(scala) + "): it stays off, and Spark plans alone. "
        + "The jar for this Spark is the one that 'python -m springbok jar --spark " + line(spark) + " --scala "
        + line(scala) + "' prints.";
  }

  private static String judge() {
    String spark = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    String why = refusal(spark, SCALA);
    if (why != null) return why;
    // A build has compared its members: reading them takes 0.4 s.
    String revision = org.apache.spark.package$.MODULE$.SPARK_REVISION();
    boolean known = Arrays.asList(JAR.getProperty("spark.revisions", "").split(",")).contains(revision);
    if (known && !revision.isEmpty()) return null;
    String missing = MemberCheck.missing();
    if (missing == null) return null;
    return "Springbok " + VERSION + " needs " + missing + ", which this Spark " + spark
        + " lacks: it stays off, and Spark plans alone.";
  }

  /** The first two parts of a version. */
  private static String line(String version) {
    String[] parts = version.split("[.-]");
    return String.join(".", Arrays.asList(parts).subList(0, Math.min(2, parts.length)));
  }

  private static Properties properties() {
    Properties p = new Properties();
    try (InputStream in = RunningSpark.class.getClassLoader().getResourceAsStream("springbok.properties")) {
      if (in != null) p.load(in);
    } catch (IOException e) {
      // Then the jar says nothing of itself, and is taken to be made for the Spark that runs.
    }
    return p;
  }
}
