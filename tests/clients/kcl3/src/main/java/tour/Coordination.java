package tour;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ExpectedAttributeValue;
import software.amazon.kinesis.common.DdbTableConfig;
import software.amazon.kinesis.coordinator.CoordinatorConfig;
import software.amazon.kinesis.coordinator.CoordinatorState;
import software.amazon.kinesis.coordinator.CoordinatorStateDAO;
import software.amazon.kinesis.leases.Lease;
import software.amazon.kinesis.leases.LeaseManagementConfig.WorkerMetricsTableConfig;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseRefresher;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseSerializer;
import software.amazon.kinesis.leases.dynamodb.TableCreatorCallback;
import software.amazon.kinesis.retrieval.kpl.ExtendedSequenceNumber;
import software.amazon.kinesis.worker.metricstats.WorkerMetricStats;
import software.amazon.kinesis.worker.metricstats.WorkerMetricStatsDAO;

/**
 * What the Kinesis Client Library 3 keeps in tables, unchanged, against the server in ENDPOINT: leases with an index of
 * their owners, the leader's lock, the state of the coordinator, the load of the workers. Prints findings.
 */
public class Coordination {
    private static final String APPLICATION = "Tour.Coordination";
    private static final int LEASES = 6;

    private static void found(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    private static Lease lease(String key) {
        Lease lease = new Lease();
        lease.leaseKey(key);
        lease.leaseCounter(0L);
        lease.ownerSwitchesSinceCheckpoint(0L);
        lease.checkpoint(ExtendedSequenceNumber.TRIM_HORIZON);
        return lease;
    }

    public static void main(String[] arguments) throws Exception {
        DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
            .endpointOverride(URI.create(System.getenv("ENDPOINT"))).region(Region.EU_CENTRAL_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("tour", "tour")))
            .build();
        leases(client);
        coordinator(client);
        metrics(client);
        List<String> tables = client.listTables().join().tableNames().stream()
            .filter(name -> name.startsWith(APPLICATION)).toList();
        found("tables", tables);
        found("protected", client.deleteTable(request -> request.tableName(APPLICATION))
            .handle((answer, error) -> error.getMessage().contains("protected against deletion")).join());
        client.updateTable(request -> request.tableName(APPLICATION).deletionProtectionEnabled(false)).join();
        for (String table : tables) {
            client.deleteTable(request -> request.tableName(table)).join();
            client.waiter().waitUntilTableNotExists(request -> request.tableName(table)).join();
        }
        client.close();
    }

    /** The lease table is protected against deletion and has point-in-time recovery. */
    private static void leases(DynamoDbAsyncClient client) throws Exception {
        DdbTableConfig table = new DdbTableConfig().pointInTimeRecoveryEnabled(true);
        DynamoDBLeaseRefresher leases = new DynamoDBLeaseRefresher(APPLICATION, client, new DynamoDBLeaseSerializer(),
            true, TableCreatorCallback.NOOP_TABLE_CREATOR_CALLBACK, Duration.ofSeconds(30), table, true, true,
            List.of());
        leases.createLeaseTableIfNotExists();
        found("table", leases.waitUntilLeaseTableExists(1, 30));
        found("recovery", client.describeContinuousBackups(request -> request.tableName(APPLICATION)).join()
            .continuousBackupsDescription().pointInTimeRecoveryDescription().pointInTimeRecoveryStatusAsString());
        for (int number = 0; number < LEASES; number++) {
            leases.createLeaseIfNotExists(lease("shard-" + number));
        }

        // The index is added to the table with its leases.
        leases.createLeaseOwnerToLeaseKeyIndexIfNotExists();
        found("index", leases.waitUntilLeaseOwnerToLeaseKeyIndexExists(1, 30));
        leases.createLeaseOwnerToLeaseKeyIndexIfNotExists();
        for (Lease lease : leases.listLeases()) {
            boolean first = Set.of("shard-0", "shard-1").contains(lease.leaseKey());
            leases.assignLease(lease, first ? "worker-1" : "worker-2");
        }
        found("ofFirst", leases.listLeaseKeysForWorker("worker-1").stream().sorted().toList());
        found("ofSecond", leases.listLeaseKeysForWorker("worker-2").size());

        // The first owner checkpoints until it hands over; assignments with an old counter fail.
        Lease old = leases.getLease("shard-0");
        Lease handed = leases.getLease("shard-0");
        found("handoff", leases.initiateGracefulLeaseHandoff(handed, "worker-3"));
        Lease between = leases.getLease("shard-0");
        found("between", between.leaseOwner() + "," + between.checkpointOwner());
        found("handoffOfOld", leases.initiateGracefulLeaseHandoff(old, "worker-2"));
        found("assignmentOfOld", leases.assignLease(old, "worker-2"));
        found("handedOver", leases.evictLease(between));
        Lease after = leases.getLease("shard-0");
        found("after", after.leaseOwner() + "," + after.checkpointOwner());
        found("ofThird", leases.listLeaseKeysForWorker("worker-3"));

        ExecutorService threads = Executors.newFixedThreadPool(3);
        Map.Entry<List<Lease>, List<String>> scanned = leases.listLeasesParallely(threads, 3);
        found("segments", scanned.getKey().stream().map(Lease::leaseKey).sorted().collect(Collectors.joining(",")));
        found("unreadable", scanned.getValue());
        threads.shutdown();
    }

