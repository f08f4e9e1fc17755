package org.apache.spark.sql.springbok.rules.runtimefilters.plain

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Filter => FilterRows, _}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.execution.springbok.FinishedBroadcast
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst._
import org.apache.spark.sql.springbok.conf.{FilterConf, FilterMode, SpringbokConf}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.{KeyFacts, KeyPredicates}
import org.apache.spark.sql.springbok.record._
import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.{FilePruning, KeySpan}
import org.apache.spark.sql.springbok.stats.estimate.WidenedColumn
import org.apache.spark.sql.springbok.stats.operator.PlanStats
import org.apache.spark.sql.types._

/**
 * Runtime filters without operators of their own: when a broadcast has finished, the scans of the join's other side are planned
 * again with plain predicates on its keys. A native engine runs them, while it knows no operator of Springbok.
 *
 * {{{
 *   Join ss_sold_date_sk = d_date_sk         Join ss_sold_date_sk = d_date_sk
 *   :- store_sales                       =>  :- Filter (ss_sold_date_sk >= 2451180 AND ss_sold_date_sk <= 2451210)
 *   +- broadcast, finished                   :  +- store_sales
 *                                            +- broadcast, finished
 * }}}
 *
 * '''When''': another extension replaces scans, or the mode is PLAIN; the join drops rows of the probe side without a match; its key
 * there is an integral column or a date of a Parquet table; the keys' ranges leave out a part of the column's range that
 * `runtimeFilter.minRejection` asks for. Adaptive execution starts the stage of a broadcast join after its broadcasts, so no scan
 * waits longer than without the filter. Joins that the plan has twice are left alone, since their scans may be shared.
 *
 * '''Why the answer cannot change''': the predicate holds for every key of the build side, so a row for which it is false or null has no
 * match, and the join drops it. [[ColumnTrace]] says why rows may be dropped at the scan instead. Predicates compare values of
 * the column's own type and cannot raise an error. Days are left out where a reader may shift them, and tables whose reader does
 * not read batches, since it may give wrong values where pages are skipped (PARQUET-3747).
 *
 * '''Settings''': `spark.springbok.runtimeFilter.mode`, `.minRejection`.
 */
object PushFinishedKeys extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!SpringbokConf.plans(conf) || !isWanted) plan
    else
      plan.collectFirst(Function.unlift(JoinState.of)).fold(plan) { first =>
        RuleGuard("PushFinishedKeys", plan, Some(first.query)) {
          val joins = new EqualPlans(plan.collect { case j: Join => j })
          val filters = plan.collect {
            case j: Join if isFinished(j) && joins.alike(j).size == 1 => finished(j)
          }.flatten
          filters.foldLeft(plan)((p, f) => new KeyPusher(f, conf).into(p))
        }
      }

  private def isWanted: Boolean = conf.getConf(FilterConf.MODE) match {
    case FilterMode.Plain => true
    case FilterMode.Off => false
    case _ => OtherColumnarRules.all.nonEmpty
  }

  private def isFinished(j: Join): Boolean = j.children.exists {
    case s: LogicalQueryStage => SparkPlanning.isMaterialized(s)
    case _ => false
  }

  /** The keys of a join whose build side is a broadcast that has finished. */
  private def finished(j: Join): Seq[FinishedKey] = j match {
    case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, _, _, _) =>
      for {
        state <- JoinState.of(j).toSeq
        side <- Seq(JoinSide.Left, JoinSide.Right) if Sides.dropUnmatched(joinType)(side)
        stage <- Seq(j.children(side.other.index)).collect { case s: LogicalQueryStage => s }
        keys = Sides(leftKeys, rightKeys)
        ((probe, build), i) <- keys(side).zip(keys(side.other)).zipWithIndex
        column <- WidenedColumn.unapply(probe)
        number = state.numberOf(Sides(leftKeys(i), rightKeys(i)), None) if state.firstPush(number)
      } yield FinishedKey(j, state, number, side, column, build, stage, keys(side.other).map(_.dataType), i)
    case _ => Nil
  }
}

/**
 * A key of a join with a finished build side.
 *
 * @param number
 *   of the conjunct
 * @param side
 *   the probe side
 * @param types
 *   of all keys of the build side, of which this is the one at `index`
 */
final private case class FinishedKey(
    join: Join,
    state: JoinState,
    number: Int,
    side: JoinSide,
    column: Attribute,
    build: Expression,
    stage: LogicalQueryStage,
    types: Seq[DataType],
    index: Int
)

