addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5.6")
addSbtPlugin("ch.epfl.scala" % "sbt-scalafix" % "0.14.3")

// Reads the classes, for the list of members that they use of Spark.
libraryDependencies += "org.ow2.asm" % "asm" % "9.8"
