#!/bin/sh
# A cluster with Springbok for Spark 3.5 (Scala 2.12): springbok jar --spark 3.5 --scala 2.12
gcloud dataproc clusters create springbok --region="$REGION" --image-version=2.2-debian12 \
  --properties='^#^spark:spark.jars=gs://bucket/springbok.jar#spark:spark.sql.extensions=org.apache.spark.sql.springbok.SpringbokExtensions'
