package org.apache.spark.sql.springbok.physical

import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.springbok.BroadcastKeys
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.conf.FilterConf
import org.apache.spark.sql.springbok.keys.KeyType
import org.apache.spark.sql.types.LongType

class BroadcastKeysSuite extends SpringbokTest {
  private def broadcast(keys: String): BroadcastQueryStageExec = {
    val df = spark.sql(s"SELECT /*+ BROADCAST(k) */ * FROM range(1000) f JOIN ($keys) k ON f.id = k.id")
    df.collect(): Unit
    collect(executed(df)) { case b: BroadcastQueryStageExec => b }.head
  }

  private def unique(b: BroadcastQueryStageExec, maxKeys: Int): Option[Boolean] = {
    val conf = new SQLConf
    conf.setConf(FilterConf.MAX_KEYS, maxKeys)
    BroadcastKeys.unique(b, conf)
  }

  // On a cluster, whole broadcasts were once read back at each re-planning to learn this.
  test("whether a broadcast has a key twice is read from it once, and not at all if it has many rows") {
    for (
      (keys, once) <- Seq(
        "SELECT id FROM range(100)" -> true,
        "SELECT id % 50 AS id FROM range(100)" -> false
      )
    ) {
      val b = broadcast(keys)
      assert(unique(b, 1000).contains(once))
      // From now on it cannot be read.
      b.broadcast.executeBroadcast[Any]().destroy()
      assert(unique(b, 1000).contains(once) && unique(b, 10).isEmpty)
      val other = broadcast(keys)
      other.broadcast.executeBroadcast[Any]().destroy()
      assert(unique(other, 10).isEmpty)
    }
  }

  test("each filter from a broadcast's key read all of its keys twice") {
    val b = broadcast("SELECT id * 3 AS id FROM range(20000)")
    def keys = BroadcastKeys.of(b, 0, Seq(LongType), new SQLConf).toOption.get
    val first = keys
    assert(first.facts.range.contains((0L, 59997L)) && first.facts.values == null)
    b.broadcast.executeBroadcast[Any]().destroy()
    assert((keys eq first) && (keys.facts eq first.facts))
    val (bloom, bitmap) = (keys.bloom, keys.bitmap(0, 59997))
    assert((0L to 60010L).forall(k => bitmap.contains(k) == (k % 3 == 0 && k < 60000)))
    assert((0L until 60000L by 3).forall(k => bloom.mightContain(KeyType.hashLong(k))))
  }

  test("values of one of several keys are counted, not its rows") {
    val df = spark.sql(
      "SELECT /*+ BROADCAST(k) */ * FROM range(1000) f JOIN (SELECT id AS a, id % 300 AS b FROM range(40000)) k " +
        "ON f.id = k.a AND f.id % 300 = k.b"
    )
    df.collect(): Unit
    val b = collect(executed(df)) { case b: BroadcastQueryStageExec => b }.head
    def counted(index: Int) =
      BroadcastKeys.of(b, index, Seq(LongType, LongType), new SQLConf).toOption.get.counted
    assert(math.abs(counted(0) - 40000) < 400 && math.abs(counted(1) - 300) < 3)
  }
}
