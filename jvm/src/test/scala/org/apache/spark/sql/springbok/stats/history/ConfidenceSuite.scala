package org.apache.spark.sql.springbok.stats.history

import org.apache.spark.sql.springbok.stats.estimate.{Rows, Source}
import org.scalatest.funsuite.AnyFunSuite

class ConfidenceSuite extends AnyFunSuite {
  private def files(n: Int, bytes: Long, state: String = ""): InputFingerprint =
    InputFingerprint(n.toLong, bytes, Digest.text(s"$n $bytes $state"))

  private def estimated(rows: Double, bound: Double = 1e9): Option[Rows] =
    Some(Rows(rows, bound, Source.Estimated))

  test("the same inputs have the same rows, whatever statistics say") {
    val same = Seq(files(2, 100), files(1, 7))
    val c = Confidence.of(same, same)
    assert(c.rows(1000, estimated(3)) == 1000 && c.rows(1000, None) == 1000)
  }

  test("appended data counts as the rest of the data") {
    val c = Confidence.of(Seq(files(2, 100)), Seq(files(3, 125)))
    assert(c == Confidence(0.8, 1.25))
    assert(c.rows(1000, None) == 1250)
    assert(math.abs(c.rows(1000, estimated(1250)) - 1250) < 1e-6)
    val mixed = c.rows(1000, estimated(10))
    assert(mixed > 10 && mixed < 1250)
  }

  test("rows of other data are no more than statistics allow") {
    val (before, now) = (Seq(files(2, 100)), Seq(files(3, 125)))
    assert(Confidence.of(before, now).rows(1e6, estimated(20, bound = 300)) == 300)
    assert(Confidence.of(before, before).rows(1e6, estimated(20, bound = 300)) == 1e6)
  }

  test("data that was replaced is believed half, and what is left of almost nothing not at all") {
    assert(Confidence.of(Seq(files(2, 100, "old")), Seq(files(2, 100, "new"))).share == 0.5)
    assert(Confidence.of(Seq(files(2, 1000)), Seq(files(1, 100))).share < Confidence.least)
    assert(Confidence.of(Seq(files(2, 100)), Seq(files(90, 100000))).share < Confidence.least)
    assert(Confidence.of(Seq(files(2, 100)), Nil).share == 0)
  }

  test("a history holds no more than it may, and forgets what was not used for the longest time") {
    val h = new History
    def learn(key: Long, rows: Long, at: Long, most: Int) =
      h.learn(Digest(0, key), LearnedRows(rows, Nil, 1, at), most)
    for (i <- 1 to 5) learn(i.toLong, i.toLong, i.toLong, most = 3)
    assert(h.size == 3 && h.rows(Digest(0, 2)).isEmpty)
    assert(h.rows(Digest(0, 3)).map(_.rows).contains(3L))
    learn(6, 6, 6, most = 3)
    assert(h.rows(Digest(0, 3)).isDefined && h.rows(Digest(0, 4)).isEmpty)
    learn(3, 30, 7, most = 3)
    assert(h.rows(Digest(0, 3)).contains(LearnedRows(30, Nil, 2, 7)))
    learn(7, 7, 8, most = 1)
    assert(h.size == 1)
  }

  test("distinct values stay known while the inputs are the same") {
    val (a, b) = (Digest(1, 0), Digest(2, 0))
    val first = LearnedRows(9, Seq(files(2, 100)), 1, 1, Map(a -> 3L))
    val second = LearnedRows(9, Seq(files(2, 100)), 1, 2, Map(b -> 4L)).after(Some(first))
    assert(second.runs == 2 && second.distinct == Map(a -> 3L, b -> 4L))
    assert(LearnedRows(9, Seq(files(3, 150)), 1, 3).after(Some(second)).distinct.isEmpty)
    val many = LearnedRows(9, Nil, 1, 1, (1L to 20).map(i => Digest(i, 0) -> i).toMap)
    val h = new History
    for (_ <- 1 to 2) {
      val kept = h.learn(a, many, most = 1).distinct
      assert(kept.size == LearnedRows.mostColumns && kept.values.forall(_ <= 9))
    }
  }

  test("the selectivity of a form is the geometric mean of its runs") {
    val h = new History
    for (s <- Seq(0.1, 0.001)) h.learnSelectivity(Digest(1, 1), s, 5, most = 10)
    val learned = h.selectivity(Digest(1, 1)).get
    assert(math.abs(learned.selectivity - 0.01) < 1e-9 && learned.runs == 2)
  }
}
