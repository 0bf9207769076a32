"""Programs that use Faradisc as its users do: plain boto3 against an endpoint."""
