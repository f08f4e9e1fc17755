package org.apache.spark.sql.springbok.catalyst

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

class MemberCheckSuite extends AnyFunSuite {
  private val plan = "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan"
  private val join = "org/apache/spark/sql/catalyst/plans/logical/Join"

  private def missing(lines: String*): Option[String] = Option(
    MemberCheck.missing(
      getClass.getClassLoader,
      new ByteArrayInputStream(lines.mkString("\n").getBytes(UTF_8))
    )
  )

  test("members that are declared, inherited from Spark, or inherited from Java and Scala, are found") {
    val inherited = Seq(" resolved()Z", " hashCode()I", " productPrefix()Ljava/lang/String;")
    assert(missing(join +: s" left()L$plan;" +: inherited: _*).isEmpty)
    assert(
      missing(
        "org/apache/spark/sql/catalyst/plans/Inner$",
        " MODULE$ Lorg/apache/spark/sql/catalyst/plans/Inner$;"
      ).isEmpty
    )
  }

  test("a member that a vendor's build lacks is named") {
    assert(
      missing(join, s" left()L$plan;", " left()I", " right()I").contains(
        "org.apache.spark.sql.catalyst.plans.logical.Join.left()I"
      )
    )
    assert(missing("org/apache/spark/sql/NotThere", " x()I").contains("org.apache.spark.sql.NotThere"))
  }
}
