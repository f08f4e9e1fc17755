package org.apache.spark.sql.springbok.record

import scala.collection.concurrent.TrieMap
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.{JoinHint, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.springbok.catalyst.FailureLog
import org.apache.spark.sql.springbok.cost.{JoinChoice, JoinInput}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/**
 * What was decided about a join.
 *
 * @param notes
 *   what of the query's hints and of the tables' statistics was ignored
 * @param held
 *   bytes of the rows of the broadcast that the join makes; of one that others look up as well its part
 */
final case class JoinDecision(
    choice: JoinChoice,
    input: Option[JoinInput],
    leftSource: Option[String],
    rightSource: Option[String],
    notes: Seq[Reason] = Nil,
    held: Double = 0
)

/**
 * A join of the query.
 *
 * @param userHint
 *   the hint that the query itself gave; what Springbok sets is never taken for it
 */
final class JoinRecord(
    val query: QueryRecord,
    @volatile var id: Int,
    val joinType: String,
    val leftKeys: Seq[String],
    val rightKeys: Seq[String],
    val other: Option[String],
    val userHint: JoinHint
) {
  @volatile var planned: Option[JoinDecision] = None
  @volatile var latest: Option[JoinDecision] = None

  /** Whether the join's hint is Springbok's; adaptive execution sets hints of its own, which are left alone. */
  @volatile var hinted: Boolean = false

  /** The side that its first runtime filters were placed from, 0 or 1: scans may wait for it. */
  @volatile var filterSource: Option[Int] = None

  /** Whether the join has been planned physically. */
  @volatile var firstPlanned: Boolean = false

  /** The side whose groups were given an exchange of their own, 0 or 1, and why. */
  @volatile var separated: Option[(Int, Reason)] = None

  /** Whether scans wait for the filters that were placed from a key, by the key's position. */
  val scansWait: TrieMap[Int, Boolean] = TrieMap.empty
}

/**
 * A conjunct as it was assessed.
 *
 * @param cost
 *   ns a row
 * @param selectivity
 *   part of the rows that it keeps, None if unknown
 */
final case class ConjunctEntry(
    condition: String,
    cost: Double,
    selectivity: Option[Double],
    mayRaise: Boolean
)

/**
 * The conjuncts of a filter or join whose order was considered, as they stand now.
 *
 * @param before,
 *   after expected ns a row in the order of Spark and in this one
 */
final case class ConjunctRecord(
    operator: String,
    changed: Boolean,
    before: Double,
    after: Double,
    order: Seq[ConjunctEntry]
)

object JoinRecord {

  /** The record of a physical join. */
  def of(j: BaseJoinExec): Option[JoinRecord] = j.logicalLink.flatMap(_.getTagValue(QueryRecord.tag))

  /** The record of the first join of a physical plan that has one. */
  def first(plan: SparkPlan): Option[JoinRecord] =
    plan.collectFirst { case j: BaseJoinExec if of(j).isDefined => of(j).get }

  /** The join's type as SQL says it; EXISTS under an OR becomes a join that SQL has no word for. */
  def typeName(t: JoinType): String = t match {
    case _: ExistenceJoin => "EXISTENCE"
    case _ => t.sql
  }
}

/**
 * An order of joins that was considered.
 *
 * @param before,
 *   after the order of the query and the one that was put in its place, as `lineitem, (orders, customer)`
 * @param costBefore,
 *   costAfter expected ms of one core, of the query's order and of the best that was found
 */
final case class JoinOrderRecord(
    relations: Int,
    before: String,
    after: Option[String],
    costBefore: Option[Double],
    costAfter: Option[Double],
    reason: Reason
)

/** A runtime filter, or one that was not made. */
final class FilterRecord(
    val join: Int,
    val key: Int,
    val sourceKey: String,
    val targetTable: Option[String],
    val targetColumn: Option[String]
) {

  /** Counts the filters that were placed, as in Impala; None for one that never was. */
  @volatile var number: Option[Int] = None
  def id: String = number.fold("-")(n => f"RF$n%03d")
  @volatile var outcome: Reason = Reason.placed
  @volatile var status: String = "placed"
  @volatile var kinds: Seq[String] = Nil
  @volatile var buildRows: Option[Long] = None
  @volatile var buildKeys: Option[Long] = None
  @volatile var expectedKept: Option[Double] = None
  @volatile var observedKept: Option[Double] = None

  /** Time in ms from the start of the build side's stage to the decision: the scan had to wait for it. */
  @volatile var waitedMs: Option[Long] = None

  /** Whether its scan does not wait for it. */
  @volatile var late: Boolean = false
  @volatile var bytes: Option[Long] = None
  @volatile var falsePositiveRate: Option[Double] = None

  /** What was decided from which build side, for its copies in the plan. */
  @volatile var memo: Option[(AnyRef, Any)] = None
  @volatile var rowGroups: Option[(Int, Int)] = None

  /** Part of the probe side's rows that stay, by what is known now. */
  def kept: Option[Double] = observedKept.orElse(expectedKept)

  /** At work, as these kinds. */
  def use(as: Seq[String]): Unit = {
    kinds = as
    status = "used"
    outcome = Reason.used(as)
  }

  /** Not made, or made and not used. */
  def decline(why: Reason): Unit = {
    status = "declined"
    outcome = why
  }
}

/**
 * Everything decided about one query. Joins carry it as a tag, which survives adaptive execution's re-planning; a
 * subquery's record is adopted by its query's, so that filter ids are unique.
 */
final class QueryRecord extends FailureLog {
  @volatile private var parent: Option[QueryRecord] = None
  private val joinRecords = mutable.ArrayBuffer.empty[JoinRecord]
  private val filterRecords = mutable.LinkedHashMap.empty[(Int, Int, Option[ExprId]), FilterRecord]
  private val orderRecords = mutable.ArrayBuffer.empty[JoinOrderRecord]
  private val conjunctRecords = mutable.ArrayBuffer.empty[ConjunctRecord]
  private val failureTexts = mutable.LinkedHashSet.empty[(String, String)]

  private val estimates = new PlanStats.Lasting

  /** Estimates that all plannings of the query share. */
  def lasting: PlanStats.Lasting = root.estimates

  private def root: QueryRecord = parent.fold(this)(_.root)

  /** What a subquery's planning has decided already becomes part of this record, under ids of its own. */
  def adopt(child: QueryRecord): Unit = root.synchronized {
    val from = child.root
    if (from ne root) {
      from.joinRecords.foreach { j =>
        j.id = root.joinRecords.size
        root.joinRecords += j
      }
      root.orderRecords ++= from.orderRecords
      root.conjunctRecords ++= from.conjunctRecords
      root.failureTexts ++= from.failureTexts
      from.parent = Some(root)
    }
  }

  def addJoin(make: (QueryRecord, Int) => JoinRecord): JoinRecord = root.synchronized {
    val r = make(this, root.joinRecords.size)
    root.joinRecords += r
    r
  }

  /**
   * The filter from a key of a join to a column, made the first time; re-planning finds it again and so keeps its id.
   *
   * @param target
   *   the scan's column, None for a filter that reaches none
   */
  def filter(join: Int, key: Int, target: Option[ExprId])(make: => FilterRecord): FilterRecord =
    root.synchronized {
      root.filterRecords.getOrElseUpdate((join, key, target), make)
    }

  def number(f: FilterRecord): Unit = root.synchronized {
    if (f.number.isEmpty) f.number = Some(root.filterRecords.values.count(_.number.isDefined))
    f.status = "placed"
    f.outcome = Reason.placed
  }

  /** Filters that were placed and are not in the plan after all. */
  def withdraw(fs: Set[FilterRecord]): Unit =
    root.synchronized(root.filterRecords.filterInPlace((_, f) => !fs(f))): Unit

  def addOrder(o: JoinOrderRecord): Unit = root.synchronized(root.orderRecords += o): Unit
  def addConjuncts(c: ConjunctRecord): Unit = root.synchronized(root.conjunctRecords += c): Unit

  override def failed(rule: String, e: Throwable): Unit = root.synchronized {
    // The class alone: a message may hold data.
    root.failureTexts.add(rule -> e.getClass.getName): Unit
  }

  def joins: Seq[JoinRecord] = root.synchronized(root.joinRecords.toList)

  /** Without those that found no place at first and did when the query was planned anew. */
  def filters: Seq[FilterRecord] = root.synchronized {
    val all = root.filterRecords.values.toList
    val placed = all.filter(_.number.isDefined).map(f => f.join -> f.key).toSet
    all.filterNot(f => f.number.isEmpty && f.targetTable.isEmpty && placed(f.join -> f.key))
  }

  /** Those from a key of a join that have been placed. */
  def placed(join: Int, key: Int): Seq[FilterRecord] = root.synchronized {
    root.filterRecords.values.filter(f => f.join == join && f.key == key && f.number.isDefined).toList
  }

  /** Whether the filters from a key of a join have been declined, and none was ever placed. */
  def declined(join: Int, key: Int): Boolean = root.synchronized {
    root.filterRecords.get((join, key, None)).exists(_.status == "declined") && placed(join, key).isEmpty
  }

  def orders: Seq[JoinOrderRecord] = root.synchronized(root.orderRecords.toList)
  def conjuncts: Seq[ConjunctRecord] = root.synchronized(root.conjunctRecords.toList)
  def failures: Seq[(String, String)] = root.synchronized(root.failureTexts.toList)
}

object QueryRecord {

  /** On a logical join: what was decided about it. Joins are never shared between queries, as expressions are. */
  val tag: TreeNodeTag[JoinRecord] = TreeNodeTag[JoinRecord]("springbok.join")

  /** On any other node that something was decided about. */
  val owner: TreeNodeTag[QueryRecord] = TreeNodeTag[QueryRecord]("springbok.query")

  /** The record that a single node carries. */
  def on(node: LogicalPlan): Option[QueryRecord] =
    node.getTagValue(tag).map(_.query).orElse(node.getTagValue(owner))

  /** The record that a plan carries. */
  def of(plan: LogicalPlan): Option[QueryRecord] = plan.collectFirst(Function.unlift(on))

  /** The record of the whole query: the one that the plan carries or a new one, which its subqueries' records join. */
  def ofQuery(plan: LogicalPlan): QueryRecord = {
    val record = of(plan).getOrElse(new QueryRecord)
    plan.foreach(_.innerChildren.foreach {
      case l: LogicalPlan => of(l).foreach(record.adopt)
      case _ =>
    })
    record
  }
}
