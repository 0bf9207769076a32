package tour;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbTable;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.enhanced.dynamodb.model.BatchWriteItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.ConditionCheck;
import software.amazon.awssdk.enhanced.dynamodb.Expression;
import software.amazon.awssdk.enhanced.dynamodb.model.QueryConditional;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactWriteItemsEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.WriteBatch;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.CancellationReason;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.awssdk.services.dynamodb.model.Shard;
import software.amazon.awssdk.services.dynamodb.model.ShardIteratorType;

/** The AWS SDK for Java v2 with its enhanced client, unchanged, against the server in ENDPOINT. Prints findings. */
public class Tour {
    private static final String TABLE = "Tour.Java";

    private static void found(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    public static void main(String[] arguments) {
        URI endpoint = URI.create(System.getenv("ENDPOINT"));
        StaticCredentialsProvider credentials =
            StaticCredentialsProvider.create(AwsBasicCredentials.create("tour", "tour"));
        DynamoDbClient client = DynamoDbClient.builder().endpointOverride(endpoint).region(Region.EU_CENTRAL_1)
            .credentialsProvider(credentials).httpClient(UrlConnectionHttpClient.create()).build();
        DynamoDbStreamsClient streams = DynamoDbStreamsClient.builder().endpointOverride(endpoint)
            .region(Region.EU_CENTRAL_1).credentialsProvider(credentials)
            .httpClient(UrlConnectionHttpClient.create()).build();
        DynamoDbEnhancedClient enhanced = DynamoDbEnhancedClient.builder().dynamoDbClient(client).build();
        DynamoDbTable<Record> table = enhanced.table(TABLE, TableSchema.fromBean(Record.class));

        table.createTable(request -> request
            .globalSecondaryIndices(index -> index.indexName("by-kind")
                .projection(projection -> projection.projectionType(ProjectionType.ALL)))
            .streamSpecification(stream -> stream.streamEnabled(true)
                .streamViewType(StreamViewType.NEW_AND_OLD_IMAGES)));
        String status = client.waiter().waitUntilTableExists(request -> request.tableName(TABLE))
            .matched().response().orElseThrow().table().tableStatusAsString();
        found("waiter", status);
        String stream = client.describeTable(request -> request.tableName(TABLE)).table().latestStreamArn();

        Record written = Record.of("a", 1, "even");
        written.setText("größe ☃");
        written.setBytes(SdkBytes.fromByteArray(new byte[] {0, -1, 7}));
        written.setTags(Set.of("x", "y"));
        written.setInner(Map.of("three", 3));
        table.putItem(written);
        Record read = table.getItem(Key.builder().partitionValue("a").sortValue(1).build());
        found("roundTrip", read.getText().equals(written.getText()) && read.getBytes().equals(written.getBytes())
            && read.getTags().equals(written.getTags()) && read.getInner().equals(written.getInner())
            && read.getVersion() == 1);

        // A batch has no conditions, so it needs a client that checks no versions.
        DynamoDbEnhancedClient plain =
            DynamoDbEnhancedClient.builder().dynamoDbClient(client).extensions(List.of()).build();
        WriteBatch.Builder<Record> puts = WriteBatch.builder(Record.class)
            .mappedTableResource(plain.table(TABLE, TableSchema.fromBean(Record.class)));
        for (int i = 0; i < 20; i++) {
            puts.addPutItem(Record.of("b", i, i % 2 == 0 ? "even" : "odd"));
        }
        plain.batchWriteItem(BatchWriteItemEnhancedRequest.builder().writeBatches(puts.build()).build());

        int[] queried = new int[2];
        table.index("by-kind").query(request -> request.limit(3)
            .queryConditional(QueryConditional.keyEqualTo(key -> key.partitionValue("odd")))).forEach(page -> {
                queried[0] += 1;
                queried[1] += page.items().size();
            });
        found("query", queried[0] + "," + queried[1]);
        found("scan", table.scan(request -> request.limit(7)).items().stream().count());

        read.setKind("changed");
        found("update", table.updateItem(read).getVersion());
        try {
            table.updateItem(read);
        } catch (ConditionalCheckFailedException error) {
            found("stale", error.awsErrorDetails().errorMessage());
        }
        try {
            enhanced.transactWriteItems(TransactWriteItemsEnhancedRequest.builder()
                .addPutItem(table, Record.of("t", 1, "even"))
                .addConditionCheck(table, ConditionCheck.builder()
                    .key(Key.builder().partitionValue("no").sortValue(1).build())
                    .conditionExpression(Expression.builder().expression("attribute_exists(pk)").build()).build())
                .build());
        } catch (TransactionCanceledException error) {
            found("transaction", error.cancellationReasons().stream().map(CancellationReason::code)
                .collect(Collectors.joining(",")));
        }
        found("partiql", client.executeStatement(request -> request
            .statement("SELECT kind FROM \"" + TABLE + "\" WHERE pk = ? AND sk = ?")
            .parameters(AttributeValue.fromS("b"), AttributeValue.fromN("4"))).items().get(0).get("kind").s());

        int records = 0;
        List<Shard> shards = streams.describeStream(request -> request.streamArn(stream))
            .streamDescription().shards();
        for (Shard shard : shards) {
            String iterator = streams.getShardIterator(request -> request.streamArn(stream).shardId(shard.shardId())
                .shardIteratorType(ShardIteratorType.TRIM_HORIZON)).shardIterator();
            records += streams.getRecords(request -> request.shardIterator(iterator)).records().size();
        }
        found("records", records);
        found("tables", client.listTablesPaginator(request -> request.limit(1)).tableNames().stream().toList());
        table.deleteTable();
        client.waiter().waitUntilTableNotExists(request -> request.tableName(TABLE));
        found("deleted", true);
    }
}
