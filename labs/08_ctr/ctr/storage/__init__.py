"""Click logs on disk: memory-mapped columns, and Parquet."""
