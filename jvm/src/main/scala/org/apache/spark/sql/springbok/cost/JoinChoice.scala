package org.apache.spark.sql.springbok.cost

import scala.util.Random

import org.apache.spark.sql.springbok.conf.JoinMode
import org.apache.spark.sql.springbok.reason.Reason

/**
 * What was chosen, of what, and why.
 *
 * @param constraint
 *   what decided before any cost was compared, None where the costs or the default mode decided
 */
final case class JoinChoice(
    chosen: Strategy,
    reason: Reason,
    alternatives: Seq[Alternative] = Nil,
    distribution: Option[Distribution] = None,
    constraint: Option[Constraint] = None
) {

  /** The same alternatives, of which a constraint takes one. */
  def constrained(by: Constraint, to: Strategy): JoinChoice =
    copy(chosen = to, reason = by.reason, constraint = Some(by))
}

/** What decides a join before any cost is compared. Planning branches on this type, never on the reason. */
sealed abstract class Constraint(val reason: Reason)
object Constraint {
  case object ChoiceDisabled extends Constraint(Reason.joinDisabled)
  case object ReadsOpenFile extends Constraint(Reason.openFile)
  case object ConditionOfExtension extends Constraint(Reason.conditionOfExtension)
  case object ReadByFewTasks extends Constraint(Reason.fewTasks)
  final case class UserHint(hint: String) extends Constraint(Reason.hint(hint))
  case object FeedsPartitionPruning extends Constraint(Reason.feedsPruning)
  case object NullAwareAntiJoin extends Constraint(Reason.nullAwareAnti)
  final case class RaisesEarlier(expression: String) extends Constraint(Reason.raisesEarlier(expression))
  case object RuleFailed extends Constraint(Reason.failed)
}

/**
 * Impala's decision (`DistributedPlanner`), guarded: join types first, then costs. Ties and unknown costs go to the default
 * mode, but nothing is broadcast whose size is not known to be within the limits.
 */
object JoinChoice {
  import Strategy._

  /** Left to Spark. */
  def spark(by: Constraint): JoinChoice = JoinChoice(Spark, by.reason, constraint = Some(by))

  def apply(in: JoinInput): JoinChoice = distributed(in, decide(in, Alternatives.of(in)))

  /** For tests: one of the strategies that the join's type and keys allow, whatever it costs. */
  def random(in: JoinInput, seed: Int): JoinChoice = {
    val all = Alternatives.of(in)
    val legal = all
      .filter(_.ruledOut.forall {
        case _: RuledOut.Unwise => true
        case _: RuledOut.Impossible => false
      })
      .map(_.strategy) :+ Spark
    distributed(in, JoinChoice(legal(new Random(seed).nextInt(legal.size)), Reason.forced, all))
  }

  private def distributed(in: JoinInput, c: JoinChoice): JoinChoice =
    c.copy(distribution = Distribution.of(c.chosen, in.sides))

  private def decide(in: JoinInput, all: Seq[Alternative]): JoinChoice = {
    // If both sides cost the same the right one is built.
    val open = all.reverse.filter(a => a.ruledOut.isEmpty && a.cost >= 0).sortBy(_.cost)
    val costsKnown = in.sides.toSeq.forall(_.bytes >= 0)
    open match {
      case best +: rest if costsKnown =>
        val kind = (a: Alternative) => Distribution.of(a.strategy, in.sides)
        if (rest.exists(a => a.cost == best.cost && kind(a) != kind(best)))
          byDefault(in, all, Reason.tie(best.cost))
        else JoinChoice(best.strategy, cheapest(in, best, rest.headOption), all)
      case _ if costsKnown => JoinChoice(Spark, Reason.allRuledOut, all)
      case _ => byDefault(in, all, Reason.statsUnknown(unknownSides(in)))
    }
  }

  private def unknownSides(in: JoinInput): Seq[String] =
    Seq("left" -> in.left, "right" -> in.right).collect { case (name, side) if side.rows.isEmpty => name }

  private def cheapest(in: JoinInput, best: Alternative, next: Option[Alternative]): Reason = {
    def named(a: Alternative) = {
      val distribution = Distribution.of(a.strategy, in.sides)
      s"${Strategy.label(a.strategy)}${distribution.fold("")(d => s" (${d.name})")}" -> a.cost
    }
    Reason.cheapest(named(best), next.map(named))
  }

  private def byDefault(in: JoinInput, all: Seq[Alternative], reason: Reason): JoinChoice = {
    val fits: Strategy => Boolean = in.mode match {
      case JoinMode.Broadcast => s => s.isInstanceOf[Broadcast] || s.isInstanceOf[NestedLoop]
      case JoinMode.Partitioned => s => s.isInstanceOf[ShuffledHash] || s == SortMerge
      case _ => _ => false
    }
    val size = (a: Alternative) =>
      Strategy.build(a.strategy).flatMap(in.sides(_).size.boundTable).getOrElse(Double.MaxValue)
    val fitting = all.filter(a => fits(a.strategy) && a.ruledOut.isEmpty).sortBy(size)
    JoinChoice(fitting.headOption.fold[Strategy](Spark)(_.strategy), reason, all)
  }
}

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
