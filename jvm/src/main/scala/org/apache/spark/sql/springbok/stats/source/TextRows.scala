package org.apache.spark.sql.springbok.stats.source

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.compress.CompressionCodecFactory
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.text.TextFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.StatsConf
import org.apache.spark.sql.springbok.stats.estimate.{Rows, Source}

/**
 * Rows of tables of text: CSV, JSON and plain lines. The start of a few files is read, and the table is taken to have lines of
 * the same mean length. Other lines may be shorter, so the bounds are wide. Rows stay unknown if they are not lines, if the
 * files are compressed, or if the start of a file has no whole line.
 */
private[source] object TextRows {

  /** Bytes that are read of a file, and files that are read of a table. */
  private val (sampleBytes, mostFiles) = (64 << 10, 4)

  /** How many times as many rows as expected are taken to be possible. */
  private val margin = 4.0

  /** The whole lines at the start of a file, and their bytes. */
  final private case class Start(lines: Long, bytes: Long)
  private val starts = new FileCache[TableFile, Start](_ => 16)

  def of(fs: HadoopFsRelation): Option[Rows] = for {
    ignored <- linesWithoutRow(fs)
    files <- TableFiles.of(fs.location) if files.size > 0
    read <- sample(fs, files)
    lines = files.bytes.toDouble * read.map(_.lines).sum / read.map(_.bytes).sum
  } yield {
    val rows = math.max(1.0, lines - ignored * files.size)
    Rows(rows, math.min(files.bytes.toDouble, rows * margin), Source.Sample, files.bytes.toDouble)
  }

  /** Lines of each file that are no rows; None if rows are not lines. */
  private def linesWithoutRow(fs: HadoopFsRelation): Option[Int] = {
    val options = CaseInsensitiveMap(fs.options)
    def on(name: String) = options.get(name).exists(_.toBoolean)
    val lines = fs.fileFormat match {
      case _: CSVFileFormat | _: JsonFileFormat => !on("multiLine")
      case _: TextFileFormat => !on("wholetext")
      case _ => false
    }
    Option.when(lines && !options.contains("lineSep") && SQLConf.get.getConf(StatsConf.FOOTERS_ENABLED))(
      if (fs.fileFormat.isInstanceOf[CSVFileFormat] && on("header")) 1 else 0
    )
  }

  /** The starts of some files, None if one of them is of no use. */
  private def sample(fs: HadoopFsRelation, files: TableFiles): Option[Seq[Start]] = {
    lazy val hadoop = fs.sparkSession.sessionState.newHadoopConfWithOptions(fs.options)
    val end = System.nanoTime() + SQLConf.get.getConf(StatsConf.FOOTERS_MAX_MS) * 1000000
    val n = math.min(files.size, mostFiles)
    val chosen = (0 until n).map(i => files((i.toLong * files.size / n).toInt))
    val read = RemoteReads
      .of[TableFile, Start](chosen, identity, starts.recall(_).isDefined, starts.fail) { file =>
        starts(file, end)(start(file, hadoop)).flatten
      }
      .flatten
      .filter(_.lines > 0)
    Option.when(read.size == chosen.size)(read)
  }

  private def start(file: TableFile, hadoop: Configuration): Start =
    if (new CompressionCodecFactory(hadoop).getCodec(file.path) != null) Start(0, 0)
    else {
      val buffer = new Array[Byte](math.min(sampleBytes.toLong, file.status(hadoop).getLen).toInt)
      val in = file.path.getFileSystem(hadoop).open(file.path)
      try in.readFully(0, buffer)
      finally in.close()
      val whole = buffer.lastIndexOf('\n'.toByte) + 1L
      // The last line of a file need not end.
      if (buffer.length < sampleBytes) Start(math.max(1, buffer.count(_ == '\n')), buffer.length)
      else Start(buffer.count(_ == '\n'), whole)
    }
}
