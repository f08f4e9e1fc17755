package org.apache.spark.sql.springbok.stats.history

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

/** Histories that applications share. Each `History` stands for one application. */
class SharedHistorySuite extends SharedHistoryTest {
  private val counted = LearnedEntry.OfRows(
    Digest(0, 3),
    LearnedRows(120, inputs, 1, now - 1000, Map(Digest(5, 6) -> 7L, Digest(7, 8) -> 120L)),
    None
  )

  test("an entry is a line, and a changed line is no entry") {
    val entries = Seq(
      entry(1, 120),
      entry(2, 0).copy(label = None),
      counted,
      LearnedEntry.OfSelectivity(Digest(-1, Long.MinValue), LearnedSelectivity(0.01, 3, now))
    )
    for (e <- entries) {
      val line = HistoryLine.write(e)
      assert(HistoryLine.read(line, now).contains(e))
      assert(line.indices.forall(i => HistoryLine.read(line.take(i), now).isEmpty))
      assert(HistoryLine.read(line.replace("\"runs\":", "\"Runs\":"), now).isEmpty)
      assert(HistoryLine.fits(e))
    }
  }

  // A file with such a line was once read by nobody, and never put together with others.
  test("an entry with more inputs than a reader takes is not written") {
    val many = entry(1, 5).copy(learned = entry(1, 5).learned.copy(inputs = Seq.fill(101)(inputs.head)))
    assert(HistoryLine.read(HistoryLine.write(many), now).isEmpty && !HistoryLine.fits(many))
    val shared = folder()
    val h = application(shared)
    h.share(Seq(many, entry(2, 6)))
    h.flush(20000)
    assert(at(shared).load(now).collect { case LearnedEntry.OfRows(key, _, _) => key } == Seq(Digest(0, 2)))
  }

  test("the line that Python reads") {
    // The same line stands in test_history.py.
    val line =
      """1f6abab4 {"v":1,"rows":120,"key":"00000000000000010000000000000002","runs":3,"last":1764000000000,""" +
        """"inputs":[[2,1024,"00000000000000030000000000000004"]],"label":"Filter of t"}"""
    val learned = LearnedRows(120, Seq(InputFingerprint(2, 1024, Digest(3, 4))), 3, 1764000000000L)
    assert(HistoryLine.write(LearnedEntry.OfRows(Digest(1, 2), learned, Some("Filter of t"))) == line)
  }

  test("what is not an entry of this version is left out, whatever it holds") {
    def line(json: String): String = {
      val crc = new java.util.zip.CRC32
      crc.update(json.getBytes(UTF_8))
      f"${crc.getValue}%08x $json"
    }
    val good = HistoryLine.write(entry(1, 5)).drop(9)
    assert(HistoryLine.read(line(good), now).isDefined)
    val values = HistoryLine.write(counted).drop(9)
    assert(HistoryLine.read(line(values), now).contains(counted))
    for {
      bad <- Seq(
        good.replace("\"v\":1", "\"v\":2"),
        good.replace("\"rows\":5", "\"rows\":-5"),
        good.replace("\"rows\":5", "\"rows\":1e300"),
        good.replace("\"rows\":5", "\"rows\":\"5\""),
        good.replace("\"runs\":1", "\"runs\":0"),
        good.replace("0000", "zzzz"),
        good.replace("[[2,", "[[[2,"),
        good.replace(s"${now - 1000}", s"${now + 100000}"),
        values.replace(":7", ":121"),
        values.replace(":7", ":-7"),
        values.replace(":7", ":0.5"),
        values.replace("\"0000000000000005", "\"zz"),
        values.replace(":7", (1 to 8).map(i => f""""$i%032x":1""").mkString(":7,", ",", "")),
        "[]",
        "null",
        "{",
        "",
        "{\"v\":1,\"selectivity\":0,\"key\":\"" + "0" * 32 + "\",\"runs\":1,\"last\":1}",
        "{\"v\":1,\"selectivity\":NaN,\"key\":\"" + "0" * 32 + "\",\"runs\":1,\"last\":1}",
        "[" * 10000
      )
    } assert(HistoryLine.read(line(bad), now).isEmpty, bad.take(100))
  }

