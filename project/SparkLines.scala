import java.util.Properties
import java.util.jar.JarFile

import sbt._

/**
 * One line of Spark that Springbok is built for. Adding a line takes one entry here and the files that differ.
 *
 * @param name
 *   the line, as major.minor
 * @param spark
 *   the version that is compiled against
 * @param scala
 *   the Scala version of that Spark
 * @param java
 *   the oldest Java that it runs on
 * @param shims
 *   folders below jvm/src/main/shims that hold the sources of this line and of lines like it
 * @param delta
 *   artifact and version of the Delta that the tests use; without it, its tests are left out
 * @param iceberg
 *   artifact and version of the Iceberg that the tests use; without it, its tests are left out
 * @param hudi
 *   artifact and version of the Hudi that the tests use; without it, its tests are left out
 * @param hive
 *   whether Maven serves the Hive module of this very Spark, which the tests of Hive use; without it, they are left out
 * @param unmanaged
 *   folder of the jars of a Spark that Maven does not serve
 * @param revisions
 *   of other releases of the line that have all members that are used, which a test checks
 * @param leftOut
 *   sources of tests that need something which this Spark, or its package, lacks
 */
final case class SparkLine(
    name: String,
    spark: String,
    scala: String,
    java: String,
    shims: Seq[String],
    delta: Option[(String, String)] = None,
    iceberg: Option[(String, String)] = None,
    hudi: Option[(String, String)] = None,
    hive: Boolean = false,
    unmanaged: Option[String] = None,
    revisions: Seq[String] = Nil,
    leftOut: Seq[String] = Nil
) {
  def scalaBinary: String = scala.split('.').take(2).mkString(".")

  /** Where the line's classes and jar go, below jvm/target. */
  def folder: String = s"spark-${name}_$scalaBinary"

  /** Imported into each source: what the library of Scala 2.12 lacks. Spark for Scala 2.12 ships the first. */
  def extraImports: Seq[String] =
    if (scalaBinary == "2.12")
      Seq("scala.collection.compat._", "org.apache.spark.sql.springbok.catalyst.Collections._")
    else Nil

  /** The Spark that the sources are compiled against; none for a line with unmanaged jars. */
  def dependencies: Seq[ModuleID] =
    if (unmanaged.isDefined) Nil
    else Seq("org.apache.spark" % s"spark-sql_$scalaBinary" % spark % "provided")

  /** What the tests need besides. sbt fetches it for every command, so a build of jars alone leaves it out: `-Dtests=false`. */
  def testDependencies: Seq[ModuleID] = {
    val libraries = Seq(
      "org.scalatest" % s"scalatest_$scalaBinary" % "3.2.19" % "test",
      "com.tngtech.archunit" % "archunit" % "1.4.1" % "test",
      "com.h2database" % "h2" % "2.4.240" % "test"
    )
    // A connector with runtime filtering.
    val catalyst =
      ("org.apache.spark" % s"spark-catalyst_$scalaBinary" % spark % "test").classifier("tests")
    val ofHive = "org.apache.spark" % s"spark-hive_$scalaBinary" % spark % "test"
    if (sys.props.get("tests").contains("false")) Nil
    else
      libraries ++ (if (unmanaged.isDefined) Nil else Seq(catalyst)) ++ (if (hive) Seq(ofHive) else Nil) ++
        delta.map { case (artifact, version) => "io.delta" % artifact % version % "test" } ++
        iceberg.map { case (artifact, version) => "org.apache.iceberg" % artifact % version % "test" } ++
        hudi.map { case (artifact, version) => "org.apache.hudi" % artifact % version % "test" }
  }

  /** The sources of tests that this line cannot compile. */
  def withoutTests: Seq[String] = leftOut ++
    (if (iceberg.isEmpty)
       Seq("IcebergSuite.scala", "IcebergStatisticsSuite.scala", "IcebergMergeSuite.scala")
     else Nil) ++
    (if (delta.isEmpty) Seq("DeltaSuite.scala", "DeltaMergeSuite.scala") else Nil) ++
    (if (hudi.isEmpty) Seq("HudiSuite.scala") else Nil) ++
    (if (hive) Nil else Seq("HiveSuite.scala")) ++
    (if (iceberg.isEmpty || delta.isEmpty) Seq("NeighboursSuite.scala") else Nil)
}

