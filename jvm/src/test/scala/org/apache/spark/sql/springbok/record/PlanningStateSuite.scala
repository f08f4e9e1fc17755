package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.plans.logical.{JoinHint, LogicalPlan}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.springbok.SpringbokTest
import org.apache.spark.sql.springbok.physical.PlanningEstimates

/** Estimates on their way from one rule to the next, and the joins of subqueries. */
class PlanningStateSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("facts", "SELECT id % 100 AS k, id AS v FROM range(1000)")
    table("dims", "SELECT id AS k, id % 10 AS g FROM range(100)")
  }

  private val query = "SELECT f.v FROM facts f JOIN dims d ON f.k = d.k WHERE d.g = 3"

  private def optimized(sql: String): LogicalPlan = execution(spark.sql(sql)).optimizedPlan

  private def physical(of: LogicalPlan): SparkPlan = {
    val p = execution(spark.range(1).toDF()).sparkPlan.collectFirst { case l: LeafExecNode => l }.get.clone()
    p.setLogicalLink(of)
    p
  }

  test("a copy of a plan has the estimates of the plan, once") {
    val (state, plan) = (new PlanningState, optimized(query))
    val stats = PlanningEstimates(state.lasting)
    val known = stats(plan)
    state.handOver(stats, plan)
    val copy = plan.clone()
    assert(state.takeOver(physical(copy)).exists(s => (s eq stats) && (s(copy) eq known)))
    assert(state.takeOver(physical(copy)).isEmpty)
  }

  test("so has the query that a command writes, and none the plan of another query") {
    val (state, plan) = (new PlanningState, optimized(s"SELECT count(*) FROM ($query)"))
    state.handOver(PlanningEstimates(state.lasting), plan)
    assert(state.takeOver(physical(optimized("SELECT max(v) FROM facts"))).isEmpty)
    assert(state.takeOver(physical(plan.children.head.clone())).isDefined)
  }

  test("a query and its subqueries do not take each other's") {
    val (outer, inner) = (new PlanningState, new PlanningState)
    val (plan, sub) = (optimized(query), optimized(query.replace("= 3", "= 4")))
    inner.handOver(PlanningEstimates(inner.lasting), sub)
    outer.adopt(inner)
    outer.handOver(PlanningEstimates(outer.lasting), plan)
    assert(inner.takeOver(physical(sub.clone())).isDefined)
    assert(outer.takeOver(physical(plan.clone())).isDefined)
  }

  test("the joins of a subquery get numbers of their query") {
    def add(s: PlanningState) =
      s.addJoin(new JoinState(s, _, "INNER", JoinTexts(Nil, Nil, None), JoinHint.NONE, None))
    val (query, subquery) = (new PlanningState, new PlanningState)
    val (own, below) = (add(query), add(subquery))
    query.adopt(subquery)
    query.adopt(subquery)
    assert(subquery.filters eq query.filters)
    assert(query.joins == Seq(own, below) && query.joins.map(_.id) == Seq(0, 1))
    assert(add(subquery).id == 2)
  }
}
