package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.springbok.rules.runtimefilters.place.FilterBudget.{Key, Request, Share}
import org.scalatest.funsuite.AnyFunSuite

/** Which of the filters of a plan are made. */
class FilterBudgetSuite extends AnyFunSuite {
  private def request(join: Int, scanMs: Double, retained: Double, scan: Int = 1, least: Double = 5) =
    Request(Key(join, 0), scanMs, least, Seq(scan -> scanMs), retained, Share(1, 1000))

  private def refused(requests: Request*): Map[Int, String] =
    new FilterBudget(Share(3, 10000)).refused(requests).map { case (key, why) => key.join -> why.code }

  test("the filters that save most fit into the budget") {
    val requests = Seq(10.0, 40.0, 30.0, 20.0).zipWithIndex.map { case (ms, i) =>
      request(i, ms, 0.9, scan = i)
    }
    assert(refused(requests: _*) == Map(0 -> "TOO_MANY_FILTERS"))
    assert(refused(requests.tail: _*).isEmpty)
  }

  // On TPC-DS q90, six filters were made where two removed nearly all rows: planning them took longer than they saved.
  test("a filter beside a better one on the same scan has only the rows that the other one leaves") {
    assert(refused(request(0, 100, 0.05), request(1, 40, 0.1)) == Map(1 -> "SMALL_BENEFIT"))
    assert(refused(request(0, 100, 0.05), request(1, 60, 0.1)).isEmpty)
    assert(refused(request(0, 100, 0.5), request(1, 40, 0.1)).isEmpty)
    assert(refused(request(0, 100, 0.05), request(1, 40, 0.1, scan = 2)).isEmpty)
    assert(refused(request(0, 100, 0.05), request(1, 40, 0.1, least = 0)).isEmpty)
    // A refused filter removes nothing.
    assert(refused(request(0, 100, 0.1), request(1, 40, 0.1), request(2, 39, 0.1)).keySet == Set(1, 2))
  }

  test("what is saved in further hops, or of unknown scans, does not become less") {
    val further = request(1, 40, 0.1).copy(benefitMs = 50)
    assert(refused(request(0, 100, 0.05), further).isEmpty)
    assert(refused(request(0, 100, 0.05), request(1, Double.PositiveInfinity, 0.1)).isEmpty)
  }
}
