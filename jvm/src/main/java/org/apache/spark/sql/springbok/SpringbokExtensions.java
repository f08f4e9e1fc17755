package org.apache.spark.sql.springbok;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.springbok.catalyst.RunningSpark;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions} names. It hooks Springbok into Spark ({@code Hooks}) if this jar can work on the
 * Spark that runs. Otherwise it logs one warning, and Spark plans alone.
 *
 * <p>It is written in Java, because it runs on every Spark and Scala version, and classes that Scala compiles run on one
 * Scala version.
 */
public class SpringbokExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    String why = RunningSpark.refusal();
    if (why == null) Hooks.into(extensions);
    else LoggerFactory.getLogger(SpringbokExtensions.class).warn(why);
    return BoxedUnit.UNIT;
  }
}
