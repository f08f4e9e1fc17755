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

  test("every code is documented, with what to do, and its setting exists") {
    val settings = Settings.entries.map(_.key).toSet
    Reason.all.foreach { t =>
      assert(t.code.matches("[A-Z][A-Z_]+") && t.advice.endsWith("."), t.code)
      assert(t.setting.forall(s => settings(s) || s.startsWith("spark.sql.")), t.code)
      assert(Reason.markdown.contains(s"| `${t.code}` |"))
    }
  }
}
