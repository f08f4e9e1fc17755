package org.apache.spark.sql.springbok.report.model

import scala.annotation.StaticAnnotation

/*
 * What the types of the report's classes do not say: `docs/report.schema.json` is generated from both.
 */

/** The description of a class. */
final private[model] class describe(val text: String) extends StaticAnnotation

/** The values that a text may have. */
final private[model] class oneOf(val values: String*) extends StaticAnnotation

/** The keys that a map may have. */
final private[model] class keysOf(val values: String*) extends StaticAnnotation

/** The form of a text, a regular expression. */
final private[model] class matching(val pattern: String) extends StaticAnnotation

/** The value of a number. */
final private[model] class exactly(val value: Int) extends StaticAnnotation

/** The smallest value of a number, instead of 0. */
final private[model] class atLeast(val value: Int) extends StaticAnnotation

/** The largest value of a number. */
final private[model] class atMost(val value: Int) extends StaticAnnotation
