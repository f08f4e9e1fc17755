"""A gate before a nightly query: it fails if the plan has a cartesian product or a broadcast above 1 GB."""

from __future__ import annotations

import pendulum
from airflow.sdk import DAG
from airflow.providers.standard.operators.bash import BashOperator

CHECK = "springbok explain --sql $QUERY --data $TABLES --check no_cartesian --check max_broadcast=1g"

with DAG("revenue", schedule="@daily", start_date=pendulum.datetime(2026, 1, 1), catchup=False):
    gate = BashOperator(
        task_id="gate", bash_command=CHECK, env={"QUERY": "/jobs/revenue.sql", "TABLES": "/data"}, append_env=True
    )
    job = BashOperator(task_id="job", bash_command="spark-submit /jobs/revenue.py")
    gate >> job
