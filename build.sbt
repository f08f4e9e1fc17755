// The JVM half of Springbok: one jar, no dependency but Spark itself.

// One place for the version: the file VERSION, read here and by pyproject.toml.
ThisBuild / version := IO.read(file("VERSION")).trim
ThisBuild / scalaVersion := "2.13.18"
ThisBuild / organization := "org.apache.spark.springbok"

val sparkVersion = "4.2.0"

// What bin/spark-class adds for Java 17; forked tests need it too.
val sparkOpens = Seq(
  "java.base/java.lang",
  "java.base/java.lang.invoke",
  "java.base/java.lang.reflect",
  "java.base/java.io",
  "java.base/java.net",
  "java.base/java.nio",
  "java.base/java.util",
  "java.base/java.util.concurrent",
  "java.base/java.util.concurrent.atomic",
  "java.base/jdk.internal.ref",
  "java.base/sun.nio.ch",
  "java.base/sun.nio.cs",
  "java.base/sun.security.action",
  "java.base/sun.util.calendar"
).map(p => s"--add-opens=$p=ALL-UNNAMED")

lazy val springbok = (project in file("jvm"))
  .settings(
    name := s"springbok-spark-${sparkVersion.split('.').take(2).mkString(".")}",
    libraryDependencies ++= Seq(
      "org.apache.spark" %% "spark-sql" % sparkVersion % Provided,
      "org.scalatest" %% "scalatest" % "3.2.19" % Test,
      "com.tngtech.archunit" % "archunit" % "1.4.1" % Test,
      // A connector with runtime filtering, and tables whose files stand in a log: no release for this Spark yet, the one
      // for the line before works.
      ("org.apache.spark" %% "spark-catalyst" % sparkVersion % Test).classifier("tests"),
      "io.delta" % "delta-spark_4.1_2.13" % "4.2.0" % Test
    ),
    scalacOptions ++= Seq(
      "-release:17",
      "-encoding:utf8",
      "-deprecation",
      "-feature",
      "-unchecked",
      "-Xsource:3",
      "-language:existentials",
      "-Xsource-features:case-apply-copy-access",
      "-Xlint:_,-missing-interpolator",
      "-Wunused",
      "-Wvalue-discard",
      "-Wdead-code",
      "-Werror",
      // Spark's own sources are Scala 2 sources: overriding them is not worth warnings on inferred types.
      "-Wconf:cat=scala3-migration:s"
    ),
    Compile / doc / sources := Nil,
    // What the jar says of itself at run time: its version and the Spark that it was compiled for.
    Compile / resourceGenerators += Def.task {
      val f = (Compile / resourceManaged).value / "springbok.properties"
      IO.write(f, s"version=${version.value}\nspark.version=$sparkVersion\n")
      Seq(f)
    }.taskValue,
    Test / fork := true,
    Test / parallelExecution := false,
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    Test / javaOptions ++= sparkOpens ++ Seq(
      "-Xmx3g",
      "-XX:+UseParallelGC",
      "-Dspringbok.testing=true",
      "-Dspark.ui.enabled=false",
      "-Djava.io.tmpdir=" + (target.value / "tmp").getAbsolutePath
    ),
    Test / testOptions ++= {
      val tmp = target.value / "tmp"
      Seq(
        Tests.Argument(TestFrameworks.ScalaTest, "-oDF", "-W", "120", "60"),
        Tests.Setup(() => IO.createDirectory(tmp))
      )
    },
    // Where the Python build hook picks the jar up: exactly one file, whatever the version.
    Compile / packageBin / artifactPath := target.value / "jar" / s"${name.value}_2.13-${version.value}.jar"
  )