/** Brings the predicate on one key to its scan. */
final private class KeyPusher(f: FinishedKey, conf: SQLConf) {
  private lazy val facts = FinishedBroadcast.keys(f.stage, f.build, f.index, f.types, conf)

  def into(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case j: Join if JoinState.of(j).exists(_ eq f.state) =>
      val probe = j.children(f.side.index)
      j.withNewChildren(j.children.updated(f.side.index, down(probe).getOrElse(probe)))
  }

  /** None if the column comes from no scan that can take the predicate. */
  private def down(p: LogicalPlan): Option[LogicalPlan] = p match {
    case r: LogicalRelation => Some(r).filter(takes).flatMap(filtered)
    case _ =>
      p.children.indices.find(ColumnTrace.passes(p, _, f.column)).flatMap { i =>
        down(p.children(i)).map(c => p.withNewChildren(p.children.updated(i, c)))
      }
  }

  private def takes(r: LogicalRelation): Boolean =
    r.outputSet.contains(f.column) && isComparable && (r.relation match {
      case fs: HadoopFsRelation =>
        fs.fileFormat.getClass == classOf[ParquetFileFormat] && ParquetUtils.isBatchReadSupportedForSchema(
          conf,
          fs.schema
        )
      case _ => false
    })

  private def isComparable: Boolean = f.column.dataType match {
    case ByteType | ShortType | IntegerType | LongType => true
    case DateType => conf.datetimeJava8ApiEnabled || f.state.query.isLocal
    case _ => false
  }

  private def filtered(r: LogicalRelation): Option[LogicalPlan] =
    for {
      // Where the engine is switched off, the scan has a filter of Springbok's own.
      keys <- facts if f.state.query.filters.find(f.state.id, f.number, f.column.exprId).isEmpty
      (kind, predicate, retained) <- predicate(r, keys)
    } yield {
      record(r, keys, kind, retained)
      FilterRows(predicate, r)
    }

  /** The predicate with the part of the column's range that it retains; None if it retains too much. */
  private def predicate(r: LogicalRelation, keys: KeyFacts): Option[(String, Expression, Option[Double])] = {
    val made = new KeyPredicates(f.column, conf)
    val values = Option(keys.values).map(_.toArray.toSeq)
    val spans = values.flatMap(KeySpan.sorted(_, LongType)).map(KeySpan.split(_, FilePruning.maxRanges))
    val all = spans.getOrElse(keys.range.toSeq.flatMap { case (low, high) => KeySpan.of(low, high) })
    val width = new PlanStats()(r).columns.get(f.column).flatMap(_.range).map(d => (d.min, d.max))
    val retained = width.filter(w => w._2 > w._1).map { case (min, max) =>
      all.map(s => math.max(0.0, math.min(s.to, max) - math.max(s.from, min) + 1)).sum / (max - min + 1)
    }
    val short = values.filter(v => v.size <= KeyPredicates.shortList || isPartition(r))
    val ranges = KeySpan.predicate(all, made).map("ranges" -> _)
    made
      .exact(short)
      .orElse(ranges)
      .filter(_ => retained.forall(_ <= 1 - conf.getConf(FilterConf.MIN_REJECTION)))
      .map { case (kind, p) => (kind, p, retained) }
  }

  private def isPartition(r: LogicalRelation): Boolean = r.relation match {
    case fs: HadoopFsRelation => FileTable.isPartitionedBy(fs, f.column)
    case _ => false
  }

  private def record(r: LogicalRelation, keys: KeyFacts, kind: String, retained: Option[Double]): Unit = {
    val filters = f.state.query.filters
    val table = TableName(r.catalogTable.map(_.identifier), r.relation).getOrElse("files")
    val column = FilterColumn(table, f.column.name, f.column.exprId)
    val record = new FilterRecord(f.state.id, f.number, ExpressionLabel(f.build), Some(column))
    val (saving, rejection) = (FilterCost.Saving(0), conf.getConf(FilterConf.MIN_REJECTION))
    val filter = RuntimeFilter(f.state, record, filters.reserve(), retained, saving, rejection)
    val found = BuildFacts(Some(keys.rows), keys.distinct.map(_.round), retained)
    val effect = FilterEffect(pushed = Some(Right("predicate")))
    val used = FilterState.Used(filter.copy(timing = FilterTiming.Local), Seq(kind), found, effect)
    filters.commit(Seq(FilterChange(record, used)))
  }
}
