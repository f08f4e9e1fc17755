package org.apache.spark.sql.execution.springbok

import scala.util.control.NonFatal

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.LeafExecNode
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.catalyst.Interrupted
import org.apache.spark.sql.springbok.keys.KeyFacts
import org.apache.spark.sql.springbok.keys.kept.{KeptKeys, KeptKeysStore, KeysSource}
import org.apache.spark.sql.springbok.physical.BuildTable

/**
 * In place of a filter's build side, the keys that an earlier query has collected from the same build side. The filter's scan
 * waits for no stage. It is never run.
 *
 * '''Why the answer cannot change''': the filter holds all keys of the build side that this query computes. Both queries read
 * the same table under equal conditions, which are deterministic, and equal settings. Filters of other joins may only remove
 * some of this query's keys. The files are the same: each has the length, the time of its last change and the storage's tag
 * that it had when the earlier query had read it, see [[KeptKeys]]. They are compared when the scan's stage is made. The build
 * side starts then as well, because it waits for no filter. As for any query of Spark, files must not be changed in place
 * while it reads them.
 *
 * @param kept
 *   equal if it is the same object
 */
case class KeptKeysExec(@transient kept: KeptKeys)(@transient val table: BuildTable) extends LeafExecNode {
  override protected def otherCopyArgs: Seq[AnyRef] = table :: Nil
  override def nodeName: String = "KeptKeys"
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = nodeName
  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
  override protected def doCanonicalize(): KeptKeysExec = KeptKeysExec(kept)(null)

  /** The keys, if they are the ones that this query's build side has. */
  private[sql] def keys(conf: SQLConf): Option[KeyFacts] = {
    val current = unchanged
    if (!current) KeptKeysStore.of(sparkContext).forget(kept)
    // The settings may have changed since the query was planned.
    Option.when(current && KeysSource.settings(conf) == kept.source.settings)(kept.facts)
  }

  private def unchanged: Boolean =
    try {
      val hadoop = session.sessionState.newHadoopConfWithOptions(kept.source.table.options)
      kept.valid(table.listing, hadoop)
    } catch {
      case e @ Interrupted() => throw e
      case NonFatal(e) =>
        logDebug("The files of a build side cannot be looked up.", e)
        false
    }
}
