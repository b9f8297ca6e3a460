"""Apache Spark: tables of its catalog and Parquet files, read where they stay, on a cluster or on this machine."""
