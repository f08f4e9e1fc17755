package org.apache.spark.sql.springbok.cost

/** What may be other than expected when joins are ordered. */
sealed trait Scenario {

  /** By how much the join of a set of relations has more rows than estimated. */
  def factor(set: Long, g: JoinGraph): Double
}

object Scenario {

  /** Predicates of unknown selectivity remove no rows. */
  case object NothingGuessed extends Scenario {
    override def factor(set: Long, g: JoinGraph): Double =
      g.members(set).map(g.relations(_)).map(r => math.max(1.0, r.bound / math.max(1.0, r.rows))).product
  }

  /** The joins with a relation leave more rows, because its filter removes fewer or keeps the most frequent keys. */
  final case class More(relation: Int) extends Scenario {
    override def factor(set: Long, g: JoinGraph): Double =
      if ((set & g.bit(relation)) != 0) g.relations(relation).more else 1
  }

  /** The joins with a relation leave fewer rows. */
  final case class Less(relation: Int) extends Scenario {
    override def factor(set: Long, g: JoinGraph): Double =
      if ((set & g.bit(relation)) != 0) 1 / g.relations(relation).less else 1
  }

  /** Keys that are not unique in several relations are frequent in the same ones. */
  final case class Skewed(keys: Int) extends Scenario {
    override def factor(set: Long, g: JoinGraph): Double =
      math.pow(off, math.max(0, java.lang.Long.bitCount(set & g.keys.repeated(keys)) - 1).toDouble)
  }

  /** By how much an estimate of a filtered relation or of a join of repeated keys may be off. */
  val off = 4.0

  /** What may be other than expected with these relations and keys. */
  def of(g: JoinGraph): Seq[Scenario] = {
    val each = g.relations.zipWithIndex
    val skewed = g.keys.repeated.indices.filter(c => java.lang.Long.bitCount(g.keys.repeated(c)) > 1)
    each.collect { case (r, i) if r.more > 1 => More(i) } ++
      each.collect { case (r, i) if r.less > 1 => Less(i) } ++ skewed.map(Skewed(_))
  }
}
