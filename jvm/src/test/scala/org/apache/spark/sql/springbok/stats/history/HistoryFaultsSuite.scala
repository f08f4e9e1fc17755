package org.apache.spark.sql.springbok.stats.history

import java.io.{BufferedReader, InputStreamReader, RandomAccessFile}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.{FileTime, PosixFilePermissions}
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.springbok.stats.history.FaultyFileSystem.{having, Faults}

/** What happens to a shared history if disks, writers and other users do what they should not. */
class HistoryFaultsSuite extends SharedHistoryTest {
  private def faulty(p: Path, maxBytes: Long = 1 << 20): HistoryFolder = new HistoryFolder(
    new HadoopPath(p.toUri),
    FaultyFileSystem.configuration,
    maxBytes,
    10000
  )

  private def onFaulty(p: Path): History = {
    val h = new History(Some(faulty(p)))
    h.flush(20000)
    h
  }

  private def known(f: HistoryFolder): Set[Long] = f.load(now).map(_.key.low).toSet

  private def hidden(p: Path): Seq[String] =
    Files.list(p).iterator.asScala.map(_.getFileName.toString).filter(_.startsWith(".")).toList

  /** Files with an entry each. */
  private def write(p: Path, keys: Range): Unit =
    for (i <- keys) at(p).add(Seq(entry(i.toLong, i.toLong)), now)

  test("a full disk loses the entries that are being written, and one warning tells") {
    val p = folder()
    val h = onFaulty(p)
    learn(h, 1, 100)
    val said = Warnings.of(classOf[SharedHistory].getPackage.getName) {
      for (space <- Seq(0L, 1L, 100L)) having(Faults(space = space))(learn(h, 2 + space, 100))
    }
    assert(said.size == 1 && said.head.contains("cannot be read or written"), said)
    learn(h, 500, 100)
    assert(hidden(p).isEmpty)
    assert(known(at(p)) == Set(1L, 500L))
    // The application itself has learned them.
    assert(Seq(1L, 2L, 3L, 102L, 500L).forall(k => h.rows(Digest(0, k)).isDefined))
  }

  test("a disk that is full while files are put together loses nothing") {
    val p = folder()
    val f = faulty(p)
    for (i <- 1 to 16) f.add(Seq(entry(i.toLong, 1)), now)
    val line = HistoryLine.write(entry(17, 1)).length + 1L
    having(Faults(space = line + 100))(assertThrows[java.io.IOException](f.add(Seq(entry(17, 1)), now)))
    assert(known(at(p)) == (1L to 17L).toSet && files(p).size == 17 && hidden(p).isEmpty)
    f.add(Seq(entry(18, 1)), now)
    assert(known(at(p)) == (1L to 18L).toSet && files(p).size == 1)
    write(p, 20 to 90)
    having(Faults(space = 100))(assert(known(faulty(p)).size == 89))
    assert(files(p).size == 72 && hidden(p).isEmpty)
    assert(known(at(p)).size == 89 && files(p).size == 1)
  }

  test("a file that ends anywhere has the lines before its end") {
    val p = folder()
    at(p).add((1 to 20).map(i => entry(i.toLong, i.toLong)), now)
    write(p, 100 to 100)
    val file = files(p).maxBy(Files.size)
    val all = Files.readAllBytes(file)
    for (size <- all.indices by 37) {
      Files.write(file, all.take(size))
      val lines = all.take(size).count(_ == '\n')
      val read = known(at(p))
      assert(
        read.contains(100) && (1 to lines).forall(i => read.contains(i.toLong)) && read.size <= lines + 2
      )
    }
  }