  test("one application learns, and the next one knows") {
    val p = folder()
    val first = application(p)
    learn(first, 1, 100)
    learn(first, 1, 110)
    val second = application(p)
    assert(second.rows(Digest(0, 1)).exists(l => l.rows == 110 && l.runs == 2 && l.inputs == inputs))
    assert(second.rows(Digest(0, 2)).isEmpty)
  }

  test("two applications write at once") {
    val p = folder()
    val both = Seq.fill(2)(application(p))
    for (i <- 1 to 20; (h, n) <- both.zipWithIndex)
      h.share(
        Seq(LearnedEntry.OfRows(Digest(n.toLong, i.toLong), LearnedRows(i.toLong, inputs, 1, now), None))
      )
    both.foreach(_.flush(20000))
    val third = application(p)
    for (i <- 1 to 20; n <- 0 to 1)
      assert(third.rows(Digest(n.toLong, i.toLong)).exists(_.rows == i), s"$n $i")
  }

  test("many small files of an application become one") {
    val p = folder()
    val f = at(p)
    for (i <- 1 to 40) f.add(Seq(entry(i.toLong, i.toLong)), now)
    assert(files(p).size <= 17)
    assert(f.load(now).map(_.key.low).toSet == (1L to 40L).toSet)
  }

  test("a folder with too many files or bytes is put in order, and the latest entries stay") {
    val p = folder()
    for (i <- 1 to 70) at(p).add(Seq(entry(i.toLong, i.toLong, lastMs = now - 1000 + i)), now)
    assert(files(p).size == 70)
    assert(at(p, maxEntries = 50).load(now).size == 50)
    assert(files(p).size == 1)
    val left = at(p).load(now)
    assert(left.map(_.key.low).toSet == (21L to 70L).toSet)
    // Of more bytes than may be read, the newest files count.
    for (i <- 100 to 110) at(p).add(Seq.fill(10)(entry(i.toLong, 1)), now)
    assert(at(p, maxBytes = 20000).load(now).nonEmpty)
    assert(files(p).map(Files.size).sum <= 20000)
  }

  test("half a line, foreign files and files that cannot be read lose nothing else") {
    val p = folder()
    learn(application(p), 1, 100)
    val file = files(p).head
    val cut = HistoryLine.write(entry(9, 9)).dropRight(7)
    Files.write(
      p.resolve("history-cafe-0.jsonl"),
      (Files.readString(file).replace(" ", "  ") + "\u0000" + cut).getBytes(UTF_8)
    )
    Files.write(p.resolve("history-cafe-1.jsonl"), Array.fill[Byte](100000)(-1))
    Files.write(p.resolve("notes.txt"), "not ours".getBytes(UTF_8))
    Files.write(p.resolve(".history-cafe-2.tmp"), cut.getBytes(UTF_8))
    Files.createDirectory(p.resolve("history-cafe-3.jsonl"))
    val next = application(p)
    assert(next.rows(Digest(0, 1)).exists(_.rows == 100) && next.size == 1)
    learn(next, 2, 7)
    assert(application(p).size == 2)
  }

  test("files may be read by whom the folder lets in, and a new folder is for its owner") {
    val p = folder()
    learn(application(p), 1, 100)
    assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(p)) == "rwx------")
    assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(files(p).head)) == "rw-------")
    Files.setPosixFilePermissions(p, PosixFilePermissions.fromString("rwxrwx---"))
    learn(application(p), 2, 100)
    val shown = files(p).map(f => PosixFilePermissions.toString(Files.getPosixFilePermissions(f))).toSet
    assert(shown == Set("rw-------", "rw-rw----"))
  }

  test("a folder that cannot be written fails no query, and the application still learns") {
    val file = Files.createTempFile("history", "file")
    val h = application(file)
    learn(h, 1, 100)
    assert(h.rows(Digest(0, 1)).exists(_.rows == 100))
    assert(Files.size(file) == 0)
  }
}
