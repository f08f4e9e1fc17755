package org.apache.spark.sql.springbok.stats.estimate

import org.apache.spark.sql.catalyst.expressions.Expression

/** The values that the keys of both sides of a join are taken from. */
object KeyDomain {

  /**
   * Number of distinct key combinations that rows of both sides are taken from. It is the divisor of Impala's generic join
   * formula `lhs × rhs / max(ndvL, ndvR)`, with these exceptions:
   *
   *   - If the key is surely unique on one side, the other side's number of values counts if it is known and smaller.
   *     Queries ask a dimension for what the facts have, so its filtered rows are among them. This is Impala's FK/PK
   *     formula `lhs × rhs/rhsTableRows × rhsNdv/lhsNdv`, at most lhs.
   *   - If only the tables' row counts bound the values of both sides, the smaller one counts: a foreign key has no more
   *     values than the key that it refers to.
   *   - If nothing is known of the keys, each row counts as a value.
   *   - A key of which both sides have one value left tells nothing, as where conditions fix it.
   */
  def of(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Double = {
    val open = leftKeys.zip(rightKeys).filterNot { case (a, b) => isFixed(a, l) && isFixed(b, r) }
    if (open.isEmpty) 1.0 else ofOpen(open.map(_._1), open.map(_._2), l, r)
  }

  /** Whether one value of a key is expected to be left. */
  def isFixed(key: Expression, e: Estimate): Boolean = column(key, e).exists(_.remaining <= 1)

  private def ofOpen(
      leftKeys: Seq[Expression],
      rightKeys: Seq[Expression],
      l: Estimate,
      r: Estimate
  ): Double =
    (ndv(leftKeys, l), ndv(rightKeys, r)) match {
      case (Some(a), Some(b)) =>
        (uniqueness(leftKeys, l).proven, uniqueness(rightKeys, r).proven) match {
          case (true, true) => math.max(a.ndv, b.ndv)
          case (false, true) => referenced(a, b, r)
          case (true, false) => referenced(b, a, l)
          case _ if a.tight || b.tight => math.max(a.ndv, b.ndv)
          case _ => math.min(a.ndv, b.ndv)
        }
      case (Some(a), None) => a.ndv
      case (None, Some(b)) => b.ndv
      case (None, None) => Seq(l, r).flatMap(_.rows).map(_.value).minOption.getOrElse(1.0)
    }

  /** The domain of keys that refer to a unique key: none of their rows finds two of its rows. */
  private def referenced(referring: KeyNdv, unique: KeyNdv, side: Estimate): Double = {
    val values = if (referring.tight) math.min(referring.ndv, unique.ndv) else unique.ndv
    math.max(values, side.rows.fold(0.0)(_.value))
  }

  /** Pairs of rows with equal keys, None if the rows of a side are unknown. */
  def pairs(leftKeys: Seq[Expression], rightKeys: Seq[Expression], l: Estimate, r: Estimate): Option[Double] =
    for (lr <- l.rows; rr <- r.rows) yield pairs(lr, rr, of(leftKeys, rightKeys, l, r))

  def pairs(l: Rows, r: Rows, domain: Double): Double = l.value * r.value / math.max(1.0, domain)

  /**
   * The fraction of a side's rows whose key is among the keys of another side, None if the rows of that one are unknown.
   *
   * @param from
   *   the other side's key
   */
  def retained(key: Expression, from: Expression, mine: Estimate, other: Estimate): Option[Double] =
    other.rows.map { rows =>
      val distinct = from.references.headOption.flatMap(other.columns.get).fold(rows.value)(_.remaining)
      math.min(1, math.min(distinct, rows.value) / of(Seq(key), Seq(from), mine, other))
    }

  /** Distinct combinations of keys that the rows of a side are expected to have. */
  def present(keys: Seq[Expression], side: Estimate, rows: Rows): Double = {
    val left = keys.flatMap(column(_, side)).map(_.remaining)
    if (left.size == keys.size) math.min(rows.value, left.product) else rows.value
  }

  /**
   * The part of the keys of a side's rows that another side has not. The side with fewer keys is expected to have only such
   * that the other one has as well (Selinger et al., 1979). 0 if nothing is known.
   */
  def missing(keys: Seq[Expression], otherKeys: Seq[Expression], side: Estimate, other: Estimate): Double =
    other.rows.fold(0.0) { rows =>
      val domain = of(keys, otherKeys, side, other)
      val all =
        if (uniqueness(otherKeys, other).proven) domain
        else ndv(keys, side).fold(domain)(n => math.max(domain, n.ndv))
      1 - math.min(1.0, present(otherKeys, other, rows) / math.max(1.0, all))
    }

  /** A combination of keys is unique if one of them is. */
  def uniqueness(keys: Seq[Expression], e: Estimate): Uniqueness =
    keys.flatMap(column(_, e)).foldLeft[Uniqueness](Uniqueness.Unknown)((u, c) => u.max(c.uniqueness))

  /** The column that a key is, or of which it is a cast that changes no value. */
  private def column(key: Expression, e: Estimate): Option[ColumnStats] = key match {
    case WidenedColumn(a) => e.columns.get(a)
    case _ => None
  }

  final private case class KeyNdv(ndv: Double, tight: Boolean)

  private def ndv(keys: Seq[Expression], e: Estimate): Option[KeyNdv] = {
    val stats = keys.flatMap(column(_, e))
    Option.when(stats.size == keys.size && stats.forall(_.ndv.isDefined)) {
      val combinations = stats.flatMap(_.ndv).product
      KeyNdv(math.min(combinations, stats.map(_.table.rows).max), stats.size == 1 && stats.forall(_.tight))
    }
  }
}

/** Number of distinct values of a column. */
sealed trait Distinct {
  def value: Double

  /** Whether more than the number of rows bounds it. */
  def tight: Boolean

  /** No more than this many, unless the statistics are wrong. */
  def atMost: Double = value

  /** The value as far as it is known without reading a file. */
  def known: Double = value
}

object Distinct {

  /** Counted: by ANALYZE TABLE, by the source, or by the listing of partitions. */
  final case class Counted(value: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /**
   * From the range of integers, which has room for fewer values than there are rows.
   *
   * @param atMost
   *   more than the value if the range is that of a sample
   */
  final case class Estimated(value: Double, override val atMost: Double) extends Distinct {
    override def tight: Boolean = true
  }

  /** About as many as there are rows, or fewer. */
  final case class UpperBound(value: Double) extends Distinct {
    override def tight: Boolean = false
  }

  /**
   * From a sample of the files, which is read when the number is first asked for.
   *
   * @param atMost
   *   values that there can be; what the sample says is no bound
   * @param count
   *   about how many there are; None if the files do not tell
   */
  final class Sampled(override val atMost: Double, count: => Option[Double]) extends Distinct {
    @volatile private var asked = false
    private lazy val found = {
      asked = true
      count.filter(_ < atMost * Distinct.nearlyAll)
    }
    override def value: Double = found.getOrElse(atMost)
    override def tight: Boolean = found.isDefined
    override def known: Double = if (asked) value else atMost
  }

  /** Fewer values than this fraction of the rows say more than the number of rows. */
  private[estimate] val nearlyAll = 0.9
}
