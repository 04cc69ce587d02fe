CREATE TEMPORARY TABLE person (
  id BIGINT, name STRING, `dateTime` TIMESTAMP(3),
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'file://${events}/person', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

CREATE TEMPORARY TABLE auction (
  id BIGINT, seller BIGINT, `dateTime` TIMESTAMP(3),
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'file://${events}/auction', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')

CREATE TEMPORARY TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'file://${events}/bid', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')
