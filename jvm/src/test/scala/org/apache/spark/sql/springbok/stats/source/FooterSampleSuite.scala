package org.apache.spark.sql.springbok.stats.source

import java.io.{InterruptedIOException, IOException}
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException
import java.security.PrivilegedAction
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.catalyst.{Interrupted, RuleGuard}
import org.apache.spark.sql.springbok.conf.{SpringbokConf, StatsConf}
import org.apache.spark.sql.springbok.stats.operator.PlanStats

/** How files are read for statistics: how often, how many at once, and what is kept of what went wrong. */
class FooterSampleSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf ++ Map(
      "spark.hadoop.fs.distant.impl" -> classOf[DistantFileSystem].getName,
      StatsConf.FOOTERS_MAX_MS.key -> "60000"
    )

  override protected def afterEach(): Unit = {
    Thread.interrupted(): Unit
    DistantFileSystem.opening = _ => ()
    super.afterEach()
  }

  /** A table of a store that is not the machine's own; no footer of it has been read yet. */
  private def distant(name: String, files: Int, columns: String = "id"): Unit = {
    val path = folder.resolve(name)
    spark.range(1000).selectExpr(columns).repartition(files).write.parquet(path.toString)
    val schema = spark.read.parquet(path.toString).schema
    spark.read.schema(schema).parquet(s"distant:$path").createOrReplaceTempView(name)
  }

  private def rows(sql: String): Option[Double] =
    new PlanStats()(execution(spark.sql(sql)).analyzed).rows.map(_.value)

  private def relation(name: String): HadoopFsRelation =
    execution(spark.table(name)).analyzed
      .collect { case l: LogicalRelation => l.relation }
      .collectFirst { case fs: HadoopFsRelation => fs }
      .get

  // Footers of thousands of columns, parsed at the same time, once could fill a small driver's heap.
  test("of a table with thousands of columns fewer footers are read") {
    val path = folder.resolve("broad").toString
    val columns = (1 to 3200).map(i => s"id AS c$i")
    spark.range(0, 8, 1, 8).selectExpr(columns: _*).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("broad")
    assert(ParquetFooters.sample(relation("broad")).exists(t => t.files == 8 && t.filesRead <= 5))
  }

  test("footers of a distant table were read one after the other") {
    distant("slow", 4)
    val all = new CountDownLatch(4)
    val alone = new AtomicInteger
    DistantFileSystem.opening = _ => {
      all.countDown()
      if (!all.await(20, TimeUnit.SECONDS)) alone.incrementAndGet(): Unit
    }
    assert(rows("SELECT * FROM slow").contains(1000.0))
    assert(alone.get == 0)
  }

  // They were once read as another user than the caller.
  test("footers that are read in threads are read as the caller's user") {
    distant("owned", 4)
    val users = ConcurrentHashMap.newKeySet[String]()
    DistantFileSystem.opening = _ => users.add(UserGroupInformation.getCurrentUser.getUserName): Unit
    val read: PrivilegedAction[Option[Double]] = () => rows("SELECT * FROM owned")
    assert(UserGroupInformation.createRemoteUser("someone").doAs(read).contains(1000.0))
    assert(users.asScala.toSet == Set("someone"))
  }

  test("a sample that ran out of time was resumed by each rule and each planning") {
    distant("slower", 40)
    val opened = new AtomicInteger
    DistantFileSystem.opening = _ => {
      opened.incrementAndGet()
      Thread.sleep(50)
    }
    conf(StatsConf.FOOTERS_MAX_MS.key -> "1", StatsConf.FOOTERS_MAX_FILES.key -> "40") {
      val first = Footers.sample(relation("slower")).get
      assert(first.filesRead < 40)
      val before = opened.get
      assert(Footers.sample(relation("slower")).exists(_.filesRead == first.filesRead))
      assert(opened.get == before)
    }
  }

  // An interrupt also made the footers unreadable for all queries for a minute.
  test("a cancelled query's footers counted as unreadable, and its planning went on") {
    distant("cancelled", 1)
    DistantFileSystem.opening = _ => {
      Thread.currentThread().interrupt()
      throw new ClosedByInterruptException
    }
    def planned = RuleGuard[Option[Double]]("Rule", None, None)(rows("SELECT * FROM cancelled"))
    intercept[IOException](planned)
    assert(Thread.interrupted())
    DistantFileSystem.opening = _ => ()
    assert(planned.contains(1000.0))
  }

  test("a footer that takes too long is unreadable: no interrupt") {
    distant("timeout", 2)
    DistantFileSystem.opening = _ => throw new SocketTimeoutException
    assert(Footers.sample(relation("timeout")).exists(t => t.unreadable == 2 && t.filesRead == 0))
    assert(!Thread.interrupted())
  }

  test("another query's interrupt behind an exception is none of this one's") {
    def found(e: Throwable) = {
      val matches = e match {
        case Interrupted() => true
        case _ => false
      }
      assert(Thread.interrupted() == matches)
      matches
    }
    assert(found(new InterruptedException))
    // Of a connection that queries share another one's interrupt may be the cause.
    assert(!found(new RuntimeException(new IOException(new InterruptedException))))
    assert(!found(new SocketTimeoutException) && !found(new InterruptedIOException))
    Thread.currentThread().interrupt()
    assert(found(new IOException))
    val injected = SpringbokConf.FAIL_IN.key -> "Rule"
    conf(injected)(assert(RuleGuard("Rule", "plan", None)("other") == "plan"))
    Thread.currentThread().interrupt()
    conf(injected)(intercept[RuleGuard.Injected](RuleGuard("Rule", "plan", None)("other")))
    assert(Thread.interrupted())
  }

  test("a dictionary that cannot be read was tried at each planning") {
    distant("dictionary", 1, "concat('c', id % 5) AS c")
    val opened = new AtomicInteger
    DistantFileSystem.opening = _ => {
      opened.incrementAndGet()
      throw new IOException
    }
    assert(new ParquetDictionaries(relation("dictionary")).values("c").isEmpty)
    assert(new ParquetDictionaries(relation("dictionary")).values("c").isEmpty)
    assert(opened.get == 1)
  }

  // A native library that the driver may not load took the decisions of the whole query with it.
  test("a failure to load a class was not taken for one of the file") {
    val cache = new FileCache[String, String](_ => 1)
    var tried = 0
    def read = cache("key", System.nanoTime() + 1000000000L) {
      tried += 1
      throw new UnsatisfiedLinkError
    }
    assert(read.contains(None) && read.contains(None) && tried == 1)
  }

  test("each query waited for dictionaries of a store that hangs", Slow) {
    distant("hanging", 2, "concat('c', id % 5) AS c")
    val opened = new AtomicInteger
    DistantFileSystem.opening = _ => {
      opened.incrementAndGet()
      Thread.sleep(60000)
    }
    // Both files are opened within this time even in a young JVM.
    conf(StatsConf.FOOTERS_MAX_MS.key -> "5000") {
      assert(new ParquetDictionaries(relation("hanging")).values("c").isEmpty && opened.get == 2)
      assert(new ParquetDictionaries(relation("hanging")).values("c").isEmpty && opened.get == 2)
    }
  }

  // A long-lived driver of wide tables filled up.
  test("footers were kept by number: those of wide tables filled the heap") {
    val kept = new FileCache[String, String](_.length * 1000L - FileCache.entryBytes, most = 16000)
    for (key <- Seq("a", "b", "c", "d")) kept.keep(key, key * 4)
    kept.recall("a"): Unit
    kept.keep("e", "eeee")
    assert(Seq("a", "c", "d", "e").forall(kept.recall(_).isDefined) && kept.recall("b").isEmpty)
    // In place of what was there.
    kept.keep("a", "aa")
    assert(kept.recall("a").flatten.contains("aa") && kept.recall("c").isDefined)
    // What would push out most of the others.
    kept.keep("f", "f" * 5)
    assert(kept.recall("f").isEmpty && Seq("a", "c", "d", "e").forall(kept.recall(_).isDefined))
  }

  test("each row group had column names of its own") {
    table("grouped", "SELECT id AS some_key FROM range(1000)", groupRows = Some(100))
    val names = Footers.read(relation("grouped")).get.groups.map(_.ranges.keys.head)
    assert(names.size > 1 && names.forall(_ eq names.head))
  }
}

/** The machine's files as if they were elsewhere. */
class DistantFileSystem extends RawLocalFileSystem {
  override def getUri: java.net.URI = java.net.URI.create("distant:///")
  override def getScheme: String = "distant"
  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    DistantFileSystem.opening(path)
    super.open(path, bufferSize)
  }
}

object DistantFileSystem {

  /** What happens before a file is opened. */
  @volatile var opening: Path => Unit = (_: Path) => ()
}
