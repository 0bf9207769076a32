import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

@ExtendWith(Faradisc.class)
class MusicTest {
  @Test
  void itemIsReadBack() {
    try (DynamoDbClient dynamodb = Faradisc.client()) {
      dynamodb.createTable(
          table ->
              table
                  .tableName("Music")
                  .keySchema(key -> key.attributeName("Artist").keyType(KeyType.HASH))
                  .attributeDefinitions(
                      key -> key.attributeName("Artist").attributeType(ScalarAttributeType.S))
                  .billingMode(BillingMode.PAY_PER_REQUEST));
      Map<String, AttributeValue> item = Map.of("Artist", AttributeValue.fromS("Ella Fitzgerald"));
      dynamodb.putItem(put -> put.tableName("Music").item(item));
      assertEquals(item, dynamodb.getItem(get -> get.tableName("Music").key(item)).item());
    }
  }
}
