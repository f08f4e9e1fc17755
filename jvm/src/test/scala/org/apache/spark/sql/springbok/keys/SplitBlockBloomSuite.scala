package org.apache.spark.sql.springbok.keys

import scala.util.Random

import org.apache.spark.sql.springbok.SparkFeatures
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class SplitBlockBloomSuite extends AnyFunSuite {
  private def filled(keys: Int, bytes: Long, from: Int = 0): SplitBlockBloom = {
    val b = SplitBlockBloom.ofBytes(bytes)
    (from until from + keys).foreach(k => b.put(KeyType.hashLong(k.toLong)))
    b
  }

  test("it holds every key that was put in, at any fill") {
    for (bytes <- Seq(32L, 1024L, 65536L)) {
      val b = filled(10000, bytes)
      assert((0 until 10000).forall(k => b.mightContain(KeyType.hashLong(k.toLong))))
    }
  }

  test("foreign keys pass at about the computed rate") {
    for (keys <- Seq(1000, 20000); rate <- Seq(0.1, 0.01)) {
      val bytes = SplitBlockBloom.bytesFor(keys.toDouble, rate, 32, 1L << 24)
      val b = filled(keys, bytes)
      val passed = (1 to 100000).count(i => b.mightContain(KeyType.hashLong(-i.toLong))) / 100000.0
      val computed = SplitBlockBloom.falsePositiveRate(keys.toDouble, bytes)
      assert(computed <= rate)
      assert(passed < computed * 1.5 + 0.001, s"$keys keys in $bytes bytes: $passed, computed $computed")
    }
  }

  test("a filter made too large is folded to the size that costs least, and holds its keys") {
    val b = SplitBlockBloom.ofBytes(8L << 20)
    val keys = (1L to 100000L).map(KeyType.hashLong)
    keys.foreach(b.put)
    for (saved <- Seq(10.0, 300.0, 1e6)) {
      val bytes = SplitBlockBloom.cheapest(b.bytes, keys.size.toDouble, saved)
      val small = b.foldedTo(bytes)
      assert(small.bytes == bytes && bytes <= (2L << 20) && keys.forall(small.mightContain), saved)
    }
    assert(SplitBlockBloom.cheapest(64, 1e6, 300) == 64, "of none that helps the largest")
    assert(b.foldedTo(1L << 30) eq b)
    assert(b.foldedTo(0).bytes == 32)
  }

  test("a union and a folded filter hold all keys") {
    val (a, b) = (filled(1000, 8192), filled(1000, 2048, from = 5000))
    val u = a.union(b)
    assert(u.bytes == 2048)
    assert(((0 until 1000) ++ (5000 until 6000)).forall(k => u.mightContain(KeyType.hashLong(k.toLong))))
    assert(filled(10, 32).union(filled(10, 64, 10)).bytes == 32)
  }

  test("the number of keys is estimated from the bits") {
    val n = filled(50000, 1L << 17).estimatedKeys
    assert(math.abs(n - 50000) < 2500, n.toString)
  }

  test("a size is a power of two within its bounds") {
    assert(SplitBlockBloom.bytesFor(1, 0.01, 4096, 1L << 20) == 4096)
    assert(SplitBlockBloom.bytesFor(1e9, 0.01, 4096, 1L << 20) == (1L << 20))
    assert(SplitBlockBloom.bytesFor(1e9, 0.01, 5000, 6000) == 8192)
    intercept[IllegalArgumentException](new SplitBlockBloom(new Array[Int](24)))
  }

  test("a summary is a union of its partials, whatever their order and repetition") {
    val random = new Random(7)
    val parts = Seq.fill(8)((1 to 500).map(_ => random.nextInt(3000).toLong))
    def facts(limit: Int)(values: Seq[Long]) = {
      val f = new KeyFacts(LongType, limit, 4096)
      values.foreach(f.addLong)
      f
    }
    for (limit <- Seq(10, 1000, 10000)) {
      val all = parts.flatten
      val whole = facts(limit)(all)
      val merged = random.shuffle(parts ++ parts.take(3)).map(facts(limit)).reduce(_.union(_))
      assert(merged.range == whole.range && merged.range.contains((all.min, all.max)))
      assert((merged.values == null) == (all.distinct.size > limit))
      if (merged.values != null) assert(merged.values == whole.values)
      else assert(all.forall(v => merged.bloom.mightContain(KeyType.hashLong(v))))
    }
  }

  test("values that Spark takes for equal have the same hash") {
    val t = DecimalType(38, 2)
    assert(KeyType.hash(Decimal("1.50"), t) == KeyType.hash(Decimal(BigDecimal("1.5"), 38, 2), t))
    val short = DecimalType(10, 2)
    assert(
      KeyType.hash(Decimal(BigDecimal("1.5"), 10, 2), short) == KeyType.hash(Decimal(150L, 10, 2), short)
    )
    val bytes = "xabcx".getBytes
    assert(
      KeyType.hash(UTF8String.fromBytes(bytes, 1, 3), StringType) == KeyType.hash(
        UTF8String.fromString("abc"),
        StringType
      )
    )
    assert(
      !KeyType.supported(DoubleType) && !SparkFeatures.collated.exists(KeyType.supported) && KeyType
        .supported(StringType)
    )
  }
}
