package org.apache.spark.sql.springbok.cost

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.SpringbokConf
import org.scalatest.funsuite.AnyFunSuite

class ChoicePolicySuite extends AnyFunSuite {

  private def policy(seed: Option[Int]): ChoicePolicy = {
    val conf = new SQLConf
    seed.foreach(s => conf.setConfString(SpringbokConf.FORCED.key, s.toString))
    ChoicePolicy.of(conf)
  }

  test("without a seed the costs decide") {
    val p = policy(None)
    assert(!p.ignoresCost && !p.separatesGroups(1) && p.allowsBitmap(1))
    for (pays <- Seq(true, false)) assert(p.waits(1, 2)(pays) == pays && p.sortsShuffles(3)(pays) == pays)
    assert(p.creationSide(Seq("left", "right"), 1)("right") == "right")
    assert(p.sortedPartitions(150, 200) == 201)
  }

  test("a seed makes the same choices each time, whatever they cost") {
    def fail = throw new IllegalStateException("a cost was asked for")
    def choices(seed: Int) = {
      val p = policy(Some(seed))
      assert(p.ignoresCost && p.sortedPartitions(150, 200) == 151)
      for (id <- 0 until 6)
        yield (
          p.creationSide(Seq(0, 1), id)(fail),
          p.waits(id, 1)(fail),
          p.separatesGroups(id),
          p.allowsBitmap(id),
          p.sortsShuffles(id)(fail)
        )
    }
    assert(choices(5) == choices(5) && choices(5) != choices(6))
    // Seeds of earlier fuzzing runs must reproduce.
    assert(choices(5).map(_._1) == Seq(1, 0, 1, 0, 1, 0))
    assert(choices(5).map(_._2) == Seq(false, true, true, false, true, true))
    assert(choices(5).map(_._5) == Seq(false, true, false, true, false, true))
  }
}
