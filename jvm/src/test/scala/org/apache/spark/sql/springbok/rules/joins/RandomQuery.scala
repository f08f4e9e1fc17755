package org.apache.spark.sql.springbok.rules.joins

import scala.util.Random

/** A query of two sides of random operators over the tables `t0(k0, s0, v0)`, `t1(k1, s1, v1)` and so on. */
private[joins] class RandomQuery(random: Random) {
  import RandomQuery._

  private case class Rows(sql: String, columns: Seq[String])
  private val unread = random.shuffle((0 until tables).toList).iterator
  private var names = 0

  def sql: String = join(rows(3), rows(2), pick(joins.filter(_ != "FULL JOIN"))).sql

  private def pick[T](from: Seq[T]): T = from(random.nextInt(from.size))
  private def some(from: Seq[String]): Seq[String] = random.shuffle(from).take(1 + random.nextInt(from.size))
  private def name(): String = { names += 1; s"c$names" }

  /** Most tables are read once, under their own column names; another reading has new names. */
  private def read(): Rows =
    if (unread.hasNext && random.nextInt(8) > 0) {
      val i = unread.next()
      Rows(s"SELECT * FROM t$i", Seq(s"k$i", s"s$i", s"v$i"))
    } else {
      val columns = Seq.fill(3)(name())
      Rows(s"SELECT k0 AS ${columns(0)}, s0 AS ${columns(1)}, v0 AS ${columns(2)} FROM t0", columns)
    }

  private def rows(depth: Int): Rows =
    if (depth == 0) read()
    else
      random.nextInt(10) match {
        case 0 | 1 | 2 => join(rows(depth - 1), rows(depth - 1), pick(joins))
        case 3 => union(rows(depth - 1), rows(depth - 1))
        case _ => unary(rows(depth - 1))
      }

  private def join(l: Rows, r: Rows, kind: String): Rows = {
    val keys =
      Seq.fill(1 + random.nextInt(5) / 4)(s"${pick(l.columns)} = ${pick(r.columns)}").mkString(" AND ")
    val one = kind.contains("SEMI") || kind.contains("ANTI")
    Rows(
      s"SELECT * FROM (${l.sql}) $kind (${r.sql}) ON $keys",
      if (one) l.columns else l.columns ++ r.columns
    )
  }

  private def union(l: Rows, r: Rows): Rows = {
    val n = math.min(l.columns.size, r.columns.size)
    def first(r: Rows) = s"SELECT ${r.columns.take(n).mkString(", ")} FROM (${r.sql})"
    Rows(s"${first(l)} UNION ALL ${first(r)}", l.columns.take(n))
  }

  private def unary(r: Rows): Rows = {
    val (c, by, made) = (pick(r.columns), some(r.columns), name())
    def from(list: Seq[String], more: String = "") =
      Rows(s"SELECT ${list.mkString(", ")} FROM (${r.sql}) $more", list.map(_.split(" ").last))
    def replaced(value: String) = r.columns.map(x => if (x == c) s"$value AS $made" else x)
    def group(more: String = "") = s"GROUP BY ${by.mkString(", ")} $more"
    def over(f: String) = s"$f OVER (PARTITION BY $c ORDER BY ${by.mkString(", ")}) AS $made"
    random.nextInt(16) match {
      case 0 => from(by)
      case 1 => from(replaced(c))
      case 2 => from(replaced(s"CAST($c AS ${pick(Seq("BIGINT", "INT"))})"))
      case 3 => from(replaced(s"$c + 1"))
      case 4 => from(r.columns, s"WHERE $c % 3 < 2")
      case 5 => from(r.columns, s"WHERE $c + rand(1) < 50")
      case 6 | 7 => from(by :+ s"max($c) AS $made", group())
      case 8 => from(s"${by.head} AS $made" +: by.tail, group())
      case 9 => from(by).copy(sql = from(by).sql.replaceFirst("SELECT", "SELECT DISTINCT"))
      case 10 => from(r.columns :+ over("sum(1)"))
      case 11 =>
        val ranked = from(r.columns :+ over("rank()"))
        ranked.copy(sql = s"SELECT * FROM (${ranked.sql}) WHERE $made < 3")
      case 12 => from(r.columns, s"ORDER BY $c LIMIT 50")
      case 13 => from(r.columns, s"SORT BY $c")
      case 14 => from(r.columns :+ s"explode(array(1, 2)) AS $made")
      case 15 =>
        if (random.nextBoolean()) from(by, group("WITH ROLLUP"))
        else Rows(s"SELECT /*+ REPARTITION($c) */ * FROM (${r.sql})", r.columns)
    }
  }
}

private[joins] object RandomQuery {
  val tables = 8
  val seeds: Seq[Int] = 1 to 60
  val joins = Seq("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
}
