package org.apache.spark.sql.springbok.keys

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.springbok.catalyst.SparkTypes
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The types that may be keys of a runtime filter, and how a value of them is hashed: in 64 bits, the same way on both
 * sides, so that two values which Spark's equi-join takes for equal have the same hash.
 */
object KeyType {

  /** Whether the values are integers of at most 64 bits inside Catalyst. */
  def isLong(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  def supported(t: DataType): Boolean = t match {
    case s: StringType => SparkTypes.equalByBytes(s)
    case _: DecimalType => true
    case other => isLong(other)
  }

  /**
   * Whether values that Spark's equi-join takes for equal have equal hashes once it has normalized them (NaN, -0.0,
   * collation keys). Such keys are compared by their hash alone: they have no range and are no literals.
   */
  def hashable(t: DataType): Boolean = t match {
    case FloatType | DoubleType | BinaryType | _: DayTimeIntervalType | _: YearMonthIntervalType => true
    case s: StructType => s.nonEmpty && s.forall(f => supported(f.dataType) || hashable(f.dataType))
    case a: ArrayType => supported(a.elementType) || hashable(a.elementType)
    case _ => false
  }

  private def fitsLong(d: DecimalType): Boolean = d.precision <= Decimal.MAX_LONG_DIGITS

  /** The hash of a non-null value in Catalyst's representation. */
  def hash(value: Any, t: DataType): Long = t match {
    case _: StringType => hashString(value.asInstanceOf[UTF8String])
    case d: DecimalType if fitsLong(d) => hashLong(value.asInstanceOf[Decimal].toUnscaledLong)
    case _: DecimalType => hashDecimal(value.asInstanceOf[Decimal])
    case _ => hashLong(value.asInstanceOf[Number].longValue)
  }

  /** Java code that hashes the value of this variable. */
  def hashCode(value: String, t: DataType): String = {
    val self = KeyType.getClass.getName.stripSuffix("$")
    t match {
      case _: StringType => s"$self.hashString($value)"
      case d: DecimalType if fitsLong(d) => s"$self.hashLong($value.toUnscaledLong())"
      case _: DecimalType => s"$self.hashDecimal($value)"
      case _ => s"$self.hashLong($value)"
    }
  }

  /** The finalizer of MurmurHash3: every bit of the key changes every bit of the hash. */
  def hashLong(key: Long): Long = {
    var h = key ^ 0x9e3779b97f4a7c15L
    h = (h ^ (h >>> 33)) * 0xff51afd7ed558ccdL
    h = (h ^ (h >>> 33)) * 0xc4ceb9fe1a85ec53L
    h ^ (h >>> 33)
  }

  def hashString(s: UTF8String): Long =
    XXH64.hashUnsafeBytes(s.getBaseObject, s.getBaseOffset, s.numBytes, 42L)

  // The scale belongs to the type, so the unscaled value alone decides equality.
  def hashDecimal(d: Decimal): Long =
    hashString(UTF8String.fromBytes(d.toJavaBigDecimal.unscaledValue.toByteArray))
}