    private static void coordinator(DynamoDbAsyncClient client) throws Exception {
        CoordinatorStateDAO states =
            new CoordinatorStateDAO(client, new CoordinatorConfig(APPLICATION).coordinatorStateTableConfig());
        states.initialize();
        CoordinatorState state = CoordinatorState.builder().key("Migration3.0")
            .attributes(Map.of("cv", AttributeValue.fromS("2"))).build();
        found("state", states.createCoordinatorStateIfNotExists(state) + ","
            + states.createCoordinatorStateIfNotExists(state));
        CoordinatorState next = CoordinatorState.builder().key("Migration3.0")
            .attributes(Map.of("cv", AttributeValue.fromS("3"))).build();
        Map<String, ExpectedAttributeValue> expected = Map.of("cv",
            ExpectedAttributeValue.builder().value(AttributeValue.fromS("2")).build());
        found("stateChanged", states.updateCoordinatorStateWithExpectation(next, expected) + ","
            + states.updateCoordinatorStateWithExpectation(next, expected));
        found("stateRead", states.getCoordinatorState("Migration3.0").getAttributes().get("cv").s());

        try (AmazonDynamoDBLockClient first = locks(states, "worker-1");
            AmazonDynamoDBLockClient second = locks(states, "worker-2")) {
            AcquireLockOptions leader = AcquireLockOptions.builder(CoordinatorState.LEADER_HASH_KEY)
                .withShouldSkipBlockingWait(true).withDeleteLockOnRelease(true).build();
            LockItem lock = first.acquireLock(leader);
            String version = lock.getRecordVersionNumber();
            first.sendHeartbeat(lock);
            found("heartbeat", !lock.getRecordVersionNumber().equals(version));
            try {
                second.acquireLock(leader);
            } catch (RuntimeException error) {
                found("locked", error.getClass().getSimpleName());
            }
            found("states", states.listCoordinatorState().stream().map(CoordinatorState::getKey).sorted().toList());
            found("released", first.releaseLock(lock));
            found("leader", second.acquireLock(leader).getOwnerName());
        }
        found("statesAfter", states.listCoordinatorState().size());
    }

    private static AmazonDynamoDBLockClient locks(CoordinatorStateDAO states, String owner) {
        return new AmazonDynamoDBLockClient(states.getDDBLockClientOptionsBuilder().withOwnerName(owner)
            .withLeaseDuration(60L).withHeartbeatPeriod(20L).withCreateHeartbeatBackgroundThread(false).build());
    }

    private static void metrics(DynamoDbAsyncClient client) throws Exception {
        WorkerMetricStatsDAO metrics =
            new WorkerMetricStatsDAO(client, new WorkerMetricsTableConfig(APPLICATION), 60_000L);
        long now = Instant.now().getEpochSecond();
        metrics.initialize();
        for (String worker : List.of("worker-1", "worker-2")) {
            metrics.updateMetrics(WorkerMetricStats.builder().workerId(worker).lastUpdateTime(now)
                .metricStats(Map.of("C", List.of(12.5, 50.0))).operatingRange(Map.of("C", List.of(100L))).build());
        }
        metrics.updateMetrics(WorkerMetricStats.builder().workerId("worker-1").lastUpdateTime(now)
            .metricStats(Map.of("C", List.of(60.25))).operatingRange(Map.of("C", List.of(80L))).build());
        found("metrics", metrics.getAllWorkerMetricStats().stream()
            .map(stats -> stats.getWorkerId() + stats.getMetricStats() + stats.getOperatingRange()).sorted().toList());
        WorkerMetricStats second = metrics.getAllWorkerMetricStats().stream()
            .filter(stats -> stats.getWorkerId().equals("worker-2")).findFirst().orElseThrow();
        second.setLastUpdateTime(now - 1);
        boolean changed = metrics.deleteMetrics(second);
        second.setLastUpdateTime(now);
        found("metricsDeleted", changed + "," + metrics.deleteMetrics(second) + ","
            + metrics.getAllWorkerMetricStats().size());
    }
}
