package shop;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

public class Containers {
    public static void main(String[] arguments) throws Exception {
        /* of the page */
        var request = HttpRequest.newBuilder(endpoint.resolve("/health/ready")).build();
        System.out.println("status=" + HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).statusCode());
        faradisc.stop();
        System.out.println("stopped=" + !faradisc.isCreated());
    }
}
