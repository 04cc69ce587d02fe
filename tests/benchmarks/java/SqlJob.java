import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs the statements of a file, one between two empty lines, on a cluster inside this process; the last is the query.
 *
 * <p>Arguments: file of statements, file of figures, parallelism.
 */
public final class SqlJob {
    public static void main(String[] arguments) throws Exception {
        int parallelism = Integer.parseInt(arguments[2]);
        Configuration settings = new Configuration();
        settings.set(RestOptions.BIND_PORT, "0");
        settings.set(TaskManagerOptions.NUM_TASK_SLOTS, parallelism);
        settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(512));
        settings.setString("parallelism.default", arguments[2]);
        settings.setString("table.exec.resource.default-parallelism", arguments[2]);
        settings.setString("table.local-time-zone", "UTC");
        settings.setString("pipeline.object-reuse", "true");
        TableEnvironment job =
                TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        TableResult query = null;
        for (String statement : Files.readString(Path.of(arguments[0])).split("\n\\s*\n")) {
            query = job.executeSql(statement);
        }
        long runtimeMs = query.getJobClient().orElseThrow().getJobExecutionResult().get().getNetRuntime();
        String result = String.format("{\"work_seconds\": %.3f, \"counts\": {}, \"steps\": {}}", runtimeMs / 1000.0);
        Files.writeString(Path.of(arguments[1]), result);
        System.exit(0);
    }

    private SqlJob() {}
}
