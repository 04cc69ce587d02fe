CREATE TEMPORARY TABLE answer (auction BIGINT, price BIGINT, bidder BIGINT, `dateTime` TIMESTAMP(3), extra STRING)
WITH ('connector' = 'filesystem', 'path' = 'file://${out}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

INSERT INTO answer
SELECT bids.auction, bids.price, bids.bidder, bids.`dateTime`, bids.extra
FROM (SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))) AS bids
JOIN (
  SELECT MAX(price) AS highest, window_start, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end
) AS best
  ON bids.window_start = best.window_start AND bids.window_end = best.window_end AND bids.price = best.highest
