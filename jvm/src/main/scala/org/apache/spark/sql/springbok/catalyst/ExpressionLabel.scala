package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.springbok.conf.ReportConf
import org.apache.spark.sql.types.LongType

/**
 * An expression as people write it: `o_custkey`, without its table and without what Spark wraps around join keys.
 *
 * '''Settings''': `spark.springbok.report.literals`.
 */
object ExpressionLabel extends (Expression => String) {
  override def apply(e: Expression): String = {
    val literals = SQLConf.get.getConf(ReportConf.LITERALS)
    val shown = e.transformUp {
      case If(IsNull(inner), Literal(null, LongType), _: XxHash64) => inner
      case a: AttributeReference => a.withQualifier(Nil)
      case KnownFloatingPointNormalized(NormalizeNaNAndZero(inner)) => inner
      case c if SparkTypes.isCollationKey(c) => c.children.head
      case l: Literal if !literals => PrettyAttribute("?", l.dataType)
    }
    // Some expressions have no SQL and throw.
    Try(shown.sql).getOrElse(shown.prettyName)
  }
}
