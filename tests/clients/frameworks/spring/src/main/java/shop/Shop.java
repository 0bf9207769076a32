package shop;

import io.awspring.cloud.dynamodb.DynamoDbTemplate;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** An application that knows nothing of its endpoint: Spring makes the clients from the properties. */
@SpringBootApplication
public class Shop {
    public static void main(String[] arguments) {
        SpringApplication.run(Shop.class, arguments).close();
    }

    @Bean
    CommandLineRunner orders(DynamoDbTemplate template, DynamoDbEnhancedClient enhanced, DynamoDbClient client) {
        return arguments -> {
            enhanced.table("order", TableSchema.fromBean(Order.class)).createTable();
            client.waiter().waitUntilTableExists(request -> request.tableName("order"));
            var order = new Order();
            order.setId("o1");
            order.setTotal(7);
            template.save(order);
            order.setTotal(8);
            template.update(order);
            var loaded = template.load(Key.builder().partitionValue("o1").build(), Order.class);
            System.out.println("total=" + loaded.getTotal());
            System.out.println("scanned=" + template.scanAll(Order.class).items().stream().count());
            System.out.println("tables=" + client.listTables().tableNames());
        };
    }
}
