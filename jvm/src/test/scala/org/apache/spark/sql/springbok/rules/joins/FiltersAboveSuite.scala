package org.apache.spark.sql.springbok.rules.joins

import org.apache.spark.sql.springbok.{Slow, SpringbokTest}
import org.apache.spark.sql.springbok.conf.{FilterConf, ReorderConf}
import org.apache.spark.sql.springbok.cost.Strategy
import org.apache.spark.sql.springbok.record.JoinDecision

/** A join is chosen for the rows that the runtime filters of joins above it leave. */
class FiltersAboveSuite extends SpringbokTest {
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + (ReorderConf.ENABLED.key -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("cast_list", "SELECT id % 100000 AS person, id % 20000 AS movie, id AS v FROM range(400000)")
    table("person", "SELECT id AS person, repeat('p', 40) || id AS label FROM range(100000)")
    table("movie", "SELECT id AS movie, id % 400 AS year FROM range(20000)")
  }

  /** The first decision about the join by `person`. */
  private def planned(sql: String): JoinDecision =
    record(same(sql)).joins.find(_.condition.leftKeys.mkString.contains("person")).flatMap(_.planned).get

  private def notes(d: JoinDecision): Seq[String] =
    d.notes.filter(_.code == "FILTERED_BY_JOINS_ABOVE").map(_.text)

  private val upper =
    """SELECT count(*), sum(v), max(label) FROM cast_list JOIN person USING (person)
      |JOIN movie USING (movie) WHERE year = 7""".stripMargin

  test("the costs count the rows that are left, at least a tenth, and limits count all") {
    val d = planned(upper)
    val left = d.input.get.left
    assert(left.rows.contains(40000.0) && left.size.boundRows.exists(_ >= 400000), left)
    assert(notes(d) == Seq("runtime filters of joins above are counted as leaving 10% of the left side"))
  }

  test("another side is built than without filters") {
    val without = conf(FilterConf.MODE.key -> "OFF")(planned(upper))
    assert(without.input.get.left.rows.contains(400000.0) && notes(without).isEmpty)
    val build = Seq(planned(upper), without).map(d => Strategy.build(d.choice.chosen).map(_.toString))
    assert(build == Seq(Some("BuildLeft"), Some("BuildRight")))
  }

  test("a filter that saves too little is not counted") {
    conf(FilterConf.MIN_BENEFIT_MS.key -> "10000")(assert(notes(planned(upper)).isEmpty))
  }

  test("a filter reaches a table through groups by its key, and by a key that another one equals") {
    val through = Seq(
      """SELECT count(*), sum(n) FROM (SELECT person, movie, count(*) AS n FROM cast_list GROUP BY person, movie) c
        |JOIN person USING (person) JOIN movie USING (movie) WHERE year = 7""".stripMargin,
      """SELECT count(*), sum(a.v) FROM cast_list a JOIN cast_list b ON a.movie = b.movie AND a.person = b.person
        |JOIN movie m ON b.movie = m.movie WHERE m.year = 7""".stripMargin
    )
    assert(through.map(sql => notes(planned(sql)).size) == Seq(1, 2))
  }

  test("no filter reaches the table") {
    val cast = "SELECT person, movie, v FROM cast_list"
    def joined(c: String) =
      s"SELECT count(*), sum(v), max(label) FROM ($c) JOIN person USING (person) JOIN movie USING (movie) WHERE year = 7"
    val none = Seq(
      // What a limit keeps depends on the rows that it sees.
      joined(s"$cast ORDER BY v LIMIT 300000"),
      // A group must not lose rows.
      joined("SELECT person, min(movie) AS movie, sum(v) AS v FROM cast_list GROUP BY person"),
      // The join above keeps rows without a match.
      upper.replace("JOIN movie", "LEFT JOIN movie").replace("WHERE", "WHERE v % 2 = 0 OR"),
      // The side of an outer join whose rows may be missing.
      """SELECT count(*), sum(v), max(label) FROM person LEFT JOIN cast_list USING (person)
        |JOIN movie ON coalesce(cast_list.movie, 7) = movie.movie WHERE year = 7""".stripMargin,
      // All keys are there, or nearly all.
      upper.replace("WHERE year = 7", ""),
      upper.replace("WHERE year = 7", "WHERE year < 385")
    )
    none.foreach(sql => assert(notes(planned(sql)).isEmpty, sql))
  }

  test("copies of a join that share their exchanges get the same strategy") {
    val df =
      same("""WITH c AS (SELECT movie, v, label FROM cast_list JOIN person USING (person) WHERE v % 5 < 4)
                    |SELECT count(*), sum(a.v) FROM c a JOIN movie USING (movie) WHERE year = 7
                    |UNION ALL SELECT count(*), max(v) FROM c""".stripMargin)
    val copies = record(df).joins.filter(_.condition.leftKeys.mkString.contains("person")).flatMap(_.planned)
    assert(copies.size == 2 && copies.map(_.choice.chosen).distinct.size == 1)
    assert(copies.forall(notes(_).isEmpty))
  }

  test("nothing is counted where no scan waits for filters") {
    val never = Seq("spark.sql.exchange.reuse" -> "false", FilterConf.WAIT.key -> "NEVER")
    never.foreach(setting => conf(setting)(assert(notes(planned(upper)).isEmpty, setting)))
  }

  test("a filter counts once where two sides have its column, and where their join has one as well", Slow) {
    val sql =
      """SELECT count(*), sum(a.v) FROM cast_list a JOIN cast_list b ON a.movie = b.movie AND a.person = b.person
                |JOIN movie m ON b.movie = m.movie WHERE m.year = 7""".stripMargin
    val in = planned(sql).input.get
    assert(in.sides.toSeq.map(_.rows.get) == Seq(40000.0, 40000.0))
    // A tenth of the pairs of all rows is left, not a hundredth.
    val all = conf(FilterConf.MODE.key -> "OFF")(planned(sql)).input.get
    assert(math.abs(in.pairs.get - all.pairs.get / 10) < 1)
    // What is left of a side after both filters is not a hundredth either.
    assert(in.sides.toSeq.forall(s => s.filtered.retained * s.filtered.above >= 0.1))
  }
}
