package org.apache.spark.sql.springbok.rules.runtimefilters.place

import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.springbok.AppliedRuntimeFilterExec
import org.apache.spark.sql.springbok.{Slow, Smoke, SparkFeatures, SpringbokTest}
import org.apache.spark.sql.springbok.conf.FilterConf

/** Each case: answers as without Springbok, and the filter in the plan that ran, or the reason why there is none. */
class RuntimeFilterSuite extends SpringbokTest {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // A snowflake: fact -> mid -> dim; every type of key; nulls in all of them.
    table(
      "fact",
      """SELECT id, IF(id % 97 = 0, NULL, id % 2000) AS mid_id, CAST(id % 2000 AS INT) AS mid_int,
        |  date_add(DATE'2020-01-01', CAST(id % 2000 AS INT)) AS d,
        |  timestamp_seconds(1577836800 + (id % 2000) * 60) AS ts,
        |  CAST(timestamp_seconds(1577836800 + (id % 2000) * 60) AS TIMESTAMP_NTZ) AS ntz,
        |  concat('key-', id % 2000) AS s, CAST(id % 2000 AS DECIMAL(12,2)) AS dec,
        |  CAST(id % 2000 AS DECIMAL(30,4)) AS wide, CAST(id % 100 AS SMALLINT) AS sm, id * 3 AS v,
        |  CAST(id % 2000 AS DOUBLE) AS dbl
        |FROM range(100000)""".stripMargin
    )
    table(
      "mid",
      """SELECT id AS mid_id, CAST(id AS INT) AS mid_int, id % 100 AS dim_id, date_add(DATE'2020-01-01', CAST(id AS INT)) AS d,
        |  timestamp_seconds(1577836800 + id * 60) AS ts,
        |  CAST(timestamp_seconds(1577836800 + id * 60) AS TIMESTAMP_NTZ) AS ntz,
        |  concat('key-', id) AS s, CAST(id AS DECIMAL(12,2)) AS dec, CAST(id AS DECIMAL(30,4)) AS wide,
        |  CAST(id AS DOUBLE) AS dbl, id % 50 AS grp
        |FROM range(2000) UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7""".stripMargin
    )
    table("dim", "SELECT id AS dim_id, CAST(id AS SMALLINT) AS sm, concat('n', id) AS name FROM range(100)")
    table("clustered", "SELECT id AS k, id * 2 AS v FROM range(0, 200000, 1, 1)", groupRows = Some(20000))
    table(
      "nulls_last",
      "SELECT if(id < 140000, id, NULL) AS k, id AS v FROM range(0, 200000, 1, 1)",
      groupRows = Some(20000)
    )
    table("parts", "SELECT id AS v, CAST(id % 20 AS INT) AS p FROM range(20000)", partitionBy = Seq("p"))
  }

  for (
    key <- Seq("mid_id", "mid_int", "d", "ts", "ntz", "s", "dec", "wide");
    strategy <- Seq("BROADCAST", "SHUFFLE_HASH", "MERGE")
  )
    test(s"key $key, $strategy: rows are removed before the join") {
      // An aggregate between scan and join: there is something to save in a broadcast join too.
      val sql = s"""SELECT /*+ $strategy(m) */ f.$key, f.n, m.grp
                   |FROM (SELECT $key, count(*) AS n, sum(v) AS v FROM fact GROUP BY $key) f JOIN mid m ON f.$key = m.$key
                   |WHERE m.grp = 7""".stripMargin
      // A table of unknown distinct values is not refused beforehand.
      val df = conf(noSparkBroadcast)(same(sql))
      val filters = applied(df)
      if (strategy == "BROADCAST") {
        assert(filters.nonEmpty, record(df).filters.all.map(f => f.state -> f.reason))
        assert(filters.forall(f => f.metrics("numOutputRows").value < 10000))
      } else assert(filters.nonEmpty || declined(df).nonEmpty)
    }

  test("several hops: dim -> mid -> fact, each built from the already filtered side", Smoke, Slow) {
    val sql =
      """SELECT d.name, sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id JOIN dim d ON m.dim_id = d.dim_id
                |WHERE d.name = 'n7' GROUP BY d.name""".stripMargin
    conf(shuffled: _*) {
      val df = same(sql)
      // Whether a re-planning falls into the run of a stage or not, the filter is found again.
      for (_ <- 1 to 10) assert(used(same(sql)).size == 2)
      val byTarget = used(df).map(f => f.targetTable.get -> f).toMap
      assert(
        byTarget.contains("mid") && byTarget.contains("fact"),
        record(df).filters.all.map(f => f.targetTable -> f.reason)
      )
      assert(byTarget("fact").state.found.keys.contains(20L))
      val onFact = applied(df).filter(_.filter.record.targetTable.contains("fact"))
      assert(onFact.map(_.metrics("numOutputRows").value).sum < 2000)
    }
  }

  test("the build side runs exactly once", Smoke) {
    val sql = "SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5"
    conf(shuffled: _*) {
      val df = same(sql)
      assert(used(df).nonEmpty)
      assert(scanRows(df, "grp") == 2001)
      val exchanges = collect(executed(df)) { case e: Exchange => e }
      val plain = off { val d = spark.sql(sql); d.collect(); collect(executed(d)) { case e: Exchange => e } }
      assert(exchanges.size == plain.size)
    }
  }

  test("join types: a side is filtered only where its unmatched rows are dropped") {
    val from = "(SELECT mid_id, count(*) AS n FROM fact GROUP BY mid_id) f"
    val small = "(SELECT mid_id, grp FROM mid WHERE grp = 7) m"
    def query(join: String) = s"SELECT * FROM $from $join JOIN $small ON f.mid_id = m.mid_id"
    conf(noSparkBroadcast) {
      for (join <- Seq("INNER", "LEFT SEMI", "RIGHT OUTER")) assert(used(same(query(join))).nonEmpty, join)
      for (join <- Seq("LEFT OUTER", "LEFT ANTI", "FULL OUTER")) {
        val df = same(query(join))
        assert(used(df).forall(!_.targetTable.contains("fact")), join)
      }
      // NOT IN keeps its own rules for nulls.
      val notIn = same("SELECT count(*) FROM fact WHERE mid_id NOT IN (SELECT mid_id FROM mid WHERE grp = 8)")
      assert(used(notIn).isEmpty)
    }
  }

  test("null-safe equality keeps the rows with nulls") {
    conf(noSparkBroadcast) {
      same(
        "SELECT f.mid_id, count(*) FROM fact f JOIN mid m ON f.mid_id <=> m.mid_id WHERE m.grp = 7 GROUP BY f.mid_id"
      )
    }
  }

  test("below an outer join only the preserved side is filtered") {
    val sql = """SELECT o.mid_id, o.x, o.n FROM (
                |  SELECT f.mid_id, coalesce(m.mid_id, -1) AS x, f.n, m.mid_id AS y
                |  FROM (SELECT mid_id, count(*) AS n FROM fact GROUP BY mid_id) f LEFT JOIN mid m ON f.mid_id = m.mid_id + 1) o
                |JOIN (SELECT mid_id FROM mid WHERE grp = 3) t ON o.y = t.mid_id""".stripMargin
    conf(shuffled: _*)(same(sql))
    conf(shuffled: _*)(same(sql.replace("o.y = t.mid_id", "o.x = t.mid_id")))
    conf(shuffled: _*)(same(sql.replace("o.y = t.mid_id", "o.mid_id = t.mid_id")))
  }

  test("union, window and aggregate pass a filter on their key; a limit does not") {
    val dim = "(SELECT mid_id FROM mid WHERE grp = 7) t"
    conf(noSparkBroadcast) {
      val union = same(
        "SELECT /*+ BROADCAST(t) */ count(*) FROM (SELECT mid_id, count(*) c FROM fact GROUP BY mid_id UNION ALL " +
          s"SELECT mid_int, count(*) c FROM fact GROUP BY mid_int) u JOIN $dim ON u.mid_id = t.mid_id"
      )
      assert(
        applied(union).size == 2,
        record(union).filters.all.map(f => (f.targetColumn, f.state, f.reason.text))
      )
      val window = same(
        "SELECT /*+ BROADCAST(t) */ sum(r) FROM (SELECT mid_id, rank() OVER (PARTITION BY mid_id ORDER BY v) r FROM fact) w " +
          s"JOIN $dim ON w.mid_id = t.mid_id"
      )
      assert(applied(window).nonEmpty)
      val other = same(
        "SELECT /*+ BROADCAST(t) */ sum(r) FROM (SELECT mid_id, v, rank() OVER (PARTITION BY v ORDER BY id) r FROM fact) w " +
          s"JOIN $dim ON w.mid_id = t.mid_id"
      )
      assert(applied(other).isEmpty && declined(other).contains("NO_TARGET"))
      val limit = same(
        s"SELECT /*+ BROADCAST(t) */ count(*) FROM (SELECT mid_id FROM fact ORDER BY id LIMIT 500) w JOIN $dim ON w.mid_id = t.mid_id"
      )
      assert(applied(limit).isEmpty)
    }
  }

  test("non-deterministic expressions stop a filter, and make no source") {
    conf(noSparkBroadcast) {
      val target = spark.sql(
        "SELECT /*+ BROADCAST(t) */ count(*) FROM (SELECT mid_id, rand() AS r FROM fact) f " +
          "JOIN (SELECT mid_id FROM mid WHERE grp = 7) t ON f.mid_id = t.mid_id WHERE r < 2"
      )
      target.collect()
      assert(applied(target).isEmpty)
      val source = spark.sql(
        "SELECT /*+ MERGE(t) */ count(*) FROM (SELECT mid_id FROM mid WHERE rand() < 0.1 LIMIT 10) t " +
          "LEFT ANTI JOIN fact f ON f.mid_id = t.mid_id"
      )
      source.collect()
      assert(applied(source).isEmpty && declined(source).contains("BUILD_SIDE_INDETERMINATE"))
    }
  }

  test("types that no filter helps with get none") {
    conf(noSparkBroadcast) {
      val df = same("SELECT count(*) FROM fact f JOIN mid m ON (f.dbl > 5) = (m.dbl > 7) WHERE m.grp = 7")
      assert(applied(df).isEmpty && declined(df).contains("KEY_TYPE_UNSUPPORTED"))
    }
  }

  test("keys of different width are compared in the join's type") {
    conf(noSparkBroadcast) {
      val sql =
        "SELECT /*+ BROADCAST(m) */ count(*), sum(n) FROM (SELECT mid_int, count(*) n FROM fact GROUP BY mid_int) f " +
          "JOIN mid m ON f.mid_int = m.mid_id + 0 WHERE m.grp = 7"
      same(sql)
      val wide = same(
        "SELECT /*+ BROADCAST(d) */ count(*), sum(n) FROM (SELECT sm, count(*) n FROM fact GROUP BY sm) f " +
          "JOIN (SELECT dim_id * 1000 AS k FROM dim) d ON f.sm = d.k"
      )
      assert(declined(wide).nonEmpty || used(wide).nonEmpty)
    }
  }

  test("an empty build side, one of nulls only, one value") {
    conf(
      noSparkBroadcast,
      noBroadcast,
      "spark.sql.adaptive.optimizer.excludedRules" -> "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"
    ) {
      same("SELECT count(*) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp = 7 AND m.s = 'none'")
      same(
        "SELECT count(*) FROM fact f JOIN (SELECT mid_id FROM mid WHERE mid_id IS NULL AND grp = 7) m ON f.mid_id <=> m.mid_id"
      )
      same("SELECT count(*), sum(v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.s = 'key-42'")
    }
  }

  test("whether a scan waits for another stage: always, never, or where it is worth it") {
    val sql = "SELECT count(*), sum(v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp = 7"
    def codes(wait: String, benefit: Int, how: (String, String)*) =
      conf(
        how ++ Seq(
          FilterConf.WAIT.key -> wait,
          FilterConf.MIN_BENEFIT_MS.key -> s"$benefit"
        ): _*
      ) {
        val df = same(sql)
        (used(df).size, declined(df).toSet)
      }
    assert(codes("AUTO", 0, shuffled: _*) == (1 -> Set()))
    assert(codes("AUTO", 1000000, shuffled: _*) == (0 -> Set("SMALL_BENEFIT")))
    assert(codes("ALWAYS", 1000000, shuffled: _*) == (1 -> Set()))
    assert(codes("NEVER", 1000000, shuffled: _*) == (0 -> Set("SMALL_BENEFIT")))
    // It comes late, maybe too late; the scan of the broadcast join's own stage waits for it anyway.
    assert(codes("NEVER", 0, shuffled: _*)._2.isEmpty && codes("NEVER", 0)._2.isEmpty)
    conf(FilterConf.TYPES.key -> "IN,MINMAX") {
      assert(codes("NEVER", 0, shuffled: _*) == (0 -> Set("NO_WAITING")))
    }
    intercept[IllegalArgumentException](spark.conf.set(FilterConf.WAIT.key, "sometimes"))
  }

  test("row groups that cannot join are not read") {
    val sql =
      "SELECT count(*), sum(c.v) FROM clustered c JOIN (SELECT mid_id * 10 AS k FROM mid WHERE grp = 7) m ON c.k = m.k"
    val df = same(sql)
    val f = used(df).headOption.getOrElse(fail(record(df).filters.all.map(_.reason).toString))
    assert(
      f.effect.rowGroups.exists { case (removed, all) => removed > 0 && removed < all },
      f.effect.rowGroups
    )
    assert(scanRows(df, "v") < 200000)
  }

  test("row groups without a value of the key are not read, and hide no others") {
    val df = same(
      "SELECT count(*), sum(c.v) FROM nulls_last c JOIN (SELECT mid_id AS k FROM mid WHERE grp = 7) m ON c.k = m.k"
    )
    val f = used(df).headOption.getOrElse(fail(record(df).filters.all.map(_.reason).toString))
    assert(
      f.effect.rowGroups.exists { case (removed, all) => removed >= all / 2 && removed < all },
      f.effect.rowGroups
    )
    assert(scanRows(df, "v") < 100000)
  }

  test("partitions that cannot join are never opened, for shuffle joins too") {
    val sql =
      "SELECT count(*), sum(p.v) FROM parts p JOIN dim d ON p.p = d.dim_id WHERE d.name IN ('n3', 'n4')"
    conf(noBroadcast, noSparkBroadcast, "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
      val df = same(sql)
      assert(used(df).exists(_.kinds.contains("in")), record(df).filters.all.map(f => f.state -> f.reason))
      assert(scanRows(df, "v") == 2000)
    }
  }

  test("dynamic partition pruning stays as it is") {
    val sql =
      "SELECT count(*), sum(p.v) FROM parts p JOIN dim d ON p.p = d.dim_id WHERE d.name IN ('n3', 'n4')"
    val df = same(sql)
    assert(scanRows(df, "v") == 2000)
    assert(executed(df).toString.contains("dynamicpruning"))
  }

  test("a scan below an exchange that is read twice is left alone") {
    val sql = """WITH a AS (SELECT mid_id, count(*) AS n FROM fact GROUP BY mid_id)
                |SELECT x.n, y.n FROM a x JOIN a y ON x.mid_id = y.mid_id JOIN (SELECT mid_id FROM mid WHERE grp = 7) m
                |ON x.mid_id = m.mid_id""".stripMargin
    conf(noSparkBroadcast) {
      val df = same(sql)
      val reused = collect(executed(df)) { case r: ReusedExchangeExec => r }.size
      val plain = off {
        val d = spark.sql(sql); d.collect(); collect(executed(d)) { case r: ReusedExchangeExec => r }.size
      }
      assert(reused >= plain)
    }
  }

  // The limit on filters once gave one copy a filter and the other none. Spark then computed both, with other values.
  test("copies of a WITH query that is not deterministic are left alone") {
    val c =
      "SELECT f.v, p.p, uuid() AS u FROM fact f JOIN mid m ON f.mid_id = m.mid_id JOIN parts p ON f.v = p.v WHERE m.grp = 7"
    val sql = s"WITH c AS ($c) SELECT count(*) FROM c x JOIN c y ON x.v = y.v AND x.u = y.u"
    for (most <- Seq("1", "32"))
      conf(shuffled :+ (FilterConf.MAX_NUMBER.key -> most): _*) {
        val df = same(sql)
        assert(df.head().getLong(0) == spark.sql(s"SELECT count(*) FROM ($c)").head().getLong(0))
        assert(applied(df).isEmpty && declined(df).contains("EXCHANGE_REUSED"), declined(df))
      }
  }

  test("without whole-stage code generation the answers are the same") {
    conf("spark.sql.codegen.wholeStage" -> "false", noBroadcast, noSparkBroadcast) {
      val df = same("SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.s = m.s WHERE m.grp < 3")
      assert(used(df).nonEmpty, record(df).filters.all.map(_.reason))
      same("SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 3")
    }
  }

  test("modes, kinds and limits") {
    val sql = "SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5"
    conf(shuffled: _*) {
      def reasons(key: String, value: String): Seq[String] = conf(key -> value) {
        val df = same(sql)
        assert(applied(df).isEmpty, key)
        declined(df)
      }
      assert(reasons(FilterConf.MODE.key, "OFF").contains("MODE"))
      assert(reasons(FilterConf.MODE.key, "LOCAL").contains("MODE"))
      assert(reasons(FilterConf.MAX_NUMBER.key, "0").contains("TOO_MANY_FILTERS"))
      assert(reasons(FilterConf.TYPES.key, "MINMAX").contains("MODE"))
    }
  }

  // A scan once waited for a copy of its build side, which only runs once where Spark reuses exchanges.
  test("filters do not depend on the reuse of exchanges") {
    conf(shuffled :+ ("spark.sql.exchange.reuse" -> "false"): _*) {
      val df = same("SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5")
      assert(used(df).nonEmpty, record(df).filters.all.map(_.reason.text))
      assert(collect(executed(df)) { case s: ShuffleQueryStageExec => s }.size == 3)
    }
  }

  test("of more filters than are allowed those are placed that save most") {
    val (few, many) =
      ("JOIN mid m ON f.mid_id = m.mid_id AND m.grp = 7", "JOIN dim d ON f.sm = d.sm AND d.dim_id < 60")
    for (joins <- Seq(s"$few $many", s"$many $few"))
      conf(shuffled: _*) {
        val sql = s"SELECT count(*), sum(f.v) FROM fact f $joins"
        assert(used(same(sql)).map(_.sourceKey).toSet == Set("mid_id", "sm"))
        conf(FilterConf.MAX_NUMBER.key -> "1") {
          val df = same(sql)
          assert(used(df).map(_.sourceKey) == Seq("mid_id"), record(df).filters.all.map(_.reason.text))
          assert(record(df).filters.all.exists(_.reason.code == "TOO_MANY_FILTERS"))
        }
        conf(FilterConf.MAX_TOTAL_BYTES.key -> "0")(assert(used(same(sql)).isEmpty))
      }
  }

  test(
    "more keys than a list holds: a bloom filter from merged partials, or none where merging costs too much"
  ) {
    conf(noBroadcast, noSparkBroadcast, FilterConf.IN_LIMIT.key -> "10") {
      val sql = "SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5"
      val df = same(sql)
      assert(used(df).exists(_.kinds.contains("bloom")))
      conf(FilterConf.MERGE_BYTES.key -> "0")(
        assert(declined(same(sql)).contains("TOO_MANY_KEYS"))
      )
    }
  }

  test("the report's rows are those of the plan's metrics") {
    conf(shuffled: _*) {
      val df = same("SELECT count(*), sum(f.v) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5")
      val node: AppliedRuntimeFilterExec = applied(df).head
      val out = node.metrics("numOutputRows").value
      val in = node.child.collectFirst {
        case p if p.metrics.contains("numOutputRows") => p.metrics("numOutputRows").value
      }
      val json = org.apache.spark.sql.springbok.report.SpringbokReport
        .json(execution(df))
      assert(json.contains(s""""rows_in":${in.get}"""), json)
      assert(json.contains(s""""rows_removed":${in.get - out}"""), json)
      assert(out < 12000 && in.get > 90000)
    }
  }

  test("EXPLAIN names the filters at join and scan", Smoke) {
    conf(shuffled: _*) {
      val df = spark.sql("SELECT count(*) FROM fact f JOIN mid m ON f.mid_id = m.mid_id WHERE m.grp < 5")
      val before = df
        .asInstanceOf[org.apache.spark.sql.classic.DataFrame]
        .queryExecution
        .explainString(org.apache.spark.sql.execution.ExtendedMode)
      assert(before.contains("RF000 <- mid_id") && before.contains("RF000 -> mid_id"), before)
      df.collect()
      val after = df
        .asInstanceOf[org.apache.spark.sql.classic.DataFrame]
        .queryExecution
        .explainString(org.apache.spark.sql.execution.FormattedMode)
      assert(after.contains("RF000[bitmap] -> mid_id"), after)
      assert(after.contains("(Springbok)") == SparkFeatures.explainSections, after)
      assert(after.length < 40000)
    }
  }

  // The reading of rows that a scan skips once counted only for scans without a filter of their own.
  test("what a scan skips by a clustered key is part of the benefit, below the scan's own filter as well") {
    table(
      "mixed",
      "SELECT (id * 7919) % 200000 AS k, id * 2 AS v FROM range(0, 200000, 1, 1)",
      groupRows = Some(20000)
    )
    def benefitMs(fact: String): Double = conf(FilterConf.MIN_BENEFIT_MS.key -> "600000") {
      val df = same(s"SELECT count(*) FROM $fact f JOIN mid m ON f.k = m.mid_id WHERE f.v > 10 AND m.grp = 7")
      record(df).filters.all.head.reason.args.toMap.apply("benefit_ms").asInstanceOf[Double]
    }
    assert(benefitMs("clustered") > benefitMs("mixed") * 1.2)
  }
}
