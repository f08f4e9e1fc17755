package org.apache.spark.sql.springbok.catalyst

import scala.collection.mutable

/** What Scala 2.13 added to its library, as far as the sources use it. The build imports it into each source. */
object Collections {
  implicit class OptionObject(private val o: Option.type) extends AnyVal {
    def when[A](cond: Boolean)(a: => A): Option[A] = if (cond) Some(a) else None
    def unless[A](cond: Boolean)(a: => A): Option[A] = if (cond) None else Some(a)
  }

  implicit class Sequences[A](private val s: Seq[A]) extends AnyVal {

    /** The first element of each key, in order. */
    def distinctBy[B](key: A => B): Seq[A] = {
      val seen = mutable.HashSet.empty[B]
      s.filter(a => seen.add(key(a)))
    }
  }

  implicit class Iterators[A](private val i: Iterator[A]) extends AnyVal {
    def nextOption(): Option[A] = if (i.hasNext) Some(i.next()) else None
  }

  implicit class MutableMaps[K, V](private val m: mutable.Map[K, V]) extends AnyVal {
    def filterInPlace(keep: (K, V) => Boolean): Unit = m.retain(keep)
  }

  implicit class Builders[A, To](private val b: mutable.Builder[A, To]) extends AnyVal {
    def addOne(a: A): Unit = b += a
  }
}
