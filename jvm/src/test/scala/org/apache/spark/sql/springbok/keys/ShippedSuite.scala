package org.apache.spark.sql.springbok.keys

import org.apache.spark.SparkEnv
import org.apache.spark.sql.springbok.SpringbokTest

class ShippedSuite extends SpringbokTest {
  test("a small set goes with the code, a large one as a broadcast") {
    def sent(keys: Int): Int = {
      val bitmap = KeyBitmap.over(0, keys.toLong - 1)
      (0 until keys by 3).foreach(k => bitmap.put(k.toLong))
      val shipped = Shipped.of(spark.sparkContext, bitmap, bitmap.words.length * 8L)
      val serializer = SparkEnv.get.closureSerializer.newInstance()
      val bytes = serializer.serialize(shipped)
      val there = serializer.deserialize[Shipped[KeyBitmap]](bytes.duplicate()).value
      assert((0 until keys).forall(k => there.contains(k.toLong) == (k % 3 == 0)))
      bytes.remaining
    }
    val small = Shipped.smallBytes.toInt * 8
    assert(sent(64) < 1024)
    assert(sent(small) > Shipped.smallBytes)
    assert(sent(small + 64) < 4096)
  }
}
