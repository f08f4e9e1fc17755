import scala.sys.process._
import scala.util.Try

import sbt._
import sbt.Keys._

/** What a release needs besides the classes. RELEASING.md says how it is made. */
object Publish {
  val page = "https://github.com/springbok-sql/springbok"

  // What docs/use/roll-out.md calls stable. All other classes may change at any time.
  private val public = Set("SpringbokExtensions.java", "ExplainSection.scala", "ReportJson.scala")

  /** The version with the commit that is built, such as 0.1.0+d5ae6c3; a changed tree adds `.dev`. A line of a report has room for it. */
  def build(version: String): String =
    if (!file(".git").exists) version // a source distribution
    else {
      val git = "git describe --always --exclude=* --abbrev=7 --dirty=.dev"
      val commit = Try(git.lineStream_!(ProcessLogger(_ => ())).headOption).toOption.flatten
      (version +: commit.toSeq).mkString("+")
    }

  val settings: Seq[Setting[_]] = Seq(
    // Scaladoc of the public classes. The others are there as classes.
    Compile / doc / sources := (Compile / sources).value.filter(f => public(f.getName)),
    Compile / doc / dependencyClasspath ++= (Compile / exportedProducts).value,
    Compile / doc / scalacOptions := Nil,
    pomIncludeRepository := (_ => false),
    publishTo := localStaging.value
  ) ++ Seq(packageBin, packageSrc, packageDoc).map { jar =>
    Compile / jar / mappings ++= Seq("LICENSE", "NOTICE").map(f =>
      (ThisBuild / baseDirectory).value / f -> s"META-INF/$f"
    )
  }
}
