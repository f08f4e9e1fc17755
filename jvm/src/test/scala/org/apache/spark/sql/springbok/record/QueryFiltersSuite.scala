package org.apache.spark.sql.springbok.record

import org.apache.spark.sql.catalyst.expressions.{ExprId, NamedExpression}
import org.apache.spark.sql.springbok.cost.FilterCost
import org.apache.spark.sql.springbok.reason.Reason
import org.apache.spark.sql.springbok.record.FilterState._
import org.scalatest.funsuite.AnyFunSuite

class QueryFiltersSuite extends AnyFunSuite {
  private val column = NamedExpression.newExprId

  private def place(filters: QueryFilters, join: Int, target: ExprId = column): FilterRecord = {
    val known = filters.find(join, 0, target)
    val record = known.getOrElse(new FilterRecord(join, 0, "k", Some(FilterColumn("t", "c", target))))
    val number = known.flatMap(_.number).getOrElse(filters.reserve())
    val f = RuntimeFilter(null, record, number, Some(0.5), FilterCost.Saving(0), minRejection = 0.1)
    filters.commit(Seq(FilterChange(record, Placed(f))))
    record
  }

  private def decline(filters: QueryFilters, why: Reason): Unit =
    filters.commit(Seq(FilterChange(new FilterRecord(0, 0, "k", None), Declined(why))))

  test("filters are numbered as they are placed, and placed again they keep their number") {
    val filters = new QueryFilters
    val (a, b) = (place(filters, 0), place(filters, 1))
    assert(Seq(a, b).flatMap(_.number) == Seq(0, 1) && a.retained.contains(0.5))
    b.use(Seq("bloom"), BuildFacts(retained = Some(0.1)))
    assert(b.kinds == Seq("bloom") && b.retained.contains(0.1) && b.expectedRetained.contains(0.5))
    assert((place(filters, 1) eq b) && b.number.contains(1) && b.state.isInstanceOf[Placed])
  }

  test("numbers of filters that are not placed after all are given again, unless others came later") {
    val filters = new QueryFilters
    val numbers = Seq.fill(4)(filters.reserve())
    filters.release(numbers.tail)
    assert(filters.reserve() == 1 && filters.reserve() == 2)
    filters.release(Seq(1))
    assert(filters.reserve() == 3)
  }

  test("of several reasons against a filter the first one holds") {
    val filters = new QueryFilters
    decline(filters, Reason.sparkFilters)
    decline(filters, Reason.noSource)
    assert(filters.declined(0, 0) && filters.all.map(_.reason) == Seq(Reason.sparkFilters))
    // It found a place when the query was planned again.
    val placed = place(filters, 0)
    assert(!filters.declined(0, 0) && filters.all == Seq(placed))
    decline(filters, Reason.noSource)
    decline(filters, Reason.sparkFilters)
    assert(placed.state.isInstanceOf[Placed] && placed.reason == Reason.noSource)
  }

  test("a decision is recalled for the build side that it was made from") {
    val f = place(new QueryFilters, 0)
    val (source, decision) = (new Object, new Object)
    f.decline(Reason.noSummary)
    f.remember(source, decision)
    f.transition(s => Placed(s.filter.get))
    assert(f.recall(new Object).isEmpty && f.state.isInstanceOf[Placed])
    assert(f.recall(source).contains(decision) && f.reason == Reason.noSummary)
  }
}
