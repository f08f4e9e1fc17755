package org.apache.comet {

  import org.apache.spark.sql.SparkSessionExtensions
  import org.apache.spark.sql.execution.ColumnarRule

  /** Stands for an engine: the name of its rule's class begins like Comet's. */
  class FakeEngine extends (SparkSessionExtensions => Unit) {
    override def apply(e: SparkSessionExtensions): Unit = e.injectColumnar(_ => new ColumnarRule {})
  }
}

package org.apache.spark.sql.springbok.catalyst {

  import org.apache.comet.FakeEngine
  import org.apache.spark.sql.springbok.{SpringbokExtensions, SpringbokTest}

  /** A native engine that is loaded, and switched on or off in a session. */
  class OtherColumnarRulesSuite extends SpringbokTest {
    override protected def sessionConf: Map[String, String] = super.sessionConf +
      ("spark.sql.extensions" -> s"${classOf[SpringbokExtensions].getName},${classOf[FakeEngine].getName}")

    // No filter was placed where an engine was loaded, even if it did nothing.
    test("filters are placed where the engine is switched off") {
      table("fact", "SELECT id, id % 3000 AS k FROM range(60000)")
      table("dim", "SELECT id AS k, id % 50 AS g FROM range(3000)")
      val query = "SELECT count(*) FROM fact f JOIN dim d ON f.k = d.k WHERE d.g = 3"
      conf(shuffled: _*) {
        assert(declined(same(query)) == Seq("COLUMNAR_RULE"))
        conf("spark.comet.enabled" -> "false")(assert(used(same(query)).nonEmpty))
      }
    }
  }
}
