// The JVM half of Springbok: one jar, no dependency but Spark itself.

// One place for the version: the file VERSION, read here and by pyproject.toml.
ThisBuild / version := IO.read(file("VERSION")).trim
ThisBuild / scalaVersion := SparkLines.selected.scala

// What Maven Central asks of a POM.
inThisBuild(
  Seq(
    organization := "io.github.springbok-sql",
    organizationName := "The Springbok authors",
    homepage := Some(url(Publish.page)),
    licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt")),
    developers := List(Developer("springbok", organizationName.value, "", url(Publish.page))),
    scmInfo := Some(ScmInfo(url(Publish.page), s"scm:git:${Publish.page}.git")),
    versionScheme := Some("early-semver")
  )
)

// The Spark line that is built: sbt -Dspark=4.1 package.
val line = SparkLines.selected
val sparkVersion = line.spark

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

// One JVM of tests keeps 1.2 cores busy, so two share the suites; in each, one suite runs after the other.
val smokeAlone = sys.props.get("suites").contains("smoke")
val testJvms = 2
Global / concurrentRestrictions := Seq(
  Tags.limit(Tags.ForkedTestGroup, testJvms),
  Tags.limitAll(EvaluateTask.SystemProcessors)
)

lazy val springbok = (project in file("jvm"))
  .settings(
    name := s"springbok-spark-${line.name}",
    // sbt would make 4-2 of 4.2.
    moduleName := name.value,
    description := s"Join strategies by cost and runtime filters for Spark SQL ${line.name}",
    // The lines do not compile each other's classes anew.
    target := baseDirectory.value / "target" / line.folder,
    Compile / unmanagedSourceDirectories ++= line.shims.map(s =>
      baseDirectory.value / "src" / "main" / "shims" / s
    ),
    Compile / sources := Imports.into(line, (Compile / sources).value, (Compile / sourceManaged).value),
    // A Spark that Maven does not serve: the jars in PySpark's package.
    Compile / unmanagedJars ++= line.unmanaged.toSeq.flatMap { folder =>
      Attributed.blankSeq(
        ((ThisBuild / baseDirectory).value / folder ** "*.jar").get.filterNot(j =>
          j.name.matches("scala-(library|compiler|reflect)-.*")
        )
      )
    },
    Test / unmanagedSourceDirectories ++= line.shims.map(s =>
      baseDirectory.value / "src" / "test" / "shims" / s
    ),
    Test / unmanagedSources / excludeFilter := new SimpleFileFilter(f =>
      line.withoutTests.contains(f.getName)
    ),
    // Compiling all suites takes longer than running the smoke tests.
    Test / unmanagedSources := {
      val all = (Test / unmanagedSources).value
      if (!smokeAlone) all
      else all.filter(f => !f.getName.endsWith("Suite.scala") || IO.read(f).contains("Smoke"))
    },
    Test / sources := Imports.into(line, (Test / sources).value, (Test / sourceManaged).value),
    libraryDependencies ++= line.dependencies ++ line.testDependencies,
    scalacOptions ++= SparkLines.scalacOptions(line),
    // The jar runs on the oldest Java of its Spark, the tests on the one that builds.
    Compile / scalacOptions ++= Seq("-release", line.java),
    Test / scalacOptions := SparkLines.scalacOptions(line),
    Publish.settings,
    // What the jar says of itself at run time: its version and the Spark that it was compiled for.
    Compile / resourceGenerators += Def.task {
      val f = (Compile / resourceManaged).value / "springbok.properties"
      val revisions =
        line.revisions ++ SparkLines.revision((Compile / externalDependencyClasspath).value.files)
      IO.write(
        f,
        s"version=${Publish.build(version.value)}\nspark.version=$sparkVersion\nscala.version=${line.scala}\n" +
          s"spark.revisions=${revisions.mkString(",")}\n"
      )
      Seq(f)
    }.taskValue,
    // What it needs of Spark, which it looks for at start.
    Compile / packageBin / mappings += {
      val f = (Compile / resourceManaged).value / "springbok.members"
      val _ = (Compile / compile).value
      IO.write(f, Members.of((Compile / classDirectory).value))
      f -> f.getName
    },
    Compile / javacOptions ++= Seq("--release", line.java),
    Test / fork := true,
    // Each JVM of tests has a folder for what Spark keeps in the current one.
    Test / testGrouping := {
      val options = (Test / forkOptions).value
      val tmp = target.value / "tmp"
      (Test / definedTests).value.sortBy(_.name).zipWithIndex.groupBy(_._2 % testJvms).toSeq.map {
        case (i, tests) =>
          val own = tmp / s"fork-$i"
          IO.createDirectory(own)
          val folders =
            Seq(
              "java.io.tmpdir" -> own,
              "derby.system.home" -> own,
              "spark.sql.warehouse.dir" -> own / "warehouse"
            )
          val jvm = options.withRunJVMOptions(
            options.runJVMOptions ++ folders.map { case (key, f) => s"-D$key=${f.getAbsolutePath}" }
          )
          Tests.Group(s"fork $i", tests.map(_._1), Tests.SubProcess(jvm))
      }
    },
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    Test / javaOptions ++= sparkOpens ++ Seq(
      "-Xmx3g",
      // Room for the garbage of a few queries, or the JVM collects it once a second.
      "-Xmn1g",
      "-XX:+UseParallelGC",
      // Tests plan thousands of small queries once: optimized code would cost more time than it saves.
      "-XX:TieredStopAtLevel=1",
      // With one compiler, the JVM reserves 48 MB for code. The suites need more, and interpret what was thrown out.
      "-XX:ReservedCodeCacheSize=512m",
      // Without it, each time the classes outgrow a step, the JVM collects its whole heap.
      "-XX:MetaspaceSize=1g",
      "-Xss4m",
      "-Dspringbok.testing=true",
      "-Dspark.ui.enabled=false"
    ),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF", "-W", "120", "60"),
    // Where the Python build hook picks the jar up: exactly one file, whatever the version.
    Compile / packageBin / artifactPath := target.value / "jar" / s"${name.value}_${line.scalaBinary}-${version.value}.jar"
  )
