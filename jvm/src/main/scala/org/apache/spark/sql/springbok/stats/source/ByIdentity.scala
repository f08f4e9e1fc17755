package org.apache.spark.sql.springbok.stats.source

import java.lang.ref.{Reference, ReferenceQueue, WeakReference}
import java.util.concurrent.ConcurrentHashMap

/**
 * What is known of objects while others hold them, of each by itself: indexes of a table are equal whatever files they
 * have, or compare all their files.
 */
final private[springbok] class ByIdentity[K <: AnyRef, V] {
  import ByIdentity.{Asked, Key}

  private val gone = new ReferenceQueue[K]
  private val known = new ConcurrentHashMap[Reference[?], V]()

  def get(of: K): Option[V] = Option(known.get(new Asked(of)))

  def put(of: K, value: V): Unit = {
    Iterator.continually(gone.poll()).takeWhile(_ != null).foreach(known.remove(_))
    known.put(new Key(of, gone), value): Unit
  }
}

private[springbok] object ByIdentity {

  /** What a key is found by, without one more reference for the collector to look after. */
  final private class Asked(of: AnyRef) {
    override val hashCode: Int = System.identityHashCode(of)
    override def equals(o: Any): Boolean = o match {
      case k: Key[?] => k.get() eq of
      case _ => false
    }
  }

  final private class Key[K <: AnyRef](of: K, gone: ReferenceQueue[K]) extends WeakReference[K](of, gone) {
    override val hashCode: Int = System.identityHashCode(of)
    override def equals(o: Any): Boolean = o match {
      case other: Key[?] => (other eq this) || get() != null && (get() eq other.get())
      case _ => false
    }
  }
}
