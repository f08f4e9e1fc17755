package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.planning.ExtractSingleColumnNullAwareAntiJoin
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.{RuleGuard, SparkTypes}
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.{JoinState, PlanningState}
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/**
 * Plans `NOT IN` over a nullable column as a hash lookup whatever the size of its right side.
 *
 * {{{
 *   Join LeftAnti, (a = b OR isnull(a = b))  =>  BroadcastHashJoin [a], [b], LeftAnti, BuildRight, isNullAware
 * }}}
 *
 * '''When''': [[ChooseJoinStrategy]] has decided it. Spark does the same when the right side is below its broadcast
 * threshold, and else compares every pair of rows in a nested loop join, which broadcasts the right side just as well.
 *
 * '''Why the answer cannot change''': it is Spark's own operator for this very condition, `optimizeNullAwareAntiJoin`
 * permitting: any null on the right side gives no row, a null on the left none unless the right side is empty. Keys that
 * are equal without equal bytes are left to Spark.
 *
 * '''Settings''': `spark.springbok.join.enabled`, `spark.sql.optimizeNullAwareAntiJoin`.
 */
object PlanNullAwareAntiJoin extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case j @ ExtractSingleColumnNullAwareAntiJoin(lk, rk) if chosen(j) =>
      RuleGuard("PlanNullAwareAntiJoin", Seq.empty[SparkPlan], PlanningState.of(j)) {
        if ((lk ++ rk).forall(k => byBytes(k.dataType)))
          Seq(
            BroadcastHashJoinExec(
              lk,
              rk,
              LeftAnti,
              BuildRight,
              None,
              planLater(j.left),
              planLater(j.right),
              isNullAwareAntiJoin = true
            )
          )
        else Nil
      }
    case _ => Nil
  }

  /** Whether equal values have equal bytes. Spark does not normalize floating-point keys of this join. */
  private def byBytes(t: DataType): Boolean = SparkTypes.isBinaryStable(t) && !t.existsRecursively {
    case FloatType | DoubleType => true
    case _ => false
  }

  private def chosen(j: Join): Boolean = SpringbokConf.plans(SQLConf.get) &&
    JoinState.of(j).flatMap(_.planned).exists(_.choice.chosen == Strategy.Broadcast(BuildRight))
}
