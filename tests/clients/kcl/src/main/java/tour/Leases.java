package tour;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.kinesis.common.HashKeyRangeForLease;
import software.amazon.kinesis.leases.Lease;
import software.amazon.kinesis.leases.UpdateField;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseRefresher;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseRenewer;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseSerializer;
import software.amazon.kinesis.leases.dynamodb.DynamoDBLeaseTaker;
import software.amazon.kinesis.leases.dynamodb.TableCreatorCallback;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.retrieval.kpl.ExtendedSequenceNumber;

/** The lease classes of the Kinesis Client Library 2, unchanged, against the server in ENDPOINT. Prints findings. */
public class Leases {
    private static final String TABLE = "Tour.Leases";
    private static final int LEASES = 4;
    private static final int RACERS = 8;
    private static final int ROUNDS = 25;
    /** Longer than the run, so that no lease expires in it. */
    private static final long LEASE_MS = Duration.ofMinutes(30).toMillis();

    private static void found(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    private static Lease lease(String key) {
        Lease lease = new Lease();
        lease.leaseKey(key);
        lease.leaseCounter(0L);
        lease.ownerSwitchesSinceCheckpoint(0L);
        lease.checkpoint(ExtendedSequenceNumber.TRIM_HORIZON);
        lease.parentShardIds(Set.of("parent-a", "parent-b"));
        return lease;
    }

    private static String keys(List<Lease> leases) {
        return leases.stream().map(Lease::leaseKey).sorted().collect(Collectors.joining(","));
    }

    public static void main(String[] arguments) throws Exception {
        DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
            .endpointOverride(URI.create(System.getenv("ENDPOINT"))).region(Region.EU_CENTRAL_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("tour", "tour")))
            .build();
        DynamoDBLeaseRefresher leases = new DynamoDBLeaseRefresher(TABLE, client, new DynamoDBLeaseSerializer(), true,
            TableCreatorCallback.NOOP_TABLE_CREATOR_CALLBACK, Duration.ofSeconds(30), BillingMode.PAY_PER_REQUEST,
            false);

        found("tableBefore", leases.leaseTableExists());
        leases.createLeaseTableIfNotExists();
        found("table", leases.waitUntilLeaseTableExists(1, 30));
        leases.createLeaseTableIfNotExists();
        found("empty", leases.isLeaseTableEmpty());

        protocol(client, leases);
        race(leases);
        workers(leases);

        leases.deleteAll();
        found("emptyAfter", leases.isLeaseTableEmpty());
        client.deleteTable(request -> request.tableName(TABLE)).join();
        client.waiter().waitUntilTableNotExists(request -> request.tableName(TABLE)).join();
        found("tableAfter", leases.leaseTableExists());
        client.close();
    }

    /** Every request of the protocol, with the conditions under which it fails. */
    private static void protocol(DynamoDbAsyncClient client, DynamoDBLeaseRefresher leases) throws Exception {
        found("created", leases.createLeaseIfNotExists(lease("one")) + ","
            + leases.createLeaseIfNotExists(lease("one")));
        found("missing", leases.getLease("none"));

        // Two workers read the same counter: the request of the second one finds it changed.
        Lease first = leases.getLease("one");
        Lease second = leases.getLease("one");
        found("taken", leases.takeLease(first, "worker-1") + "," + leases.takeLease(second, "worker-2"));
        Lease read = leases.getLease("one");
        found("owner", read.leaseOwner() + "," + read.leaseCounter() + "," + read.ownerSwitchesSinceCheckpoint());
        found("parents", read.parentShardIds().stream().sorted().collect(Collectors.joining(",")));

        found("renewed", leases.renewLease(first) + "," + leases.renewLease(first) + "," + first.leaseCounter());
        found("renewedWithOldCounter", leases.renewLease(read));

        first.checkpoint(new ExtendedSequenceNumber("49590338271490256608559692538361571095921575989136588898", 7L));
        first.pendingCheckpoint(new ExtendedSequenceNumber("49590338271490256608559692540925702759324208523137515618"));
        first.pendingCheckpointState(new byte[] {0, -1, 7});
        first.ownerSwitchesSinceCheckpoint(0L);
        found("checkpointed", leases.updateLease(first));
        Lease after = leases.getLease("one");
        found("checkpoint", leases.getCheckpoint("one").equals(first.checkpoint())
            && after.pendingCheckpoint().equals(first.pendingCheckpoint())
            && Arrays.equals(after.pendingCheckpointState(), first.pendingCheckpointState()));

        Lease stolen = leases.getLease("one");
        found("stolen", leases.takeLease(stolen, "worker-2"));
        found("afterTheft", leases.renewLease(first) + "," + leases.updateLease(first) + ","
            + leases.evictLease(first));
        found("switches", leases.getLease("one").ownerSwitchesSinceCheckpoint());

        found("evicted", leases.evictLease(stolen));
        Map<String, AttributeValue> item = client.getItem(request -> request.tableName(TABLE)
            .key(Map.of("leaseKey", AttributeValue.fromS("one")))).join().item();
        found("attributes", item.keySet().stream().sorted().collect(Collectors.joining(",")));

        Lease changed = leases.getLease("one");
        changed.childShardIds(Set.of("child-a"));
        changed.hashKeyRange(HashKeyRangeForLease.deserialize("0", "340282366920938463463374607431768211455"));
        leases.updateLeaseWithMetaInfo(changed, UpdateField.CHILD_SHARDS);
        leases.updateLeaseWithMetaInfo(changed, UpdateField.HASH_KEY_RANGE);
        Lease described = leases.getLease("one");
        found("metaInfo", described.childShardIds() + "," + described.hashKeyRangeForLease().serializedEndingHashKey());
        // The library logs that the condition failed and goes on; the update may create no item.
        Lease none = lease("none");
        none.childShardIds(Set.of("child-a"));
        leases.updateLeaseWithMetaInfo(none, UpdateField.CHILD_SHARDS);
        found("metaInfoOfMissing", leases.getLease("none"));
        leases.deleteLease(described);
        leases.deleteLease(described);
        found("listAfterDelete", leases.listLeases().size());
    }

