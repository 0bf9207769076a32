//! The AWS SDK for Rust, unchanged, against the server in ENDPOINT. Prints one JSON object of findings.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, ConditionCheck, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, Put, PutRequest, ReturnValue, ReturnValuesOnConditionCheckFailure, ScalarAttributeType,
    TransactWriteItem, WriteRequest,
};
use aws_sdk_dynamodb::{Client, Config, Error};
use serde_json::{json, Map, Value};

const TABLE: &str = "Tour.Rust";

type Item = HashMap<String, AttributeValue>;

fn s(value: &str) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn n(value: i32) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn key(pk: &str, sk: i32) -> Item {
    HashMap::from([("pk".into(), s(pk)), ("sk".into(), n(sk))])
}

fn element(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::from_conf(
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(std::env::var("ENDPOINT").unwrap())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("tour", "tour", None, None, "tour"))
            .build(),
    );
    let mut found = Map::<String, Value>::new();

    client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .key_schema(element("pk", KeyType::Hash))
        .key_schema(element("sk", KeyType::Range))
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::N))
        .attribute_definitions(attribute("kind", ScalarAttributeType::S))
        .global_secondary_indexes(
            GlobalSecondaryIndex::builder()
                .index_name("by-kind")
                .key_schema(element("kind", KeyType::Hash))
                .key_schema(element("sk", KeyType::Range))
                .projection(Projection::builder().projection_type(ProjectionType::All).build())
                .build()
                .unwrap(),
        )
        .send()
        .await?;
    let waited = client.wait_until_table_exists().table_name(TABLE).wait(Duration::from_secs(30)).await;
    found.insert("waiter".into(), json!(waited.is_ok()));

    let mut item = key("a", 1);
    item.insert("kind".into(), s("even"));
    item.insert("text".into(), s("größe ☃"));
    item.insert("bytes".into(), AttributeValue::B(Blob::new([0, 255, 7])));
    item.insert("nothing".into(), AttributeValue::Null(true));
    item.insert("tags".into(), AttributeValue::Ss(vec!["x".into(), "y".into()]));
    item.insert("list".into(), AttributeValue::L(vec![n(1), s("two"), AttributeValue::Bool(true)]));
    item.insert("big".into(), AttributeValue::N("12345678901234567890.5".into()));
    client.put_item().table_name(TABLE).set_item(Some(item.clone())).send().await?;
    let got = client.get_item().table_name(TABLE).set_key(Some(key("a", 1))).consistent_read(true).send().await?;
    found.insert("roundTrip".into(), json!(got.item == Some(item)));

    let puts: Vec<WriteRequest> = (0..20)
        .map(|i| {
            let mut item = key("b", i);
            item.insert("kind".into(), s(["even", "odd"][i as usize % 2]));
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    client.batch_write_item().request_items(TABLE, puts).send().await?;

    let mut pages = client
        .query()
        .table_name(TABLE)
        .index_name("by-kind")
        .key_condition_expression("kind = :k")
        .expression_attribute_values(":k", s("odd"))
        .limit(3)
        .into_paginator()
        .send();
    let (mut count, mut queried) = (0, 0);
    while let Some(page) = pages.next().await {
        count += 1;
        queried += page?.count;
    }
    found.insert("query".into(), json!([count, queried]));
    let scanned = client.scan().table_name(TABLE).limit(7).into_paginator().items().send().collect::<Result<Vec<_>, _>>();
    found.insert("scan".into(), json!(scanned.await?.len()));

    let updated = client
        .update_item()
        .table_name(TABLE)
        .set_key(Some(key("a", 1)))
        .update_expression("ADD hits :one")
        .expression_attribute_values(":one", n(1))
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await?;
    found.insert("update".into(), json!(updated.attributes.unwrap()["hits"].as_n().unwrap()));

    let refused = client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(key("a", 1)))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let message = refused.message().unwrap_or_default().to_owned();
    if let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(error) = refused {
        found.insert("condition".into(), json!([error.item.unwrap()["kind"].as_s().unwrap(), message]));
    }
    let canceled = client
        .transact_write_items()
        .transact_items(
            TransactWriteItem::builder()
                .put(Put::builder().table_name(TABLE).set_item(Some(key("t", 1))).build().unwrap())
                .build(),
        )
        .transact_items(
            TransactWriteItem::builder()
                .condition_check(
                    ConditionCheck::builder()
                        .table_name(TABLE)
                        .set_key(Some(key("no", 1)))
                        .condition_expression("attribute_exists(pk)")
                        .build()
                        .unwrap(),
                )
                .build(),
        )
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
    if let TransactWriteItemsError::TransactionCanceledException(error) = canceled {
        let codes: Vec<_> = error.cancellation_reasons().iter().map(|reason| reason.code().unwrap_or("")).collect();
        found.insert("transaction".into(), json!(codes));
    }
    let selected = client
        .execute_statement()
        .statement(format!("SELECT kind FROM \"{TABLE}\" WHERE pk = ? AND sk = ?"))
        .parameters(s("b"))
        .parameters(n(4))
        .send()
        .await?;
    found.insert("partiql".into(), json!(selected.items()[0]["kind"].as_s().unwrap()));

    let names = client.list_tables().limit(1).into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
    found.insert("tables".into(), json!(names));
    client.delete_table().table_name(TABLE).send().await?;
    let gone = client.wait_until_table_not_exists().table_name(TABLE).wait(Duration::from_secs(30)).await;
    found.insert("deleted".into(), json!(gone.is_ok()));
    println!("{}", Value::Object(found));
    Ok(())
}
