package org.apache.spark.sql.springbok.catalyst

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.plans.logical.Range
import org.apache.spark.sql.execution.{FileSourceScanExec, RangeExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.rules.runtimefilters.place.Determinism

/** What planning asks of a plan's nodes again and again. */
class SharedExchangesSuite extends SpringbokTest {
  test("a leaf of many paths is told without comparing them all, in whatever order they are") {
    val parts = Seq("a", "b").map { name =>
      table(name, "SELECT id FROM range(10)")
      new Path(folder.resolve(name).toUri)
    }
    class Incomparable(paths: Seq[Path]) extends InMemoryFileIndex(spark, paths, Map.empty, None) {
      override def hashCode(): Int = fail("hashed")
      override def equals(other: Any): Boolean = fail("compared")
    }
    val scan = collect(executed(spark.table("a"))) { case s: FileSourceScanExec => s }.head
    def leaf(paths: Seq[Path]): Any = SharedExchanges.leaf(
      scan.copy(relation = scan.relation.copy(location = new Incomparable(paths))(spark))
    )
    assert(leaf(parts) == leaf(parts.reverse) && leaf(parts).hashCode == leaf(parts.reverse).hashCode)
    assert(leaf(parts.take(1)) != leaf(parts.drop(1)) && leaf(parts) != leaf(parts.take(1)))
  }

  // Planning a hundred shuffled joins once walked finished stages again and again.
  test("a plan that stands in many places of another one is gone through once") {
    val leaf: SparkPlan = RangeExec(Range(0, 10, 1, 1))
    val deep = (1 to 60).foldLeft(leaf)((p, _) => UnionExec(Seq(p, p)))
    assert(new Determinism()(deep))
  }
}
