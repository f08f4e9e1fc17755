package org.apache.spark.sql.springbok.physical

import java.io.{ByteArrayInputStream, IOException}
import java.nio.charset.StandardCharsets.US_ASCII

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.bytes.BytesUtils
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile

/** The footer of a Parquet file, read once and parsed for any of its splits. */
final private[physical] class ParquetFooter private (bytes: Array[Byte], hadoop: Configuration) {

  /** The file's schema and properties. */
  lazy val file: FileMetaData = parsed(ParquetMetadataConverter.SKIP_ROW_GROUPS).getFileMetaData

  /** The row groups that a reader of this split reads: Parquet itself assigns them to splits. */
  def groups(start: Long, end: Long): IndexedSeq[BlockMetaData] =
    parsed(ParquetMetadataConverter.range(start, end)).getBlocks.asScala.toIndexedSeq

  // Parquet 1.17 cannot parse without options.
  private lazy val converter = new ParquetMetadataConverter(HadoopReadOptions.builder(hadoop).build())

  private def parsed(part: ParquetMetadataConverter.MetadataFilter): ParquetMetadata =
    converter.readParquetMetadata(new ByteArrayInputStream(bytes), part)
}

private[physical] object ParquetFooter {
  private val magic = "PAR1".getBytes(US_ASCII)

  /** The footer's length and the magic number. */
  private val tail = 8

  /** Fails if the file is no Parquet file, and if its footer is encrypted. */
  def read(path: Path, hadoop: Configuration): ParquetFooter = {
    val input = HadoopInputFile.fromPath(path, hadoop)
    val stream = input.newStream()
    try {
      val at = input.getLength - tail
      val end = new Array[Byte](tail)
      stream.seek(at)
      stream.readFully(end)
      val length = BytesUtils.bytesToInt(end)
      if (!end.drop(magic.length).sameElements(magic) || length <= 0 || length > at)
        throw new IOException(s"$path has no footer that can be read.")
      val footer = new Array[Byte](length)
      stream.seek(at - length)
      stream.readFully(footer)
      new ParquetFooter(footer, hadoop)
    } finally stream.close()
  }
}
