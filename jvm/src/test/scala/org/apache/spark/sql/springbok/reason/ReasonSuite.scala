package org.apache.spark.sql.springbok.reason

import org.apache.spark.sql.springbok.conf.{JoinConf, Settings}
import org.scalatest.funsuite.AnyFunSuite

class ReasonSuite extends AnyFunSuite {
  test("a reason is its template with the numbers in it") {
    val r = Reason.tooBig(3L << 29, 256L << 20)
    assert(
      r.code == "BUILD_SIDE_TOO_BIG" && r.args.toMap == Map("bytes" -> 1.610612736e9, "limit" -> 2.68435456e8)
    )
    assert(r.text == "the build side may take 1.5 GB, the limit is 256.0 MB")
    assert(r.setting.contains(JoinConf.BROADCAST_BYTES_LIMIT.key))
    assert(Reason.notSelective(0.954).text == "about 95% of the probe side's rows would stay")
    assert(Reason.hint("a $1 \\ {b}").text == "the query's own hint a $1 \\ {b} decides")
  }

  test("numbers that differ do not look equal") {
    // "5 ms (minimum: 5 ms)" was said to explain why a filter was not made.
    assert(
      Reason.smallBenefit(4.96, 5).text == "would save only about 4.96 ms (minimum: 5.00 ms)" &&
        Reason.smallBenefit(3.96, 5).text == "would save only about 4 ms (minimum: 5 ms)" &&
        Reason.smallBenefit(5, 5).text == "would save only about 5 ms (minimum: 5 ms)"
    )
    assert(
      Reason.shortGain(49.96, 50).text ==
        "the best order found would save 49.96 ms while all cores work; another order must save at least 50.00 ms"
    )
    val limit = (64 << 20).toDouble
    assert(
      Reason.tooBig(limit + 50000, limit).text == "the build side may take 64.05 MB, the limit is 64.00 MB"
    )
    assert(Reason.tooBig(Double.NaN, Double.NaN).text.startsWith("the build side may take "))
  }

  test("every code is documented, with what to do, and its setting exists") {
    val settings = Settings.entries.map(_.key).toSet
    Reason.all.foreach { t =>
      assert(t.code.matches("[A-Z][A-Z_]+") && t.advice.endsWith("."), t.code)
      assert(t.setting.forall(s => settings(s) || s.startsWith("spark.sql.")), t.code)
      assert(Reason.markdown.contains(s"| `${t.code}` |"))
    }
  }
}