    /** Workers that take the same lease at the same time: in every round one of them may win. */
    private static void race(DynamoDBLeaseRefresher leases) throws Exception {
        leases.createLeaseIfNotExists(lease("raced"));
        ExecutorService threads = Executors.newFixedThreadPool(RACERS);
        Set<Integer> winners = new TreeSet<>();
        for (int round = 0; round < ROUNDS; round++) {
            List<Callable<Boolean>> racers = new ArrayList<>();
            for (int number = 0; number < RACERS; number++) {
                Lease read = leases.getLease("raced");
                String worker = "worker-" + number;
                racers.add(() -> leases.takeLease(read, worker));
            }
            int won = 0;
            for (Future<Boolean> racer : threads.invokeAll(racers)) {
                won += racer.get() ? 1 : 0;
            }
            winners.add(won);
        }
        threads.shutdown();
        Lease last = leases.getLease("raced");
        found("winnersOfRaces", winners);
        found("counterAfterRaces", last.leaseCounter());
        leases.deleteLease(last);
    }

    /** Two workers with the library's own taker and renewer: the second one steals a lease, the first one loses it. */
    private static void workers(DynamoDBLeaseRefresher leases) throws Exception {
        for (int number : IntStream.range(0, LEASES).toArray()) {
            leases.createLeaseIfNotExists(lease("shard-" + number));
        }
        found("list", keys(leases.listLeases()));
        ExecutorService threads = Executors.newFixedThreadPool(LEASES);
        NullMetricsFactory metrics = new NullMetricsFactory();
        DynamoDBLeaseTaker taker = new DynamoDBLeaseTaker(leases, "worker-1", LEASE_MS, metrics);
        DynamoDBLeaseTaker thief = new DynamoDBLeaseTaker(leases, "worker-2", LEASE_MS, metrics);
        DynamoDBLeaseRenewer renewer = new DynamoDBLeaseRenewer(leases, "worker-1", LEASE_MS, threads, metrics);

        Map<String, Lease> held = taker.takeLeases();
        renewer.addLeasesToRenew(held.values());
        renewer.renewLeases();
        found("held", renewer.getCurrentlyHeldLeases().size());
        Map<String, Lease> robbed = thief.takeLeases();
        found("robbed", robbed.size());
        renewer.renewLeases();
        Map<String, Lease> kept = renewer.getCurrentlyHeldLeases();
        found("kept", kept.size() + "," + kept.keySet().stream().noneMatch(robbed::containsKey));

        Lease mine = kept.values().iterator().next();
        mine.checkpoint(ExtendedSequenceNumber.SHARD_END);
        found("checkpointByRenewer", renewer.updateLease(mine, mine.concurrencyToken(), "tour", mine.leaseKey()));
        found("shardEnd", leases.getCheckpoint(mine.leaseKey()).isShardEnd());
        Lease lost = robbed.values().iterator().next();
        found("checkpointOfLost", renewer.updateLease(lost, mine.concurrencyToken(), "tour", lost.leaseKey()));
        found("owners", leases.listLeases().stream().map(Lease::leaseOwner).sorted().collect(Collectors.joining(",")));
        threads.shutdown();
    }
}
