package org.apache.spark.sql.springbok.rules.runtimefilters.connectors

import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The version of a table that a query reads. */
sealed private[connectors] trait TableVersion {

  /** The options of a scan that reads this version; None if there is no such scan. */
  def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap]
}

private[connectors] object TableVersion {

  /** Every scan of the table object reads the same version. */
  case object OfTable extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = Some(options)
  }

  /** A scan with this option reads the version. */
  final case class ByOption(name: String, value: String) extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = {
      val map = new java.util.HashMap[String, String](options.asCaseSensitiveMap)
      map.put(name, value)
      Some(new CaseInsensitiveStringMap(map))
    }
  }

  case object Unknown extends TableVersion {
    override def pinned(options: CaseInsensitiveStringMap): Option[CaseInsensitiveStringMap] = None
  }
}
