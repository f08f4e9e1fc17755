package org.apache.spark.sql.execution.springbok

import java.lang.ref.{SoftReference, WeakReference}
import java.util.{Collections, WeakHashMap}

import scala.collection.concurrent.TrieMap
import scala.collection.mutable

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.keys.{FilterKey, KeyBitmap, KeyFacts, KeyType, SplitBlockBloom}
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.types.DataType

/**
 * One of the keys of a finished broadcast, read from the relation that the driver holds. The query waits meanwhile, so the
 * keys are read no more often than needed.
 *
 * @param relation
 *   fetched each time: what is remembered of a broadcast must not hold its rows
 * @param rows
 *   rows of the relation
 */
final class BroadcastKeys private (
    relation: () => HashedRelation,
    val rows: Long,
    index: Int,
    types: Seq[DataType],
    conf: SQLConf
) {
  private val (packed, unique) = {
    val r = relation()
    (r.isInstanceOf[LongHashedRelation], r.keyIsUnique)
  }
  private val key = FilterKey
    .of(
      if (packed) HashJoin.extractKeyExprAt(types.map(t => BoundReference(0, t, nullable = true)), index)
      else BoundReference(index, types(index), nullable = true)
    )
    .get
  private val dataType = key.dataType
  private val long = KeyType.isLong(dataType)

  /** Distinct values, where the relation knows. */
  def distinct: Option[Long] = Option.when(types.size == 1 && unique)(rows)

  /** The range of the keys, and a list of them if it is not too long; no bloom filter. Not to be changed. */
  lazy val facts: KeyFacts = {
    // The driver has them all: more than a task may send are worth listing, to find the ranges that they lie in.
    val listed = math.max(conf.getConf(FilterConf.IN_LIMIT), if (long) KeyFacts.listed else 0)
    val out = new KeyFacts(dataType, listed, 0, rows)
    foreach(out.addLong, out.add)
    out
  }

  /** Size in bytes of the bloom filter. */
  def bloomBytes: Long = SplitBlockBloom.bytesFor(rows.toDouble, conf)

  lazy val bloom: SplitBlockBloom = {
    val b = SplitBlockBloom.ofBytes(bloomBytes)
    foreach(v => b.put(KeyType.hashLong(v)), v => b.put(KeyType.hash(v, dataType)))
    b
  }

  /** Distinct values: many rows of a relation may have the same value of one of several keys. */
  lazy val counted: Double = distinct.fold(bloom.estimatedKeys)(_.toDouble)

  /** Those from `min` to `max`, which are all. */
  def bitmap(min: Long, max: Long): KeyBitmap = {
    val b = KeyBitmap.over(min, max)
    foreach(b.put, _ => ())
    b
  }

  /** Time in ns of a lookup in the relation. */
  def lookupNs(range: Option[(Any, Any)]): Double = {
    val dense = range.exists {
      case (low: Long, high: Long) => types.size == 1 && FilterCost.dense(high.toDouble - low, rows.toDouble)
      case _ => false
    }
    FilterCost.lookup(rows.toDouble, packed, dense)
  }

  /** Integral keys. The relation gives each of them as a row with a boxed value, and they are read twice. */
  private lazy val longs: Array[Long] = {
    val read = new mutable.ArrayBuilder.ofLong
    read.sizeHint(rows.toInt)
    val keys = relation().keys()
    while (keys.hasNext) read.addOne(keys.next().getLong(0))
    read.result()
  }

  private def foreach(whole: Long => Unit, other: Any => Unit): Unit =
    if (packed && types.size == 1 && long) {
      if (rows <= BroadcastKeys.remembered) longs.foreach(whole)
      else relation().keys().foreach(row => whole(row.getLong(0)))
    } else {
      val project = UnsafeProjection.create(key)
      // `row.get(0, type)` looks for the type anew, which takes ten times as long as the rest.
      val read = InternalRow.getAccessor(dataType, nullable = false)
      // The iterator reuses its row, and the projection its own.
      relation().keys().foreach { row =>
        val values = project(row)
        if (!values.isNullAt(0)) {
          val v = read(values, 0)
          if (long) whole(v.asInstanceOf[Number].longValue) else other(v)
        }
      }
    }
}

object BroadcastKeys {

  /** Whether relations have each key once. The driver may hold them in serialized form. */
  private val once = Collections.synchronizedMap(new WeakHashMap[Broadcast[_], Boolean]())

  /** What was read of relations, by their keys, for as long as the broadcast is there and memory is not short. */
  private val seen = Collections.synchronizedMap(
    new WeakHashMap[Broadcast[_], SoftReference[TrieMap[(Int, Seq[DataType]), BroadcastKeys]]]()
  )

  /** Most keys that are remembered for a second look: 32 MB. */
  private val remembered = 4L << 20

  /** Whether no two rows of a finished broadcast have the same keys; None if it has too many rows to be read for that. */
  def unique(stage: BroadcastQueryStageExec, conf: SQLConf): Option[Boolean] =
    Option.when(rows(stage) <= conf.getConf(FilterConf.MAX_KEYS)) {
      val broadcast = made(stage)
      if (!once.containsKey(broadcast))
        once.put(
          broadcast,
          broadcast.value match {
            case relation: HashedRelation => relation.keyIsUnique
            case _ => false
          }
        ): Unit
      once.get(broadcast)
    }

  /** The broadcast of a finished stage. `executeBroadcast` would prepare the stage's plan again each time. */
  private[springbok] def made(stage: BroadcastQueryStageExec): Broadcast[Any] =
    stage.broadcast.relationFuture.get()

  private[springbok] def rows(stage: BroadcastQueryStageExec): Long =
    stage.getRuntimeStatistics.rowCount.fold(0L)(_.toLong)

  /**
   * @param relation
   *   not fetched where it has too many rows
   * @param rows
   *   of the relation
   * @param index
   *   which of the join's keys
   * @param types
   *   types of all its keys: several short ones are packed into one long
   */
  private def of(
      relation: => Any,
      rows: Long,
      index: Int,
      types: Seq[DataType],
      conf: SQLConf
  ): Either[Reason, BroadcastKeys] = {
    val limit = conf.getConf(FilterConf.MAX_KEYS)
    if (rows > limit) Left(Reason.tooManyKeys(rows, limit))
    else
      relation match {
        // Built for a null-aware anti join, which gets no filter.
        case HashedRelationWithAllNullKeys => Left(Reason.noSummary)
        case _: HashedRelation =>
          Right(new BroadcastKeys(() => relation.asInstanceOf[HashedRelation], rows, index, types, conf))
        case _ => Left(Reason.noSummary)
      }
  }

  /** The same for a finished stage. Each of its keys is read once for all filters. */
  def of(
      stage: BroadcastQueryStageExec,
      index: Int,
      types: Seq[DataType],
      conf: SQLConf
  ): Either[Reason, BroadcastKeys] = {
    val broadcast = made(stage)
    val known = Option(seen.get(broadcast)).flatMap(r => Option(r.get())).getOrElse {
      val none = new TrieMap[(Int, Seq[DataType]), BroadcastKeys]
      seen.put(broadcast, new SoftReference(none))
      none
    }
    known.get((index, types)).map(Right(_)).getOrElse {
      // Whoever asks holds the stage; what is remembered here must hold neither the broadcast nor its rows.
      val weak = new WeakReference(broadcast)
      val made = of(weak.get().value, rows(stage), index, types, conf)
      made.foreach(known.put((index, types), _))
      made
    }
  }
}