object SparkLines {
  val all: Seq[SparkLine] = Seq(
    SparkLine(
      "3.5",
      "3.5.9",
      "2.12.18",
      "8",
      Seq("scala-2.12", "spark-3.5", "spark-3.5-4.0", "spark-3.5-4.1", "spark-3.5-4.2"),
      delta = Some("delta-spark_2.12" -> "3.3.3"),
      iceberg = Some("iceberg-spark-runtime-3.5_2.12" -> "1.12.0"),
      hudi = Some("hudi-spark3.5-bundle_2.12" -> "1.1.1"),
      hive = true,
      leftOut = Seq("BloomBenchmark.scala")
    ),
    SparkLine(
      "3.5",
      "3.5.9",
      "2.13.8",
      "8",
      Seq("spark-3.5", "spark-3.5-4.0", "spark-3.5-4.1", "spark-3.5-4.2"),
      delta = Some("delta-spark_2.13" -> "3.3.3"),
      iceberg = Some("iceberg-spark-runtime-3.5_2.13" -> "1.11.0"),
      // This Scala's compiler cannot read the classes of ArchUnit. The layers are the same on every line.
      leftOut = Seq("BloomBenchmark.scala", "LayersSuite.scala")
    ),
    SparkLine(
      "4.0",
      "4.0.4",
      "2.13.16",
      "17",
      Seq("spark-3.5-4.0", "spark-3.5-4.1", "spark-3.5-4.2", "spark-4.0-4.3"),
      delta = Some("delta-spark_4.0_2.13" -> "4.4.0"),
      iceberg = Some("iceberg-spark-runtime-4.0_2.13" -> "1.11.0")
    ),
    SparkLine(
      "4.1",
      "4.1.3",
      "2.13.17",
      "17",
      Seq("spark-4.1-4.3", "spark-3.5-4.1", "spark-3.5-4.2", "spark-4.0-4.3"),
      delta = Some("delta-spark_4.1_2.13" -> "4.4.0"),
      iceberg = Some("iceberg-spark-runtime-4.1_2.13" -> "1.12.0")
    ),
    SparkLine(
      "4.2",
      "4.2.0",
      "2.13.18",
      "17",
      Seq("spark-4.1-4.3", "spark-4.2-4.3", "spark-3.5-4.2", "spark-4.0-4.3"),
      delta = Some("delta-spark_4.2_2.13" -> "4.4.0"),
      hive = true,
      // Spark 4.2.1.
      revisions = Seq("617618396087429b5627a86ce933bb0f5d6645cb")
    ),
    SparkLine(
      "4.3",
      "4.3.0",
      "2.13.18",
      "17",
      Seq("spark-4.1-4.3", "spark-4.2-4.3", "spark-4.3", "spark-4.0-4.3"),
      unmanaged = Some(".cache/spark-4.3.0/jars"),
      leftOut = Seq("ConnectorSuite.scala", "ConnectorOutputSuite.scala")
    )
  )

  /** The line that the repository's own tests run on, unless another one is asked for. */
  val current: String = "4.2"

  /** The line that `-Dspark=` and, where there are several, `-Dscala=` name. */
  lazy val selected: SparkLine = {
    val name = sys.props.getOrElse("spark", current)
    val scala = sys.props.get("scala")
    all
      .find(l => l.name == name && scala.forall(_ == l.scalaBinary))
      .getOrElse(sys.error {
        val known = all.map(l => s"${l.name} (Scala ${l.scalaBinary})").mkString(", ")
        s"Springbok is built for Spark $known, not for $name${scala.fold("")(s => s" (Scala $s)")}."
      })
  }

  /** The revision of the Spark among these jars. */
  def revision(jars: Seq[File]): Option[String] = jars
    .filter(_.getName.startsWith("spark-co"))
    .flatMap { f =>
      val (jar, found) = (new JarFile(f), new Properties)
      try
        Option(jar.getEntry("spark-version-info.properties")).foreach(e => found.load(jar.getInputStream(e)))
      finally jar.close()
      Option(found.getProperty("revision"))
    }
    .headOption

  /** The compiler's options. Warnings are errors on the current line alone: other compilers and other Sparks warn otherwise. */
  def scalacOptions(line: SparkLine): Seq[String] = {
    // Functions are classes: a young JVM makes a lambda more slowly than it loads a class.
    val functions = "-Ydelambdafy:inline"
    val all =
      Seq("-encoding", "utf8", "-feature", "-unchecked", "-Xsource:3", "-language:existentials", functions)
    val strict = Seq(
      "-deprecation",
      "-Xsource-features:case-apply-copy-access",
      "-Xlint:_,-missing-interpolator",
      "-Wunused",
      "-Wvalue-discard",
      "-Wdead-code",
      "-Werror",
      // Spark's own sources are Scala 2 sources: overriding them is not worth warnings on inferred types.
      "-Wconf:cat=scala3-migration:s"
    )
    all ++ (if (line.name == current) strict else Seq("-nowarn"))
  }
}
