CREATE TEMPORARY TABLE answer (auction BIGINT, num BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = 'file://${out}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

CREATE TEMPORARY VIEW counted AS
SELECT auction, COUNT(*) AS num, window_start, window_end
FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end

INSERT INTO answer
SELECT counted.auction, counted.num, counted.window_start, counted.window_end
FROM counted
JOIN (SELECT MAX(num) AS most, window_start, window_end FROM counted GROUP BY window_start, window_end) AS hottest
  ON counted.window_start = hottest.window_start AND counted.window_end = hottest.window_end
  AND counted.num = hottest.most
