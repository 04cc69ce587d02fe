import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.assigners.FileSplitAssigner;
import org.apache.flink.connector.file.src.enumerate.NonSplittingRecursiveEnumerator;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.ParquetColumnarRowInputFormat;
import org.apache.flink.formats.parquet.row.ParquetRowDataBuilder;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * The windows or pairs of the benchmark as a DataStream job, on a cluster inside this process.
 *
 * <p>Arguments: folder of events, shape, folder of results, file of figures, parallelism, then milliseconds: bound,
 * interval of emission, allowed lateness, size, long size, slide, gap, distance of a join.
 */
public final class WindowJob {
    private static final LogicalType TEXT = new VarCharType(VarCharType.MAX_LENGTH);
    private static final RowType EVENT =
            RowType.of(
                    new LogicalType[] {TEXT, TEXT, new BigIntType(), new DoubleType(), new TimestampType(6), new TimestampType(6)},
                    new String[] {"key", "origin", "event_id", "value", "event_time", "arrival_time"});
    private static final RowType PANE =
            RowType.of(
                    new LogicalType[] {
                        TEXT, new BigIntType(), new BigIntType(), new BigIntType(), new DoubleType(), new DoubleType(), new DoubleType()
                    },
                    new String[] {"key", "start_ms", "end_ms", "events", "total", "mean", "highest"});
    private static final RowType PAIR =
            RowType.of(
                    new LogicalType[] {TEXT, new BigIntType(), new BigIntType()},
                    new String[] {"key", "first_id", "second_id"});
    private static final RowType LATE =
            RowType.of(new LogicalType[] {TEXT, new BigIntType()}, new String[] {"key", "event_id"});
    /** Key, value, id, and whether a join takes it as a second row. */
    private static final TypeInformation<Tuple4<String, Double, Long, Boolean>> ROW =
            Types.TUPLE(Types.STRING, Types.DOUBLE, Types.LONG, Types.BOOLEAN);

    private static final OutputTag<Tuple4<String, Double, Long, Boolean>> TOO_LATE = new OutputTag<>("too late", ROW);
    private static final OutputTag<Tuple4<String, Double, Long, Boolean>> TOO_LATE_SECOND =
            new OutputTag<>("too late second", ROW);

