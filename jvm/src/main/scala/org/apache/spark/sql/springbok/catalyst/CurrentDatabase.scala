package org.apache.spark.sql.springbok.catalyst

import scala.util.Try

import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.CatalogManager

/** Where a session looks up names without a database. */
private[springbok] object CurrentDatabase {

  /** Whether that is Spark's own catalog. */
  def inSessionCatalog(session: SparkSession): Boolean =
    session.sessionState.catalogManager.currentCatalog.name == CatalogManager.SESSION_CATALOG_NAME

  /** The database, with its catalog if that is not Spark's own; None if the catalog fails. */
  def name(session: SparkSession): Option[String] = Try {
    val manager = session.sessionState.catalogManager
    val catalog = Option.unless(inSessionCatalog(session))(manager.currentCatalog.name)
    (catalog ++ manager.currentNamespace).map(quoteIfNeeded).mkString(".")
  }.toOption
}
