package org.apache.spark.sql.springbok.rules.hints

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.rules.runtimefilters.place.PlaceRuntimeFilters
import org.apache.spark.sql.types.StringType

/**
 * What a query says of the runtime filters of a relation; Spark carries it to the nearest join above.
 *
 * @param wanted
 *   whether the relation is to be filtered whatever that costs, or never
 */
final class FilterHint(val wanted: Boolean, strategy: Option[JoinStrategyHint] = None)
    extends HintInfo(strategy) {
  override def merge(other: HintInfo, handler: HintErrorHandler): HintInfo = other match {
    case f: FilterHint if f.wanted != wanted =>
      handler.hintOverridden(f)
      this
    case _ => new FilterHint(wanted, super.merge(other, handler).strategy)
  }
  override def toString: String = if (wanted) "(runtime_filter)" else "(no_runtime_filter)"
}

object FilterHint {

  /** Whether the query asks for filters in this child of the join. */
  def wants(j: BaseJoinExec, child: Int): Boolean = of(j, child).exists(_.wanted)

  /** Whether the query forbids filters in this child of the join. */
  def forbids(j: BaseJoinExec, child: Int): Boolean = of(j, child).exists(!_.wanted)

  private def of(j: BaseJoinExec, child: Int): Option[FilterHint] =
    PlaceRuntimeFilters
      .recordOf(j)
      .flatMap(r => if (child == 0) r.userHint.leftHint else r.userHint.rightHint)
      .collect { case h: FilterHint => h }
}

/**
 * Resolves `/*+ RUNTIME_FILTER(t) */` and `/*+ NO_RUNTIME_FILTER(t) */`, and the same as `df.hint`, as Spark resolves its
 * join hints: a name matches a relation or its alias within the query's own FROM, without a name all of it.
 *
 * '''Why the answer cannot change''': a hint node passes all rows, and Spark removes it before it plans.
 */
object ResolveFilterHints extends Rule[LogicalPlan] {
  private val names = Map("RUNTIME_FILTER" -> true, "NO_RUNTIME_FILTER" -> false)

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(SpringbokConf.ENABLED)) plan
    else
      plan.resolveOperatorsUpWithPruning(_.containsPattern(UNRESOLVED_HINT)) {
        case UnresolvedHint(name, parameters, child) if names.contains(name.toUpperCase(Locale.ROOT)) =>
          val wanted = names(name.toUpperCase(Locale.ROOT))
          if (parameters.isEmpty) ResolvedHint(child, new FilterHint(wanted))
          else new Named(name, parameters, wanted, conf).in(child)
      }

  /** The relations that one hint names. */
  final private class Named(name: String, parameters: Seq[Expression], wanted: Boolean, conf: SQLConf) {
    private val relations: Seq[Seq[String]] = parameters.collect {
      case a: UnresolvedAttribute => a.nameParts
      case Literal(text, _: StringType) => UnresolvedAttribute.parseAttributeName(text.toString)
    }
    private val found = mutable.Set.empty[Seq[String]]

    def in(child: LogicalPlan): LogicalPlan = {
      val hinted = go(child)
      val missing = relations.filterNot(found).toSet
      if (missing.nonEmpty) conf.hintErrorHandler.hintRelationsNotFound(name, parameters, missing)
      hinted
    }

    private def go(p: LogicalPlan): LogicalPlan = p match {
      case ResolvedHint(r, other) if matches(r) =>
        ResolvedHint(r, new FilterHint(wanted).merge(other, conf.hintErrorHandler))
      case r if matches(r) => ResolvedHint(r, new FilterHint(wanted))
      // Other scopes have names of their own.
      case _: ResolvedHint | _: View | _: UnresolvedWith | _: SubqueryAlias => p
      case other => other.mapChildren(go)
    }

    private def matches(p: LogicalPlan): Boolean = p match {
      case UnresolvedRelation(parts, _, _) => named(parts)
      case s: SubqueryAlias => named(s.identifier.qualifier :+ s.identifier.name)
      case _ => false
    }

    /** A name is the end of a longer one. */
    private def named(parts: Seq[String]): Boolean = {
      val hits = relations.filter { r =>
        r.size <= parts.size && r.zip(parts.takeRight(r.size)).forall { case (a, b) => conf.resolver(a, b) }
      }
      found ++= hits
      hits.nonEmpty
    }
  }
}