  test("a writer that is killed, and another one at the same time") {
    val p = folder()
    val target = new HadoopPath(p.toUri)
    val (killed, other) = (HistoryWriter.start(target, 1, 100000), HistoryWriter.start(target, 2, 40))
    try {
      val out = new BufferedReader(new InputStreamReader(killed.getInputStream, UTF_8))
      val lines = Iterator.continually(out.readLine()).takeWhile(_ != null)
      assert(lines.contains("30"), "it has ended by itself")
      killed.destroyForcibly().waitFor(): Unit
      val written = new String(other.getInputStream.readAllBytes(), UTF_8)
      assert(other.waitFor(60, TimeUnit.SECONDS) && HistoryWriter.last(written) == 40)
      val later = System.currentTimeMillis() + 1000
      val read = at(p, 64L << 20, 1000000).load(later).groupBy(_.key.high).map { case (a, e) =>
        a -> e.map(_.key.low / HistoryWriter.perFile).groupBy(identity).map { case (n, all) => n -> all.size }
      }
      assert(read(2L) == (1L to 40L).map(_ -> HistoryWriter.perFile).toMap)
      // All that it had printed, and whole files only.
      assert(read(1L).keySet == (1L to read(1L).keys.max).toSet && read(1L).keys.max >= 30)
      assert(read(1L).values.forall(_ == HistoryWriter.perFile))
      assert(hidden(p).size <= 1)
    } finally {
      killed.destroyForcibly(): Unit
      other.destroyForcibly(): Unit
    }
  }

  test("applications that put the same files together at once lose none") {
    for (_ <- 1 to 5) {
      val p = folder()
      write(p, 1 to 100)
      val pool = Executors.newFixedThreadPool(4)
      val all = (1 to 4).map(_ => pool.submit(() => known(at(p)): Unit, ()))
      all.foreach(_.get(60, TimeUnit.SECONDS))
      pool.shutdown()
      assert(known(at(p)) == (1L to 100L).toSet)
    }
  }

  test("what a writer that died has left is removed after a day") {
    val p = folder()
    write(p, 1 to 1)
    val (old, fresh) = (p.resolve(".history-0-1.tmp"), p.resolve(".history-0-2.tmp"))
    Seq(old, fresh).foreach(Files.write(_, "half".getBytes(UTF_8)))
    Files.setLastModifiedTime(old, FileTime.fromMillis(now - 48L * 3600 * 1000))
    assert(known(at(p)) == Set(1L))
    assert(hidden(p) == Seq(".history-0-2.tmp"))
  }

  test("a file system that hangs keeps no query waiting, and what waits to be written is bounded") {
    val p = folder()
    write(p, 1 to 1)
    val end = new CountDownLatch(1)
    val h = having(Faults(hang = Some(end))) {
      val start = System.nanoTime()
      val h = new History(Some(faulty(p)))
      for (i <- 1 to 500) {
        assert(h.rows(Digest(0, 1)).isEmpty)
        h.share((1 to 100).map(k => entry(i * 1000L + k, 1)))
      }
      h.flush(10)
      assert(System.nanoTime() - start < 20e9)
      end.countDown()
      h.flush(20000)
      h
    }
    h.flush(20000)
    assert(h.rows(Digest(0, 1)).isDefined)
    val written = at(p, 64L << 20, 1000000).load(now).size
    assert(written > 100 && written <= 10200)
  }

  /** Files that others have put there, by their names. */
  private def foreign(p: Path): Seq[String] = {
    def named(i: Int) = p.resolve(s"history-bad0-$i.jsonl")
    val file = files(p).head
    // Larger than may be read, without using the disk.
    val huge = new RandomAccessFile(named(0).toFile, "rw")
    huge.setLength(50L << 20)
    huge.close()
    Files.write(named(1), Array.fill[Byte](900000)('x'))
    Files.write(named(2), Array.tabulate[Byte](5000)(i => (i * 7).toByte))
    Files.createDirectory(named(3))
    Files.createSymbolicLink(named(4), Paths.get("/dev/zero"))
    Files.createSymbolicLink(named(5), named(5))
    Files.createSymbolicLink(named(6), p.resolve("nowhere"))
    Files.createSymbolicLink(named(7), file)
    // A pipe would be waited for.
    assert(new ProcessBuilder("mkfifo", named(8).toString).start().waitFor() == 0)
    Files.write(
      named(9),
      Files.readAllBytes(file) ++ HistoryLine.write(entry(9, 9)).dropRight(3).getBytes(UTF_8)
    )
    (0 to 9).map(named(_).getFileName.toString)
  }