    public static void main(String[] arguments) throws Exception {
        String events = arguments[0], shape = arguments[1], out = arguments[2], figures = arguments[3];
        int parallelism = Integer.parseInt(arguments[4]);
        long[] ms = Arrays.stream(arguments).skip(5).mapToLong(Long::parseLong).toArray();
        Configuration settings = new Configuration();
        settings.set(RestOptions.BIND_PORT, "0");
        settings.set(TaskManagerOptions.NUM_TASK_SLOTS, parallelism);
        settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(64));
        StreamExecutionEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(parallelism, settings);
        job.getConfig().enableObjectReuse();
        DataStream<Tuple4<String, Double, Long, Boolean>> rows =
                job.fromSource(source(events), WatermarkStrategy.noWatermarks(), "events")
                        .setParallelism(1)
                        .transform("watermarks", ROW, new ArrivalWatermarks(ms[0], ms[1]))
                        .setParallelism(1);
        if (shape.equals("join")) {
            pairs(rows, ms[7], out);
        } else {
            windows(rows, assigner(shape, ms), ms[2], out);
        }
        JobExecutionResult ended = job.execute();
        String result = String.format("{\"work_seconds\": %.3f, \"counts\": {}, \"steps\": {}}", ended.getNetRuntime() / 1000.0);
        Files.writeString(java.nio.file.Path.of(figures), result);
        System.exit(0);
    }

    /** The files one after the other, in the order of their names, which is that of arrival. */
    private static FileSource<RowData> source(String events) throws Exception {
        try (Stream<java.nio.file.Path> files = Files.list(java.nio.file.Path.of(events))) {
            Path[] paths =
                    files.filter(file -> file.toString().endsWith(".parquet")).sorted().map(file -> new Path(file.toUri())).toArray(Path[]::new);
            ParquetColumnarRowInputFormat<FileSourceSplit> format =
                    new ParquetColumnarRowInputFormat<>(
                            new org.apache.hadoop.conf.Configuration(), EVENT, InternalTypeInfo.of(EVENT), 2048, true, true);
            return FileSource.forBulkFileFormat(format, paths)
                    .setFileEnumerator(NonSplittingRecursiveEnumerator::new)
                    .setSplitAssigner(InOrder::new)
                    .build();
        }
    }

    private static WindowAssigner<Object, TimeWindow> assigner(String shape, long[] ms) {
        switch (shape) {
            case "tumbling":
                return TumblingEventTimeWindows.of(Duration.ofMillis(ms[3]));
            case "sliding":
                return SlidingEventTimeWindows.of(Duration.ofMillis(ms[4]), Duration.ofMillis(ms[5]));
            case "session":
                return EventTimeSessionWindows.withGap(Duration.ofMillis(ms[6]));
            default:
                throw new IllegalArgumentException("shape " + shape);
        }
    }

    private static void windows(
            DataStream<Tuple4<String, Double, Long, Boolean>> rows, WindowAssigner<Object, TimeWindow> assigner, long latenessMs, String out) {
        SingleOutputStreamOperator<RowData> panes =
                rows.keyBy(row -> row.f0, Types.STRING)
                        .window(assigner)
                        .allowedLateness(Duration.ofMillis(latenessMs))
                        .sideOutputLateData(TOO_LATE)
                        .aggregate(
                                new Totals(),
                                new Pane(),
                                Types.TUPLE(Types.LONG, Types.DOUBLE, Types.DOUBLE),
                                Types.TUPLE(Types.LONG, Types.DOUBLE, Types.DOUBLE),
                                InternalTypeInfo.of(PANE));
        panes.sinkTo(sink(PANE, out + "/results"));
        keepLate(panes.getSideOutput(TOO_LATE), out);
    }

    private static void pairs(DataStream<Tuple4<String, Double, Long, Boolean>> rows, long withinMs, String out) {
        SingleOutputStreamOperator<RowData> pairs =
                rows.filter(row -> !row.f3)
                        .setParallelism(1)
                        .keyBy(row -> row.f0, Types.STRING)
                        .intervalJoin(rows.filter(row -> row.f3).setParallelism(1).keyBy(row -> row.f0, Types.STRING))
                        .between(Duration.ZERO, Duration.ofMillis(withinMs))
                        .sideOutputLeftLateData(TOO_LATE)
                        .sideOutputRightLateData(TOO_LATE_SECOND)
                        .process(new Pair(), InternalTypeInfo.of(PAIR));
        pairs.sinkTo(sink(PAIR, out + "/results"));
        keepLate(pairs.getSideOutput(TOO_LATE).union(pairs.getSideOutput(TOO_LATE_SECOND)), out);
    }

    private static void keepLate(DataStream<Tuple4<String, Double, Long, Boolean>> late, String out) {
        late.map(row -> (RowData) GenericRowData.of(StringData.fromString(row.f0), row.f2), InternalTypeInfo.of(LATE))
                .sinkTo(sink(LATE, out + "/late"));
    }

    private static FileSink<RowData> sink(RowType type, String folder) {
        return FileSink.forBulkFormat(
                        new Path("file://" + folder),
                        ParquetRowDataBuilder.createWriterFactory(type, new org.apache.hadoop.conf.Configuration(), true))
                .withBucketAssigner(new BasePathBucketAssigner<>())
                .build();
    }

    /** Gives out files in the order in which they were named. */
    public static final class InOrder implements FileSplitAssigner {
        private final ArrayDeque<FileSourceSplit> waiting;

        public InOrder(Collection<FileSourceSplit> splits) {
            waiting = new ArrayDeque<>(splits);
        }

        @Override
        public Optional<FileSourceSplit> getNext(String host) {
            return Optional.ofNullable(waiting.poll());
        }

        @Override
        public void addSplits(Collection<FileSourceSplit> splits) {
            waiting.addAll(splits);
        }

        @Override
        public Collection<FileSourceSplit> remainingSplits() {
            return List.copyOf(waiting);
        }
    }

    /** Bounded out-of-orderness by source, emitted by the clock of arrival in place of the clock on the wall. */
    public static final class ArrivalWatermarks extends AbstractStreamOperator<Tuple4<String, Double, Long, Boolean>>
            implements OneInputStreamOperator<RowData, Tuple4<String, Double, Long, Boolean>> {
        private final long boundMs, everyMs;
        private final long[] highest = new long[4];
        private long tick = Long.MAX_VALUE;

        public ArrivalWatermarks(long boundMs, long everyMs) {
            this.boundMs = boundMs;
            this.everyMs = everyMs;
            Arrays.fill(highest, Long.MIN_VALUE);
        }

        @Override
        public void processElement(StreamRecord<RowData> record) {
            RowData row = record.getValue();
            int source = ((BinaryStringData) row.getString(1)).byteAt(1) - '0';
            long eventMs = row.getTimestamp(4, 6).getMillisecond();
            long now = Math.floorDiv(row.getTimestamp(5, 6).getMillisecond(), everyMs);
            if (now > tick) {
                emit();
            }
            tick = now;
            highest[source] = Math.max(highest[source], eventMs);
            Tuple4<String, Double, Long, Boolean> event =
                    Tuple4.of(row.getString(0).toString(), row.getDouble(3), row.getLong(2), source >= 2);
            output.collect(new StreamRecord<>(event, eventMs));
        }

        private void emit() {
            long least = Arrays.stream(highest).min().getAsLong();
            if (least > Long.MIN_VALUE) {
                output.emitWatermark(new Watermark(least - boundMs - 1));
            }
        }

        @Override
        public void processWatermark(Watermark mark) {
            output.emitWatermark(mark);
        }
    }

    /** Number, sum and greatest of values. */
    public static final class Totals
            implements AggregateFunction<
                    Tuple4<String, Double, Long, Boolean>, Tuple3<Long, Double, Double>, Tuple3<Long, Double, Double>> {
        @Override
        public Tuple3<Long, Double, Double> createAccumulator() {
            return Tuple3.of(0L, 0.0, Double.NEGATIVE_INFINITY);
        }

        @Override
        public Tuple3<Long, Double, Double> add(Tuple4<String, Double, Long, Boolean> row, Tuple3<Long, Double, Double> totals) {
            totals.f0++;
            totals.f1 += row.f1;
            totals.f2 = Math.max(totals.f2, row.f1);
            return totals;
        }

        @Override
        public Tuple3<Long, Double, Double> getResult(Tuple3<Long, Double, Double> totals) {
            return totals;
        }

        @Override
        public Tuple3<Long, Double, Double> merge(Tuple3<Long, Double, Double> one, Tuple3<Long, Double, Double> other) {
            return Tuple3.of(one.f0 + other.f0, one.f1 + other.f1, Math.max(one.f2, other.f2));
        }
    }

    /** A firing as a row. */
    public static final class Pane extends ProcessWindowFunction<Tuple3<Long, Double, Double>, RowData, String, TimeWindow> {
        @Override
        public void process(String key, Context context, Iterable<Tuple3<Long, Double, Double>> totals, Collector<RowData> out) {
            Tuple3<Long, Double, Double> of = totals.iterator().next();
            TimeWindow window = context.window();
            out.collect(
                    GenericRowData.of(
                            StringData.fromString(key), window.getStart(), window.getEnd(), of.f0, of.f1, of.f1 / of.f0, of.f2));
        }
    }

    /** Two rows as one. */
    public static final class Pair
            extends ProcessJoinFunction<Tuple4<String, Double, Long, Boolean>, Tuple4<String, Double, Long, Boolean>, RowData> {
        @Override
        public void processElement(
                Tuple4<String, Double, Long, Boolean> first, Tuple4<String, Double, Long, Boolean> second, Context context, Collector<RowData> out) {
            out.collect(GenericRowData.of(StringData.fromString(first.f0), first.f2, second.f2));
        }
    }

    private WindowJob() {}
}
