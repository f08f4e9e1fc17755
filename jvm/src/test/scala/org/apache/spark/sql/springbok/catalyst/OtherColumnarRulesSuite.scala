// Springbok takes rules of its own packages for its own.
package org.example.engine {

  import org.apache.spark.sql.SparkSessionExtensions
  import org.apache.spark.sql.catalyst.rules.Rule
  import org.apache.spark.sql.execution.{ColumnarRule, FileSourceScanExec, SparkPlan}
  import org.apache.spark.sql.springbok.rules.runtimefilters.connectors.UserExec

  /** Stands for an engine: it replaces scans, unless its setting is false. */
  class FakeEngine extends (SparkSessionExtensions => Unit) {
    override def apply(e: SparkSessionExtensions): Unit = e.injectColumnar(_ => FakeEngine)
  }

  object FakeEngine extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
      override def apply(plan: SparkPlan): SparkPlan =
        if (conf.getConfString("spark.fake.enabled", "true") == "false") plan
        else plan.transformUp { case s: FileSourceScanExec => UserExec("scan", s) }
    }
  }
}

package org.apache.spark.sql.springbok.catalyst {

  import org.apache.spark.sql.springbok.{SpringbokExtensions, SpringbokTest}
  import org.example.engine.FakeEngine

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
        conf("spark.fake.enabled" -> "false")(assert(used(same(query)).nonEmpty))
      }
    }
  }
}