  test("foreign, huge, corrupt and linked files: the others count, and none of them is removed") {
    val p = folder()
    write(p, 1 to 5)
    val bad = foreign(p)
    val said = Warnings.of(classOf[SharedHistory].getPackage.getName) {
      for (_ <- 1 to 3) {
        val h = new History(Some(at(p, maxBytes = 2 << 20)))
        h.flush(20000)
        assert((1L to 5L).forall(k => h.rows(Digest(0, k)).isDefined) && h.size == 5)
      }
    }
    // One for each application.
    assert(said.size == 3 && said.forall(s => s.contains("used in part") && !s.contains(p.toString)), said)
    write(p, 10 to 100)
    assert(known(at(p, maxBytes = 2 << 20)) == ((1L to 5L) ++ (10L to 100L)).toSet)
    val left = Files.list(p).iterator.asScala.map(_.getFileName.toString).toSet
    // The link to a file of the history has been put together with it.
    assert((bad.toSet - "history-bad0-7.jsonl").subsetOf(left) && left.size <= 11, left)
    assert(known(at(p, maxBytes = 2 << 20)) == ((1L to 5L) ++ (10L to 100L)).toSet)
  }

  test("files that cannot be read stay, and lose nothing else") {
    val p = folder()
    write(p, 1 to 80)
    val bad = files(p).take(3).map(_.getFileName.toString).toSet
    having(Faults(unreadable = bad))(assert(known(faulty(p)).size == 77))
    assert(files(p).size == 4 && bad.subsetOf(files(p).map(_.getFileName.toString).toSet))
    assert(known(at(p)) == (1L to 80L).toSet)
  }

  test("a large foreign file does not make files go that were not read for it") {
    val p = folder()
    write(p, 1 to 80)
    Files.write(p.resolve("history-bad0-0.jsonl"), Array.fill[Byte]((1 << 20) - 100)('x'))
    for (_ <- 1 to 2) known(at(p)): Unit
    Files.delete(p.resolve("history-bad0-0.jsonl"))
    assert(known(at(p)) == (1L to 80L).toSet)
  }

  test(
    "where the folder lets nobody delete the files of others, files do not become more with each application"
  ) {
    val p = folder()
    write(p, 1 to 80)
    val others = files(p).map(_.getFileName.toString).toSet
    for (_ <- 1 to 3) having(Faults(undeletable = others))(assert(known(faulty(p)).size == 80))
    assert(files(p).map(_.getFileName.toString).toSet == others && hidden(p).isEmpty)
    write(p, 81 to 90)
    for (_ <- 1 to 3) having(Faults(undeletable = others))(assert(known(faulty(p)).size == 90))
    assert(files(p).size == 81)
  }

  test("in a folder that everyone may write, names cannot be foreseen, and files have its permissions") {
    val p = folder()
    Files.createDirectory(p)
    Files.setPosixFilePermissions(p, PosixFilePermissions.fromString("rwxrwxrwx"))
    val h = application(p)
    for (i <- 1 to 5) learn(h, i.toLong, 1)
    val names = files(p).map(_.getFileName.toString)
    assert(names.map(_.slice(8, 44)).distinct.size == 5 && names.forall(_.length == 50), names)
    val allowed = files(p).map(f => PosixFilePermissions.toString(Files.getPosixFilePermissions(f))).toSet
    assert(allowed == Set("rw-rw-rw-"))
  }

  test("100,000 entries are read in less than two seconds, and lookups do not wait for them") {
    val p = folder()
    at(p).add((1 to 100000).map(i => entry(i.toLong, i.toLong)), now)
    def loaded(): Long = {
      val start = System.nanoTime()
      val h = new History(Some(at(p, 64L << 20, 100000)))
      val asked = System.nanoTime() - start
      h.flush(20000)
      assert(h.size == 100000 && asked < 1000000000L)
      (System.nanoTime() - start) / 1000000
    }
    val took = Seq.fill(4)(loaded())
    info(s"${took.mkString(", ")} ms")
    assert(took.min < 2000)
  }
}
