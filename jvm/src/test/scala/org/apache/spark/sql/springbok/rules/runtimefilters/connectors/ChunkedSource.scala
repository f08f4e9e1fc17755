package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import java.util.{Collections, Map => JMap, OptionalLong, Set => JSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{
  MetadataColumn,
  SupportsMetadataColumns,
  SupportsRead,
  Table,
  TableCapability,
  TableProvider
}
import org.apache.spark.sql.connector.expressions.{
  Expression => V2Expression,
  Expressions,
  Literal => V2Literal,
  NamedReference,
  Transform
}
import org.apache.spark.sql.connector.expressions.filter.{And => V2And, Or => V2Or, Predicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{
  KeyGroupedPartitioning,
  Partitioning,
  UnknownPartitioning
}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A connector for tests: ten chunks of a thousand rows, one partition each, which it leaves out by the bounds of `id` or by
 * `chunk`. It evaluates conditions on `chunk` completely, so that they are gone from the plan.
 *
 * Options say how it behaves: `declared`, `equality` (`none`: no two scans are equal), `fails` (scans that are built again),
 * `grouped` (it reports how its rows are grouped).
 */
class ChunkedSource extends TableProvider {
  override def supportsExternalMetadata: Boolean = false
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = ChunkedSource.schema
  override def getTable(schema: StructType, by: Array[Transform], properties: JMap[String, String]): Table =
    new ChunkedTable(new CaseInsensitiveStringMap(properties), ChunkedSource.version)
}

object ChunkedSource {
  val schema: StructType =
    new StructType().add("id", LongType, nullable = false).add("chunk", IntegerType).add("v", LongType)

  val chunks = 10
  val rows = 1000

  /** The state of the data, which table objects remember: all rows of a later one have another `v`. */
  @volatile var version = 0L

  /** How many scans were built. */
  @volatile var built = 0
}

class ChunkedTable(settings: CaseInsensitiveStringMap, version: Long)
    extends Table
    with SupportsRead
    with SupportsMetadataColumns {
  override def name: String = "chunked"
  override def schema: StructType = ChunkedSource.schema
  override def capabilities: JSet[TableCapability] = Collections.singleton(TableCapability.BATCH_READ)
  override def partitioning: Array[Transform] = Array(Expressions.identity("chunk"))
  override def properties: JMap[String, String] =
    if (settings.getBoolean("declared", false)) Collections.singletonMap(DeclaredTable.property, "true")
    else Collections.emptyMap()
  override def metadataColumns: Array[MetadataColumn] = Array(new MetadataColumn {
    override def name: String = "_chunk_rows"
    override def dataType: DataType = LongType
  })
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ChunkedScanBuilder(settings, version)
}

class ChunkedScanBuilder(settings: CaseInsensitiveStringMap, version: Long)
    extends ScanBuilder
    with SupportsPushDownV2Filters
    with SupportsPushDownRequiredColumns {
  private var pushed = Array.empty[Predicate]
  private var columns = ChunkedSource.schema

  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    pushed = predicates
    predicates.filterNot(_.references.forall(_.fieldNames.sameElements(Array("chunk"))))
  }
  override def pushedPredicates: Array[Predicate] = pushed
  override def pruneColumns(required: StructType): Unit = columns = required

  override def build(): Scan = {
    ChunkedSource.built += 1
    if (settings.getBoolean("fails", false) && ChunkedSource.built > 1) sys.error("built again")
    val grouped = settings.getBoolean("grouped", false)
    val scan = ChunkedScan(version, pushed.toSeq, columns, settings.get("equality") == "none")
    if (grouped) new GroupedScan(scan) else scan
  }
}

case class ChunkedScan(version: Long, pushed: Seq[Predicate], columns: StructType, unequal: Boolean)
    extends Scan
    with Batch
    with SupportsReportStatistics {
  override def readSchema: StructType = columns
  override def toBatch: Batch = this
  override def equals(other: Any): Boolean = other match {
    case o: ChunkedScan =>
      !unequal && version == o.version && pushed == o.pushed && columns == o.columns
    case _ => false
  }
  override def hashCode: Int = (version, pushed, columns).hashCode

  override def estimateStatistics: Statistics = new Statistics {
    override def sizeInBytes: OptionalLong = OptionalLong.of(numRows.getAsLong * 20)
    override def numRows: OptionalLong = OptionalLong.of(kept.size.toLong * ChunkedSource.rows)
  }

  override def planInputPartitions: Array[InputPartition] =
    kept.map(c => ChunkPartition(c, version): InputPartition).toArray
  override def createReaderFactory: PartitionReaderFactory = new ChunkReaderFactory(columns)

  private def kept: Seq[Int] = (0 until ChunkedSource.chunks).filter(c => pushed.forall(mayHold(c, _)))

  /** Whether a chunk may have rows that satisfy the predicate. */
  private def mayHold(chunk: Int, p: Predicate): Boolean = p match {
    case a: V2And => mayHold(chunk, a.left) && mayHold(chunk, a.right)
    case o: V2Or => mayHold(chunk, o.left) || mayHold(chunk, o.right)
    case _ =>
      val (low, high) = p.children.headOption match {
        case Some(r: NamedReference) if r.fieldNames.sameElements(Array("id")) =>
          (chunk.toLong * ChunkedSource.rows, (chunk + 1L) * ChunkedSource.rows - 1)
        case Some(r: NamedReference) if r.fieldNames.sameElements(Array("chunk")) =>
          (chunk.toLong, chunk.toLong)
        case _ => (Long.MinValue, Long.MaxValue)
      }
      val values = p.children.drop(1).collect { case number(n) => n }
      p.name match {
        case "=" | "IN" => values.exists(v => low <= v && v <= high)
        case ">=" => high >= values.head
        case "<=" => low <= values.head
        case ">" => high > values.head
        case "<" => low < values.head
        case _ => true
      }
  }

  private object number {
    def unapply(e: V2Expression): Option[Long] = e match {
      case l: V2Literal[_] => Option(l.value).collect { case n: Number => n.longValue }
      case _ => None
    }
  }
}

/** The same with a partitioning that a plan may use. */
class GroupedScan(scan: ChunkedScan)
    extends Scan
    with SupportsReportPartitioning
    with SupportsReportStatistics {
  override def estimateStatistics: Statistics = scan.estimateStatistics
  override def readSchema: StructType = scan.readSchema
  override def toBatch: Batch = scan
  override def outputPartitioning: Partitioning =
    if (readSchema.fieldNames.contains("chunk"))
      new KeyGroupedPartitioning(Array(Expressions.identity("chunk")), ChunkedSource.chunks)
    else new UnknownPartitioning(ChunkedSource.chunks)
  override def equals(other: Any): Boolean = other match {
    case o: GroupedScan => toBatch == o.toBatch
    case _ => false
  }
  override def hashCode: Int = scan.hashCode
}

case class ChunkPartition(chunk: Int, version: Long) extends InputPartition with HasPartitionKey {
  override def partitionKey: InternalRow = InternalRow(chunk)
}

class ChunkReaderFactory(columns: StructType) extends PartitionReaderFactory {
  override def createReader(p: InputPartition): PartitionReader[InternalRow] = {
    val ChunkPartition(chunk, version) = p.asInstanceOf[ChunkPartition]
    new PartitionReader[InternalRow] {
      private var row = -1
      override def next(): Boolean = { row += 1; row < ChunkedSource.rows }
      override def get(): InternalRow = {
        val id = chunk.toLong * ChunkedSource.rows + row
        def value(name: String): Any = name match {
          case "id" => id
          case "chunk" => chunk
          case "v" => id * 2 + version * 1000000
          case "_chunk_rows" => ChunkedSource.rows.toLong
        }
        InternalRow.fromSeq(columns.fieldNames.toSeq.map(value))
      }
      override def close(): Unit = ()
    }
  }
}
