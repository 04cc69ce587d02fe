CREATE TEMPORARY TABLE answer (bidder BIGINT, bid_count BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = 'file://${out}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

INSERT INTO answer
SELECT bidder, COUNT(*) AS bid_count, window_start, window_end
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
