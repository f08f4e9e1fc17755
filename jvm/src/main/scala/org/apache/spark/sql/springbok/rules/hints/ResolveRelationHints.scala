package org.apache.spark.sql.springbok.rules.hints

import java.util.Locale

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{RuleGuard, SparkPlanning}
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.record.RelationHint
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Resolves the hints that Spark does not know, in SQL and in `df.hint`:
 *
 *   - `RUNTIME_FILTER(t)`: filters are made from the keys of `t`, the creation side, whatever they cost. The hint of this
 *     name that Spark is going to have means the same.
 *   - `RUNTIME_FILTER_TARGET(t)`: filters are applied to `t` whatever they cost.
 *   - `NO_RUNTIME_FILTER_TARGET(t)`: no filter is applied to `t`.
 *   - `SHUFFLE(t)`: neither side of a join of `t` is broadcast. Costs decide whether it is hashed or merged. Impala's hint of
 *     this name means the same.
 *   - `SPRINGBOK_OFF`: Spark plans the whole statement alone, see `LeaveGuarded`. It takes no name.
 *   - `STRAIGHT_JOIN`: the joins of the FROM stay in the order in which the query has them, as with Impala. It takes no name.
 *   - `LEADING(a, b, c)`: these relations are joined first, in this order and each with all before it. The others follow in the order
 *     of the query. Doris's hint of this name means the same.
 *
 * Names match as in Spark's join hints: a relation or its alias within the query's own FROM. A hint without a name means the
 * whole FROM; `STRAIGHT_JOIN` is a hint on each of its relations, since Spark takes hints to the joins of relations. Hints override costs, but never the conditions for a right answer or the limits of a query's filters.
 *
 * '''Why the answer cannot change''': a hint node passes all rows, and Spark removes it before it plans.
 *
 * '''Settings''': `spark.springbok.enabled`. A hint of another name, with a parameter that is no name, or `LEADING` without one is left to Spark,
 * which warns and ignores it.
 */
object ResolveRelationHints extends Rule[LogicalPlan] {
  private val hints = Map(
    "RUNTIME_FILTER" -> RelationHint.RUNTIME_FILTER,
    "RUNTIME_FILTER_TARGET" -> RelationHint.RUNTIME_FILTER_TARGET,
    "NO_RUNTIME_FILTER_TARGET" -> RelationHint.NO_RUNTIME_FILTER_TARGET,
    "SHUFFLE" -> RelationHint.SHUFFLE,
    "SPRINGBOK_OFF" -> RelationHint.OFF,
    "STRAIGHT_JOIN" -> RelationHint.STRAIGHT_JOIN,
    "LEADING" -> RelationHint.leading(0)
  )

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED) || !plan.containsPattern(UNRESOLVED_HINT)) plan
    else RuleGuard("ResolveRelationHints", plan, None)(resolved(plan))

  private def key(h: UnresolvedHint): String = h.name.toUpperCase(Locale.ROOT)

  private def resolved(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsUpWithPruning(_.containsPattern(UNRESOLVED_HINT)) { case h: UnresolvedHint =>
      hints.get(key(h)).fold[LogicalPlan](h) { hint =>
        val parameters = SparkPlanning.hintParameters(h)
        val relations = parameters.flatMap(name)
        val isWhole = hint.straight || (hint eq RelationHint.OFF)
        val isNamed = hint.place.isDefined
        if (isWhole && parameters.nonEmpty || isNamed && parameters.isEmpty) h
        else if (hint.straight) ofEach(h.child, hint)
        else if (parameters.isEmpty) ResolvedHint(h.child, hint)
        else if (relations.size < parameters.size) h
        else new Named(h.name, parameters, relations, hint, conf).in(h.child)
      }
    }

  /** The joins of a FROM, each of whose relations has the hint. */
  private def ofEach(from: LogicalPlan, hint: RelationHint): LogicalPlan = {
    def relation(p: LogicalPlan): LogicalPlan = p match {
      case j: Join => j.mapChildren(relation)
      case ResolvedHint(r, other) => ResolvedHint(r, hint.merge(other, conf.hintErrorHandler))
      case r => ResolvedHint(r, hint)
    }
    def joins(p: LogicalPlan): LogicalPlan = p match {
      case j: Join => relation(j)
      case _: View | _: UnresolvedWith | _: SubqueryAlias | _: LeafNode => p
      case other => other.mapChildren(joins)
    }
    joins(from)
  }

  private def name(parameter: Expression): Option[Seq[String]] = parameter match {
    case a: UnresolvedAttribute => Some(a.nameParts)
    case Literal(text: UTF8String, _: StringType) =>
      Try(UnresolvedAttribute.parseAttributeName(text.toString)).toOption
    case _ => None
  }

  /** The relations that one hint names. */
  final private class Named(
      name: String,
      parameters: Seq[Expression],
      relations: Seq[Seq[String]],
      hint: RelationHint,
      conf: SQLConf
  ) {
    private val found = mutable.Set.empty[Seq[String]]

    def in(child: LogicalPlan): LogicalPlan = {
      val hinted = go(child)
      val missing = relations.filterNot(found).toSet
      if (missing.nonEmpty) conf.hintErrorHandler.hintRelationsNotFound(name, parameters, missing)
      hinted
    }

    private def go(p: LogicalPlan): LogicalPlan = p match {
      case ResolvedHint(Hinted(r, own), other) =>
        ResolvedHint(r, own.merge(other, conf.hintErrorHandler))
      case Hinted(r, own) => ResolvedHint(r, own)
      // Other scopes have names of their own.
      case _: ResolvedHint | _: View | _: UnresolvedWith | _: SubqueryAlias => p
      case other => other.mapChildren(go)
    }

    /** A relation that the hint names, with what is asked of it. */
    private object Hinted {
      def unapply(p: LogicalPlan): Option[(LogicalPlan, RelationHint)] = {
        val names = p match {
          case UnresolvedRelation(parts, _, _) => named(parts)
          case s: SubqueryAlias => named(s.identifier.qualifier :+ s.identifier.name)
          case _ => Nil
        }
        names.headOption.map(n => p -> hint.place.fold(hint)(_ => RelationHint.leading(relations.indexOf(n))))
      }
    }

    /** The names of the hint that name this relation: a name is the end of a longer one. */
    private def named(parts: Seq[String]): Seq[Seq[String]] = {
      val hits = relations.filter { r =>
        r.size <= parts.size && r.zip(parts.takeRight(r.size)).forall { case (a, b) => conf.resolver(a, b) }
      }
      found ++= hits
      hits
    }
  }
}
