CREATE TEMPORARY TABLE answer (id BIGINT, name STRING, window_start TIMESTAMP(3), window_end TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = 'file://${out}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

INSERT INTO answer
SELECT persons.id, persons.name, persons.window_start, persons.window_end
FROM (
  SELECT id, name, window_start, window_end
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY id, name, window_start, window_end
) AS persons
JOIN (
  SELECT seller, window_start, window_end
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY seller, window_start, window_end
) AS sellers
  ON persons.id = sellers.seller
  AND persons.window_start = sellers.window_start AND persons.window_end = sellers.window_end
