package org.apache.spark.sql.springbok.conf

/** A value of a setting that takes one of a few names. */
sealed abstract class Mode(val name: String) extends Product with Serializable

/** All values of one kind of mode, in the order of the documentation. */
sealed private[conf] trait Modes[M <: Mode] {
  def all: Seq[M]

  def named(name: String): M =
    all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"$name is not one of $all"))
}

/** What is done with a join if its costs are unknown or equal. */
sealed abstract class JoinMode(name: String) extends Mode(name)
object JoinMode extends Modes[JoinMode] {
  case object Spark extends JoinMode("SPARK")
  case object Broadcast extends JoinMode("BROADCAST")
  case object Partitioned extends JoinMode("PARTITIONED")
  override def all: Seq[JoinMode] = Seq(Spark, Broadcast, Partitioned)
}

/** Which runtime filters are made. */
sealed abstract class FilterMode(name: String) extends Mode(name)
object FilterMode extends Modes[FilterMode] {
  case object Off extends FilterMode("OFF")

  /** Only those of a broadcast join on a scan in the same stage. */
  case object Local extends FilterMode("LOCAL")
  case object Global extends FilterMode("GLOBAL")
  override def all: Seq[FilterMode] = Seq(Off, Local, Global)
}

/** Whether a scan waits for the stage that a runtime filter comes from. */
sealed abstract class FilterWait(name: String) extends Mode(name)
object FilterWait extends Modes[FilterWait] {
  case object Auto extends FilterWait("AUTO")
  case object Always extends FilterWait("ALWAYS")
  case object Never extends FilterWait("NEVER")
  override def all: Seq[FilterWait] = Seq(Auto, Always, Never)
}

/** A kind of runtime filter. */
sealed abstract class FilterType(name: String) extends Mode(name)
object FilterType extends Modes[FilterType] {
  case object In extends FilterType("IN")
  case object MinMax extends FilterType("MINMAX")
  case object Bloom extends FilterType("BLOOM")
  override def all: Seq[FilterType] = Seq(In, MinMax, Bloom)
}
