terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

resource "aws_dynamodb_table" "orders" {
  name           = "orders"
  hash_key       = "customer"
  range_key      = "at"
  read_capacity  = 5
  write_capacity = 6

  attribute {
    name = "customer"
    type = "S"
  }
  attribute {
    name = "at"
    type = "N"
  }
  global_secondary_index {
    name            = "by-time"
    hash_key        = "at"
    projection_type = "KEYS_ONLY"
    read_capacity   = 1
    write_capacity  = 2
  }
  ttl {
    attribute_name = "until"
    enabled        = true
  }
  point_in_time_recovery {
    enabled = true
  }
  server_side_encryption {
    enabled = true
  }
  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"
  tags             = { team = "shop" }
}

resource "aws_dynamodb_table_item" "first" {
  table_name = aws_dynamodb_table.orders.name
  hash_key   = aws_dynamodb_table.orders.hash_key
  range_key  = aws_dynamodb_table.orders.range_key
  item       = jsonencode({ customer = { S = "ada" }, at = { N = "1" } })
}

resource "aws_appautoscaling_target" "reads" {
  max_capacity       = 50
  min_capacity       = 5
  resource_id        = "table/${aws_dynamodb_table.orders.name}"
  scalable_dimension = "dynamodb:table:ReadCapacityUnits"
  service_namespace  = "dynamodb"
}

resource "aws_appautoscaling_policy" "reads" {
  name               = "reads"
  policy_type        = "TargetTrackingScaling"
  resource_id        = aws_appautoscaling_target.reads.resource_id
  scalable_dimension = aws_appautoscaling_target.reads.scalable_dimension
  service_namespace  = aws_appautoscaling_target.reads.service_namespace

  target_tracking_scaling_policy_configuration {
    predefined_metric_specification {
      predefined_metric_type = "DynamoDBReadCapacityUtilization"
    }
    target_value = 70
  }
}

resource "aws_cloudwatch_metric_alarm" "throttled" {
  alarm_name          = "throttled"
  namespace           = "AWS/DynamoDB"
  metric_name         = "ReadThrottleEvents"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 1
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  dimensions          = { TableName = aws_dynamodb_table.orders.name }
}
