import java.io.BufferedReader;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** One server for all test classes with {@code @ExtendWith(Faradisc.class)}; JUnit closes it after the last. */
public final class Faradisc implements BeforeAllCallback, ExtensionContext.Store.CloseableResource {
  private static Process server;
  private static URI endpoint;

  public static DynamoDbClient client() {
    return DynamoDbClient.builder()
        .endpointOverride(endpoint)
        .region(Region.US_EAST_1)
        .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
        .build();
  }

  @Override
  public synchronized void beforeAll(ExtensionContext context) throws Exception {
    if (server != null) return;
    String program = System.getenv().getOrDefault("FARADISC_COMMAND", "uvx faradisc");
    List<String> command = new ArrayList<>(List.of(program.split(" ")));
    command.addAll(List.of("serve", "--memory", "--port", "0"));
    server = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    context.getRoot().getStore(ExtensionContext.Namespace.GLOBAL).put("faradisc", this);
    BufferedReader output = server.inputReader();
    for (String line; (line = output.readLine()) != null; ) {
      String[] words = line.trim().split("\\s+");
      if (words[0].equals("endpoint")) {
        endpoint = URI.create(words[1]);
        return;
      }
    }
    throw new IllegalStateException("faradisc ended before it was ready");
  }

  @Override
  public void close() throws Exception {
    server.destroy();
    server.waitFor();
  }
}
