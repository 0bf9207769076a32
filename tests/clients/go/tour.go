// The AWS SDK for Go v2, unchanged, against the server in ENDPOINT. Prints one JSON object of findings.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

type record struct {
	Pk    string   `dynamodbav:"pk"`
	Sk    int      `dynamodbav:"sk"`
	Kind  string   `dynamodbav:"kind"`
	Text  string   `dynamodbav:"text"`
	Bytes []byte   `dynamodbav:"bytes"`
	Yes   bool     `dynamodbav:"yes"`
	Tags  []string `dynamodbav:"tags,stringset"`
	Inner struct {
		Three int `dynamodbav:"three"`
	} `dynamodbav:"inner"`
}

type key struct {
	Pk string `dynamodbav:"pk"`
	Sk int    `dynamodbav:"sk"`
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func marshal(value any) map[string]types.AttributeValue {
	return must(attributevalue.MarshalMap(value))
}

func main() {
	ctx := context.Background()
	settings := aws.Config{
		Region:       "eu-central-1",
		BaseEndpoint: aws.String(os.Getenv("ENDPOINT")),
		Credentials:  credentials.NewStaticCredentialsProvider("tour", "tour", ""),
	}
	client := dynamodb.NewFromConfig(settings)
	streams := dynamodbstreams.NewFromConfig(settings)
	table := aws.String("Tour.Go")
	found := map[string]any{}

	must(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   table,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("kind"), AttributeType: types.ScalarAttributeTypeS},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by-kind"),
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("kind"), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}))
	described := must(dynamodb.NewTableExistsWaiter(client).WaitForOutput(
		ctx, &dynamodb.DescribeTableInput{TableName: table}, 30*time.Second))
	found["waiter"] = described.Table.TableStatus

	written := record{Pk: "a", Sk: 1, Kind: "even", Text: "größe ☃", Bytes: []byte{0, 255, 7}, Yes: true, Tags: []string{"x", "y"}}
	written.Inner.Three = 3
	must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: marshal(written)}))
	got := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: marshal(key{"a", 1}), ConsistentRead: aws.Bool(true)}))
	var read record
	must(true, attributevalue.UnmarshalMap(got.Item, &read))
	found["roundTrip"] = reflect.DeepEqual(read, written)

	var puts []types.WriteRequest
	for i := range 20 {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{
			Item: marshal(map[string]any{"pk": "b", "sk": i, "kind": []string{"even", "odd"}[i%2]}),
		}})
	}
	must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*table: puts}}))
	batch := must(client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		*table: {Keys: []map[string]types.AttributeValue{marshal(key{"b", 3}), marshal(key{"b", 99})}},
	}}))
	found["batch"] = len(batch.Responses[*table])

	odd := must(expression.NewBuilder().WithKeyCondition(expression.Key("kind").Equal(expression.Value("odd"))).Build())
	pages, queried := 0, 0
	for query := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName: table, IndexName: aws.String("by-kind"), Limit: aws.Int32(3),
		KeyConditionExpression:    odd.KeyCondition(),
		ExpressionAttributeNames:  odd.Names(),
		ExpressionAttributeValues: odd.Values(),
	}); query.HasMorePages(); pages++ {
		queried += int(must(query.NextPage(ctx)).Count)
	}
	found["query"] = []int{pages, queried}
	scanned := 0
	for scan := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: table, Limit: aws.Int32(7)}); scan.HasMorePages(); {
		scanned += int(must(scan.NextPage(ctx)).Count)
	}
	found["scan"] = scanned

	change := must(expression.NewBuilder().WithUpdate(
		expression.Add(expression.Name("hits"), expression.Value(1)).
			Set(expression.Name("inner.three"), expression.Name("inner.three").Plus(expression.Value(1))),
	).Build())
	updated := must(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: table, Key: marshal(key{"a", 1}),
		UpdateExpression:          change.Update(),
		ExpressionAttributeNames:  change.Names(),
		ExpressionAttributeValues: change.Values(),
		ReturnValues:              types.ReturnValueUpdatedNew,
	}))
	found["update"] = updated.Attributes["hits"].(*types.AttributeValueMemberN).Value

	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: table, Item: marshal(key{"a", 1}),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		found["condition"] = []any{failed.Item["kind"].(*types.AttributeValueMemberS).Value, failed.ErrorMessage()}
	}
	_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: table, Item: marshal(key{"t", 1})}},
		{ConditionCheck: &types.ConditionCheck{
			TableName: table, Key: marshal(key{"no", 1}), ConditionExpression: aws.String("attribute_exists(pk)"),
		}},
	}})
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		reasons := []string{}
		for _, reason := range canceled.CancellationReasons {
			reasons = append(reasons, aws.ToString(reason.Code))
		}
		found["transaction"] = reasons
	}
	selected := must(client.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement:  aws.String(`SELECT kind FROM "Tour.Go" WHERE pk = ? AND sk = ?`),
		Parameters: []types.AttributeValue{&types.AttributeValueMemberS{Value: "b"}, &types.AttributeValueMemberN{Value: "4"}},
	}))
	found["partiql"] = selected.Items[0]["kind"].(*types.AttributeValueMemberS).Value

	stream := must(streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: described.Table.LatestStreamArn}))
	records := 0
	for _, shard := range stream.StreamDescription.Shards {
		iterator := must(streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: described.Table.LatestStreamArn, ShardId: shard.ShardId,
			ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		}))
		records += len(must(streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})).Records)
	}
	found["records"] = records

	names := []string{}
	for tables := dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); tables.HasMorePages(); {
		names = append(names, must(tables.NextPage(ctx)).TableNames...)
	}
	found["tables"] = names
	must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table}))
	err = dynamodb.NewTableNotExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: table}, 30*time.Second)
	found["deleted"] = err == nil
	fmt.Println(string(must(json.Marshal(found))))
}
