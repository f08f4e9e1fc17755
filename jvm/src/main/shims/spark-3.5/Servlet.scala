package org.apache.spark.sql.springbok.report

/** Spark 3.5 has the servlets of Java EE, and later lines those of Jakarta. */
package object ui {
  type Request = javax.servlet.http.HttpServletRequest
}
