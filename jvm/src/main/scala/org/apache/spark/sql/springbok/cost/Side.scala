package org.apache.spark.sql.springbok.cost

/**
 * One input of a join, as the costs see it.
 *
 * @param filtered
 *   what a runtime filter from the other side leaves of it, if it has not been read yet
 */
final case class Side(
    size: SideSize,
    layout: Layout = Layout(),
    broadcast: BroadcastUse = BroadcastUse(),
    filtered: Filtered = Filtered()
) {
  def rows: Option[Double] = size.rows
  def rowBytes: Double = size.rowBytes

  /** Serialized bytes. */
  def bytes: Double = size.bytes

  /** Bytes that a broadcast makes and sends in vain, because it is read before the other side could filter it. */
  def unfiltered: Double = math.max(0.0, bytes + filtered.made) * (1 - filtered.retained)

  /** What of it is sent where the other side's exchange has run: it waits for that side's filter. */
  def after(other: Side): Side =
    if (!other.layout.sent || layout.sent) this
    else copy(size = size.scaled(math.max(Filtered.leastRetained, filtered.retained)))
}

/**
 * How much a side holds.
 *
 * @param rows
 *   expected rows, None if unknown
 * @param rowBytes
 *   bytes of a row in memory
 * @param boundBytes
 *   bytes in memory that are not exceeded, None if unknown
 * @param boundRows
 *   rows that are not exceeded, None if unknown
 * @param mostBytes
 *   bytes in memory that are not exceeded however values are spread and however long they are, None if nothing bounds them
 * @param keyBytes
 *   bytes that a hash table keeps of a row's keys beside the row; 0 where the keys are packed into one long
 */
final case class SideSize(
    rows: Option[Double],
    rowBytes: Double,
    boundBytes: Option[Double],
    boundRows: Option[Double] = None,
    mostBytes: Option[Double] = None,
    keyBytes: Double = 0
) {

  /** Serialized bytes: rows × (row + tuple overhead). */
  def bytes: Double = rows.fold(JoinCost.Unknown)(_ * serializedRow)

  private def serializedRow: Double = rowBytes + JoinCost.tupleOverhead

  /** Bytes of a hash table of it, relative to those of its rows. */
  def tableShare: Double = 1 + keyBytes / math.max(1.0, rowBytes)

  /**
   * Bytes that a hash table of so many bytes of its rows takes at most while a task of a shuffled hash join builds it, as Spark's
   * `HashedRelation` allocates them.
   *
   * A table of long keys (`LongToUnsafeRowMap`) copies its rows, each with an address of 8 bytes, into one block of a page at
   * least. A block that is full is copied into one that is twice as large, so there are up to three times the rows. Its array
   * doubles when a quarter of its longs are keys, which makes up to 64 bytes a key, and `optimize` makes a second one that is
   * not larger. Any other table (`BytesToBytesMap`) copies its rows with their keys into pages, the last of which may be empty.
   * Its array doubles when half of its slots of 16 bytes are used, which makes up to 64 bytes a key, and 32 more while it grows.
   */
  def tableAtMost(bytes: Double, page: Double): Double = {
    val rows = bytes / math.max(1.0, rowBytes)
    if (keyBytes == 0) {
      val block = bytes + 8 * rows
      (if (block <= page) page else 3 * block) + 128 * rows
    } else page + bytes + (keyBytes + 96) * rows
  }

  /** Bytes of a hash table of it, with pointers and free slots. */
  def table: Double = bytes * tableShare * CostConstants.hashTableOverhead

  /**
   * Bytes that a broadcast of it is charged for: the geometric mean of what is expected and what is possible. The driver
   * holds all of a side that was expected to be a tenth of it, where a shuffle would have found out.
   */
  def risked: Double =
    rows.fold(JoinCost.Unknown)(r => JoinCost.risked(r, boundRows.getOrElse(r)) * serializedRow * tableShare)

  /** Bytes of a hash table that are not exceeded unless the statistics are wrong. */
  def boundTable: Option[Double] = boundBytes.map(_ * tableShare)

  /** Bytes of a hash table that are not exceeded however values are spread. */
  def mostTable: Option[Double] = mostBytes.map(_ * tableShare)

  def scaled(by: Double): SideSize = copy(rows = rows.map(_ * by))
}

/**
 * How the rows of a side are laid out.
 *
 * @param partitioned
 *   whether it is already partitioned on the join keys, so that it need not be sent
 * @param partitions
 *   number of partitions that it is partitioned into, where that is not the shuffle's number
 * @param largestPartition
 *   bytes in memory of its largest partition: of a shuffle that has run, or of one task that may get all of it
 * @param sorted
 *   whether each of its partitions is already sorted by the join keys
 * @param sent
 *   whether it is partitioned because this very join's exchange has run
 * @param tasks
 *   tasks that read it in the join's stage if the other side is broadcast, None if unknown
 * @param heldTables
 *   bytes in memory of the hash tables that a task of the join's stage has built before for this side's own joins
 * @param counted
 *   whether an exchange counts its bytes before a hash table of it is built
 * @param shuffled
 *   compressed bytes of the finished shuffles that the join's stage reads for it, by partition; None if it reads anything else
 */
final case class Layout(
    partitioned: Boolean = false,
    partitions: Option[Int] = None,
    largestPartition: Option[Double] = None,
    sorted: Boolean = false,
    sent: Boolean = false,
    tasks: Option[Double] = None,
    heldTables: Double = 0,
    counted: Boolean = true,
    shuffled: Option[Seq[Long]] = None
)

/**
 * What a broadcast of a side would be.
 *
 * @param sharedBy
 *   joins of the query that one broadcast of it would serve, this one included
 * @param slow
 *   whether it may take longer than Spark waits for a broadcast
 * @param bySpark
 *   whether Spark itself takes the side for small enough to broadcast
 */
final case class BroadcastUse(sharedBy: Int = 1, slow: Boolean = false, bySpark: Boolean = false)

/**
 * The effect of a runtime filter on a side.
 *
 * @param retained
 *   fraction of the rows that it retains
 * @param made
 *   what it takes to compute the rows of an aggregate, as bytes that could be sent instead
 * @param above
 *   fraction of the rows that filters of joins above retain; the side's size is what they leave
 */
final case class Filtered(retained: Double = 1, made: Double = 0, above: Double = 1) {

  /** The same after filters of joins above. They may remove the same rows. */
  def after(above: Double): Filtered = copy(retained = math.min(1.0, retained / above), above = above)
}

object Filtered {

  /** The least fraction that a filter is trusted to retain: the estimate may be off. */
  val leastRetained = 0.1
}
