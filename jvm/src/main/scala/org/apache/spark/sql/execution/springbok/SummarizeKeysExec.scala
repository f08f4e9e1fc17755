package org.apache.spark.sql.execution.springbok

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.ExchangeQueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.springbok.keys.{BuildKey, KeyFacts, KeySummary, KeyType}

/**
 * Under the exchange of a join's build side: passes every row on and summarizes its keys while they pass.
 *
 * {{{
 *   Exchange hashpartitioning(o_orderkey)         Exchange hashpartitioning(o_orderkey)
 *   +- orders                              =>     +- RuntimeFilterSource RF000 <- o_orderkey
 *                                                    +- orders
 * }}}
 *
 * It has the canonical form of its child, so exchanges are reused as without it. The rows are its child's, untouched.
 */
case class SummarizeKeysExec(plan: SummaryPlan, child: SparkPlan) extends UnaryExecNode with CodegenSupport {
  override def nodeName: String = "RuntimeFilterSource"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doCanonicalize(): SparkPlan = child.canonicalized
  override def simpleString(maxFields: Int): String = s"$nodeName ${plan.labels.mkString(", ")}"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n${plan.labels.mkString(", ")}\n"

  /** The summary of the run of this very node; made when it runs. */
  @transient lazy val summary: KeySummary = {
    val keys = plan.keys.map { case (k, bloom) => k.dataType -> bloom }
    val s = new KeySummary(keys, plan.inLimit, plan.mergeBytes, plan.taskBytes)
    sparkContext.register(s)
    s
  }

  @transient @volatile private var startedNs = 0L

  /** Time in ms since this very node was started, None before. */
  def runningMs: Option[Long] = Option.when(startedNs != 0)((System.nanoTime() - startedNs) / 1000000)

  /** The number of tasks that run this very node, -1 before it is started. */
  def tasks: Int = running

  @transient @volatile private var running = -1

  private def starts[T](rows: RDD[T]): Unit = {
    if (startedNs == 0) startedNs = System.nanoTime()
    running = rows.getNumPartitions
  }

  /** Whether all tasks that run this very node have reported. */
  def isComplete: Boolean = summary.partitions == tasks

  /** The position of a key in the summary. */
  def indexOf(key: BuildKey): Option[Int] = Some(plan.keys.indexWhere(_._1 == key)).filter(_ >= 0)

  private def bound: Seq[Expression] = plan.keys.map(_._1.expression)

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    starts(rows)
    if (plan.keys.isEmpty) rows
    else {
      val (s, keys) = (summary, bound)
      rows.mapPartitionsWithIndexInternal { (partition, part) =>
        val facts = s.begin(partition)
        part.map { row =>
          var i = 0
          while (i < keys.size) {
            facts(i).addAny(keys(i), row)
            facts(i).rows += 1
            i += 1
          }
          row
        }
      }
    }
  }

  override def inputRDDs(): Seq[RDD[InternalRow]] = {
    val rows = child.asInstanceOf[CodegenSupport].inputRDDs()
    starts(rows.head)
    rows
  }

  override protected def doProduce(ctx: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String =
    if (plan.keys.isEmpty) consume(ctx, input)
    else {
      val s = ctx.addReferenceObj("keySummary", summary, classOf[KeySummary].getName)
      val name = classOf[KeyFacts].getName
      val facts = ctx.addMutableState(s"$name[]", "keyFacts", v => s"$v = $s.begin(partitionIndex);")
      ctx.currentVars = input
      val used =
        AttributeSet(bound.flatMap(_.collect { case r: BoundReference => child.output(r.ordinal) }))
      val evaluated = evaluateRequiredVariables(child.output, input, used)
      val adds = bound.zipWithIndex.map { case (key, i) =>
        ctx.currentVars = input
        val v = key.genCode(ctx)
        val add = if (KeyType.isLong(key.dataType)) "addLong" else "add"
        s"""
           |${v.code}
           |if (!${v.isNull}) $facts[$i].$add(${v.value});
           |$facts[$i].rows_$$eq($facts[$i].rows() + 1L);
         """.stripMargin
      }
      s"""
         |$evaluated
         |${adds.mkString("\n")}
         |${consume(ctx, input)}
       """.stripMargin
    }

  override protected def withNewChildInternal(newChild: SparkPlan): SummarizeKeysExec = copy(child = newChild)
}

object SummarizeKeysExec {

  /** The exchange itself, or the exchange that a stage runs: its own, or the one that it reuses. */
  def exchangeOf(source: SparkPlan): SparkPlan = source match {
    case s: ExchangeQueryStageExec => exchangeOf(s.plan)
    case ReusedExchangeExec(_, e) => e
    case e => e
  }

  /** The summary under an exchange or its stage, of the run that filled it. */
  def summaryOf(source: SparkPlan): Option[SummarizeKeysExec] =
    exchangeOf(source).children.headOption.flatMap(under)

  private def under(p: SparkPlan): Option[SummarizeKeysExec] = p match {
    case k: SummarizeKeysExec => Some(k)
    case _: WholeStageCodegenExec | _: InputAdapter => under(p.children.head)
    case _ => None
  }
}

/**
 * What a build side's keys are summarized for.
 *
 * @param labels
 *   `RF000 <- c_custkey`, for EXPLAIN
 * @param keys
 *   the keys with the size of their bloom filter in bytes; none where the summary is read elsewhere, as from a broadcast
 * @param mergeBytes,
 *   taskBytes most bytes of bloom filters that all tasks together send, and that one task fills
 */
final case class SummaryPlan(
    labels: Seq[String],
    keys: Seq[(BuildKey, Long)],
    inLimit: Int,
    mergeBytes: Long,
    taskBytes: Long
) {

  /** With what another one of the same exchange asks for. */
  def +(other: SummaryPlan): SummaryPlan =
    copy(labels = labels ++ other.labels, keys = SummaryPlan.once(keys ++ other.keys))
}

object SummaryPlan {

  /** Each key once, with the largest bloom filter that is asked for. */
  def once(keys: Seq[(BuildKey, Long)]): Seq[(BuildKey, Long)] =
    keys.groupMapReduce(_._1)(_._2)(math.max(_, _)).toSeq
}
