package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{LinearColumn, SparkTypes}
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterType}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The keys of a build side as predicates on a column of the probe side, which every key satisfies. */
final private[springbok] class KeyPredicates(column: Attribute, conf: SQLConf) {
  import KeyPredicates._
  private val types = conf.getConf(FilterConf.TYPES).toSet

  /** All keys, where they are listed, lists are allowed and a reader takes each of them for what it is. */
  def listed(k: KeyFacts): Option[Seq[Any]] =
    Option(k.values)
      .map(_.toArray.toSeq)
      .filter(vs => types(FilterType.In) && vs.forall(readable(_, column.dataType)))

  /** Every key that the column can hold; one that it cannot is none of its values. */
  def exact(values: Option[Seq[Any]]): Option[(String, Expression)] = values.map { vs =>
    val fitting = vs.flatMap(literal(_, column.dataType))
    val predicate =
      if (fitting.isEmpty) Literal.FalseLiteral
      else if (fitting.size <= shortList) In(column, fitting)
      else InSet(column, fitting.map(_.value).toSet)
    "in" -> predicate
  }

  def bounded(k: KeyFacts): Option[(String, Expression)] =
    for (
      (low, high) <- k.range
      if types(FilterType.MinMax) && Seq(low, high).forall(readable(_, column.dataType));
      p <- between(low, high)
    )
      yield "minmax" -> p

  /** A bound outside of the column's type bounds nothing. */
  def between(low: Any, high: Any): Option[Expression] = {
    val from: Option[Expression] = literal(low, column.dataType).map(GreaterThanOrEqual(column, _))
    val to: Option[Expression] = literal(high, column.dataType).map(LessThanOrEqual(column, _))
    (from ++ to).reduceOption(And(_, _))
  }
}

private[sql] object KeyPredicates {

  /**
   * Whether a source reads the value unchanged. Readers turn strings into Java strings, which changes invalid UTF-8. Days
   * before the Gregorian calendar, days that the JVM's time zone skipped (Samoa in 2011), and timestamps before 1900 may
   * change too.
   */
  def readable(v: Any, t: DataType): Boolean = (v, t) match {
    case (s: UTF8String, _) => SparkTypes.isValid(s)
    case (n: Number, DateType) =>
      n.longValue >= RebaseDateTime.lastSwitchGregorianDay && isDayOfJava(n.longValue)
    case (n: Number, TimestampType | TimestampNTZType) => n.longValue >= from1900
    case _ => true
  }

  /**
   * Whether a value is compared alike by sources that keep their smallest and largest values as Java's strings: ORC files,
   * Delta's log and Iceberg. They replace bytes that are not valid UTF-8 by U+FFFD, and ORC sorts characters from U+E000 on in
   * another order than UTF-8. Both affect only bytes from 0x80 on. An ASCII value differs from a bound first at a byte below
   * 0x80, which is unchanged, or at one that stays above ASCII.
   */
  def isAscii(value: Any): Boolean = value match {
    case s: UTF8String => s.getBytes.forall(_ >= 0)
    case _ => true
  }

  /**
   * Whether a timestamp is compared alike by Delta's log. Delta 3.2 and 3.3 cut the offset of the session's time zone to whole
   * minutes when they write their smallest and largest values (issue 5249 of delta-io/delta). No time zone has had seconds in
   * its offset since January 7, 1972.
   */
  def hasOffsetInMinutes(value: Any): Boolean = value match {
    case n: Number => n.longValue >= from1972
    case _ => true
  }

  /** Whether it holds for all keys that a reader may be told of. */
  def all(k: KeyFacts)(holds: Any => Boolean): Boolean =
    Option(k.values).forall(_.toArray.forall(holds(_: Any))) &&
      k.range.forall { case (low, high) => holds(low) && holds(high) }

  private def isDayOfJava(day: Long): Boolean =
    day.isValidInt && DateTimeUtils.fromJavaDate(DateTimeUtils.toJavaDate(day.toInt)) == day

  /** Microseconds of 1900-01-01, from which on no time zone's history differs between the calendars. */
  private val from1900 = -2208988800000000L

  /** Microseconds of 1972-01-09, which is after 1972-01-07 in each time zone. */
  private val from1972 = 63763200000000L

  /** The bound of a comparison, if the column's type has it and its source takes it for what it is. */
  def bound(column: Attribute, c: Comparison, value: Any): Option[Expression] =
    literal(value, column.dataType)
      .filter(_ => readable(value, column.dataType))
      .map(asked(column, c).predicate(column, _))

  /** A file of milliseconds is asked for the whole millisecond that a bound lies in. */
  def asked(column: Attribute, c: Comparison): Comparison = column.dataType match {
    case TimestampType | TimestampNTZType => c.copy(orEqual = true)
    case _ => c
  }

  /** The predicate, or that the column lies in a range at an end of its type. */
  def orWithin(column: Attribute, predicate: Expression, ends: Seq[LinearColumn.Span]): Expression =
    (predicate +: ends.flatMap(within(column, _)))
      .filter(_ != Literal.FalseLiteral)
      .reduceOption(Or(_, _))
      .getOrElse(Literal.FalseLiteral)

  /** In the shortest form: ORC multiplies alternatives that have two bounds. */
  private def within(column: Attribute, end: LinearColumn.Span): Option[Expression] =
    for (low <- literal(end.low, column.dataType); high <- literal(end.high, column.dataType)) yield {
      val isLower = LinearColumn.typeSpan(column.dataType).exists(_.low == end.low)
      if (end.low == end.high) EqualTo(column, low)
      else if (isLower) LessThanOrEqual(column, high)
      else GreaterThanOrEqual(column, low)
    }

  /** A list this short is pushed even where ranges do not prune. */
  val shortList = 16

  /** A key's value, as [[KeyFacts]] keeps it, as a literal of this type; None if the type cannot hold it. */
  def literal(v: Any, t: DataType): Option[Literal] = (v, t) match {
    case (l: Long, IntegerType) => Option.when(l.isValidInt)(Literal(l.toInt, t))
    case (l: Long, DateType) => Option.when(l.isValidInt)(Literal(l.toInt, t))
    case (l: Long, ShortType) => Option.when(l.isValidShort)(Literal(l.toShort, t))
    case (l: Long, ByteType) => Option.when(l.isValidByte)(Literal(l.toByte, t))
    case (other, _) => Some(Literal(other, t))
  }
}

/**
 * `probe < build` and its kin.
 *
 * @param below
 *   whether the probe side's value has to be below a value of the build side, and so below the largest, else above
 * @param orEqual
 *   whether it may be equal to it
 */
final case class Comparison(below: Boolean, orEqual: Boolean) {
  def kind: String = if (below) "max" else "min"

  /** The same with its sides exchanged. */
  def turned: Comparison = copy(below = !below)

  def predicate(probe: Expression, bound: Expression): Expression = (below, orEqual) match {
    case (true, true) => LessThanOrEqual(probe, bound)
    case (true, false) => LessThan(probe, bound)
    case (false, true) => GreaterThanOrEqual(probe, bound)
    case (false, false) => GreaterThan(probe, bound)
  }

  /** Whether no value from `min` to `max` has a match. */
  def refuses(min: Double, max: Double, bound: Double): Boolean = (below, orEqual) match {
    case (true, true) => min > bound
    case (true, false) => min >= bound
    case (false, true) => max < bound
    case (false, false) => max <= bound
  }
}
