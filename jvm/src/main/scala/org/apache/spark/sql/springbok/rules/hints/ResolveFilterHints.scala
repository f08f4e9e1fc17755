package org.apache.spark.sql.springbok.rules.hints

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.record.FilterHint
import org.apache.spark.sql.types.StringType

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
