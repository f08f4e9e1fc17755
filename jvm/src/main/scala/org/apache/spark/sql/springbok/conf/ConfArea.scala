package org.apache.spark.sql.springbok.conf

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.spark.internal.config.{ConfigBuilder, ConfigEntry, OptionalConfigEntry, TypedConfigBuilder}
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/**
 * A setting.
 *
 * @param kind
 *   what its values look like, for `settings.json`
 * @param allowed
 *   the values of a mode or a list of modes; for other kinds, values beside those of the kind
 * @param documented
 *   whether it is in `docs/configs.md`; the others are for support and experiments, and are set in the same way
 */
final case class Setting(entry: ConfigEntry[?], kind: String, allowed: Seq[String], documented: Boolean)

/**
 * The settings of one area. Each entry is typed and documented, and joins the list of its area when it is built. Spark
 * checks a value when it is set, and its error message names the values that are allowed.
 */
abstract private[conf] class ConfArea {
  private val built = mutable.ArrayBuffer.empty[Setting]
  private val hidden = mutable.ArrayBuffer.empty[ConfigEntry[?]]

  private var documents = true

  /** The settings of this area, in the order in which they were built. */
  def settings: Seq[Setting] = built.toSeq

  /** Settings for tests. */
  def internals: Seq[ConfigEntry[?]] = hidden.toSeq

  /** A setting that few users need. Spark does not list it, and neither does the documentation. */
  protected def expert[T](entry: => ConfigEntry[T]): ConfigEntry[T] = {
    documents = false
    try entry
    finally documents = true
  }

  protected def flag(key: String, default: Boolean)(doc: String): ConfigEntry[Boolean] =
    added("boolean", builder(key, doc).booleanConf.createWithDefault(default))

  protected def number(key: String, default: Int, valid: Int => Boolean, rule: String)(
      doc: String
  ): ConfigEntry[Int] =
    added("int", builder(key, doc).intConf.checkValue(valid, rule).createWithDefault(default))

  protected def fraction(key: String, default: Double, valid: Double => Boolean, rule: String)(
      doc: String
  ): ConfigEntry[Double] =
    added("double", builder(key, doc).doubleConf.checkValue(valid, rule).createWithDefault(default))

  /**
   * A size.
   *
   * @param words
   *   further values, and the sizes that they stand for
   */
  protected def bytes(
      key: String,
      default: Long,
      valid: Long => Boolean,
      rule: String,
      words: Map[String, Long] = Map.empty
  )(doc: String): ConfigEntry[Long] = {
    val sizes = builder(key, doc).bytesConf(ByteUnit.BYTE)
    val read = new TypedConfigBuilder[Long](
      sizes.parent,
      s => words.getOrElse(s.trim.toLowerCase(Locale.ROOT), sizes.converter(s)),
      sizes.stringConverter
    )
    added("bytes", read.checkValue(valid, rule).createWithDefault(default), words.keys.toSeq)
  }

  /** A time in ms. A value may have a unit, such as `2s`. */
  protected def time(key: String, default: Long, valid: Long => Boolean, rule: String)(
      doc: String
  ): ConfigEntry[Long] = {
    val ms = builder(key, doc).timeConf(TimeUnit.MILLISECONDS).checkValue(valid, rule)
    // The default is shown without a unit.
    added(
      "time",
      new TypedConfigBuilder[Long](ms.parent, ms.converter, _.toString).createWithDefault(default)
    )
  }

  protected def mode[M <: Mode](key: String, default: M, modes: Modes[M])(doc: String): ConfigEntry[M] = {
    val names = text(key, doc).checkValues(modes.all.map(_.name).toSet)
    val typed = new TypedConfigBuilder[M](names.parent, s => modes.named(names.converter(s)), _.name)
    added("string", typed.createWithDefault(default), modes.all.map(_.name))
  }

  protected def modes[M <: Mode](key: String, modes: Modes[M], rule: String)(
      doc: String
  ): ConfigEntry[Seq[M]] = {
    val all = modes.all.map(_.name)
    val names = text(key, doc).toSequence.checkValue(_.forall(all.contains), rule)
    val typed = new TypedConfigBuilder[Seq[M]](
      names.parent,
      s => names.converter(s).map(modes.named),
      _.map(_.name).mkString(",")
    )
    added("list", typed.createWithDefault(modes.all), all)
  }

  /** Fingerprints of queries; empty if it is not set. */
  protected def fingerprints(key: String)(doc: String): ConfigEntry[Seq[String]] = {
    val texts = builder(key, doc).stringConf.toSequence
    val rule = "must be fingerprints of reports: 16 digits of 0-9 and a-f, separated by commas"
    added("fingerprints", texts.checkValue(_.forall(_.matches("[0-9a-f]{16}")), rule).createWithDefault(Nil))
  }

  /** A path; empty if it is not set. */
  protected def path(key: String)(doc: String): ConfigEntry[String] =
    added("path", builder(key, doc).stringConf.createWithDefault(""))

  /** A setting for tests, which is not documented. */
  protected def internal[T](key: String, doc: String)(
      of: ConfigBuilder => TypedConfigBuilder[T]
  ): OptionalConfigEntry[T] = {
    val entry = of(builder("internal." + key, doc).internal()).createOptional
    hidden += entry
    entry
  }

  private def text(key: String, doc: String): TypedConfigBuilder[String] =
    builder(key, doc).stringConf.transform(_.toUpperCase(Locale.ROOT))

  private def builder(key: String, doc: String): ConfigBuilder = {
    val b = SQLConf.buildConf(ConfArea.prefix + key).doc(doc).version("0.1.0")
    if (documents) b else b.internal()
  }

  private def added[T](kind: String, entry: ConfigEntry[T], allowed: Seq[String] = Nil): ConfigEntry[T] = {
    built += Setting(entry, kind, allowed, documents)
    entry
  }
}

private[conf] object ConfArea {
  val prefix = "spark.springbok."
}

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

  /** Plain predicates on scans alone, without operators. */
  case object Plain extends FilterMode("PLAIN")
  override def all: Seq[FilterMode] = Seq(Off, Local, Global, Plain)
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
