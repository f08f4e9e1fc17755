package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.expressions.{ExprId, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.JoinHint
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterState._
import org.scalatest.funsuite.AnyFunSuite

class DecisionLogSuite extends AnyFunSuite {
  private val column = NamedExpression.newExprId

  private def place(log: DecisionLog, join: Int, target: ExprId = column): FilterRecord =
    log.place(join, 0, target, n => Placed(Placement(n, Some(0.5))))(new FilterRecord(join, 0, "k", None, _))

  test("filters are numbered as they are placed, and placed again they keep their number") {
    val log = new DecisionLog
    val (a, b) = (place(log, 0), place(log, 1))
    assert(Seq(a, b).map(_.id) == Seq("RF000", "RF001") && a.retained.contains(0.5))
    b.use(Seq("bloom"), BuildFacts(retained = Some(0.1)))
    assert(b.kinds == Seq("bloom") && b.retained.contains(0.1) && b.expectedRetained.contains(0.5))
    assert((place(log, 1) eq b) && b.id == "RF001" && b.state.isInstanceOf[Placed])
  }

  test("filters that are withdrawn leave no trace") {
    val log = new DecisionLog
    val (a, b) = (place(log, 0), place(log, 1))
    log.withdraw(Set(b))
    assert(log.filters == Seq(a) && place(log, 2).id == "RF001")
  }

  test("of several reasons against a filter the first one stands") {
    val log = new DecisionLog
    log.decline(0, 0, "k", Reason.sparkFilters)
    log.decline(0, 0, "k", Reason.noSource)
    assert(log.declined(0, 0) && log.filters.map(_.reason) == Seq(Reason.sparkFilters))
    // It found a place when the query was planned again.
    val placed = place(log, 0)
    assert(!log.declined(0, 0) && log.filters == Seq(placed))
    log.decline(0, 0, "k", Reason.noSource)
    log.decline(0, 0, "k", Reason.sparkFilters)
    assert(placed.state.isInstanceOf[Placed] && placed.reason == Reason.noSource)
  }

  test("a decision is recalled for the build side that it was made from") {
    val f = place(new DecisionLog, 0)
    val (source, decision) = (new Object, new Object)
    f.decline(Reason.noSummary)
    f.remember(source, decision)
    f.transition(s => Placed(s.placement.get))
    assert(f.recall(new Object).isEmpty && f.state.isInstanceOf[Placed])
    assert(f.recall(source).contains(decision) && f.reason == Reason.noSummary)
  }

  test("the joins of a subquery get numbers of their query") {
    def add(s: PlanningState) =
      s.addJoin(new LoggedJoin(_, "INNER", JoinTexts(Nil, Nil, None), JoinHint.NONE, None))
    val (query, subquery) = (new PlanningState, new PlanningState)
    val (own, below) = (add(query), add(subquery))
    query.adopt(subquery)
    query.adopt(subquery)
    assert(
      (subquery.log eq query.log) && query.joins == Seq(own, below) && query.joins.map(_.id) == Seq(0, 1)
    )
    assert(add(subquery).id == 2)
  }
}
