// Both constructs for tables, with what one usually gives them.
const { App, Stack, RemovalPolicy } = require("aws-cdk-lib");
const dynamodb = require("aws-cdk-lib/aws-dynamodb");
const iam = require("aws-cdk-lib/aws-iam");
const kms = require("aws-cdk-lib/aws-kms");

const app = new App();
const stack = new Stack(app, "Shop");

const orders = new dynamodb.TableV2(stack, "Orders", {
  tableName: "orders",
  partitionKey: { name: "customer", type: dynamodb.AttributeType.STRING },
  sortKey: { name: "at", type: dynamodb.AttributeType.NUMBER },
  billing: dynamodb.Billing.onDemand({ maxReadRequestUnits: 40, maxWriteRequestUnits: 20 }),
  dynamoStream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
  encryption: dynamodb.TableEncryptionV2.awsManagedKey(),
  pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: 7 },
  timeToLiveAttribute: "until",
  deletionProtection: true,
  contributorInsightsSpecification: { enabled: true },
  tags: [{ key: "team", value: "shop" }],
  globalSecondaryIndexes: [
    { indexName: "by-time", partitionKey: { name: "at", type: dynamodb.AttributeType.NUMBER } },
  ],
  removalPolicy: RemovalPolicy.DESTROY,
});

const stock = new dynamodb.Table(stack, "Stock", {
  partitionKey: { name: "part", type: dynamodb.AttributeType.STRING },
  readCapacity: 5,
  writeCapacity: 6,
  encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED,
  encryptionKey: new kms.Key(stack, "Key"),
});
stock.autoScaleReadCapacity({ minCapacity: 5, maxCapacity: 50 }).scaleOnUtilization({ targetUtilizationPercent: 70 });
stock.metricConsumedReadCapacityUnits().createAlarm(stack, "Busy", { threshold: 1000, evaluationPeriods: 2 });

const reader = new iam.Role(stack, "Reader", { assumedBy: new iam.AccountRootPrincipal() });
orders.grantReadData(reader);
stock.grantReadWriteData(reader);
