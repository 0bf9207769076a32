"""The items as Python values: sets are sets, numbers are Decimals or ints.

They have the attributes of the guide's items: books have authors and pages, bicycles brands and colours,
threads views and tags. The contents are invented."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

Plain = dict[str, Any]

PRODUCTS: tuple[Plain, ...] = (
    {
        "Id": 101,
        "Title": "A Field Guide to Hash Functions",
        "ISBN": "111-1111111111",
        "Authors": {"Ines Okafor"},
        "Price": Decimal("12.5"),
        "Dimensions": "8.5 x 11.0 x 0.5",
        "PageCount": 240,
        "InPublication": True,
        "ProductCategory": "Book",
    },
    {
        "Id": 102,
        "Title": "Ordered Bytes",
        "ISBN": "222-2222222222",
        "Authors": {"Ines Okafor", "Tomasz Brandt"},
        "Price": Decimal("20"),
        "Dimensions": "8.5 x 11.0 x 0.8",
        "PageCount": 600,
        "InPublication": True,
        "ProductCategory": "Book",
        "Chapters": [
            {"Title": "Numbers that sort", "Pages": [1, 88]},
            {"Title": "Strings that sort", "Pages": [89, 301]},
            {"Title": "", "Pages": []},
        ],
    },
    {
        "Id": 103,
        "Title": "Everything About Everything",
        "ISBN": "333-3333333333",
        "Authors": {"Ines Okafor", "Tomasz Brandt", "Wen Li"},
        "Price": 2000,
        "Dimensions": "8.5 x 11.0 x 1.5",
        "PageCount": 6000,
        "InPublication": False,
        "ProductCategory": "Book",
        "Translator": None,
    },
    {
        "Id": 201,
        "Title": "18-Bike-201",
        "Description": "201 Description",
        "BicycleType": "Road",
        "Brand": "Long Spoke",
        "Price": 100,
        "Gender": "M",
        "Color": {"Red", "Black"},
        "ProductCategory": "Bike",
    },
    {
        "Id": 202,
        "Title": "21-Bike-202",
        "Description": "202 Description",
        "BicycleType": "Road",
        "Brand": "Long Spoke",
        "Price": 200,
        "Gender": "M",
        "Color": {"Green", "Black"},
        "ProductCategory": "Bike",
    },
    {
        "Id": 203,
        "Title": "19-Bike-203",
        "Description": "203 Description",
        "BicycleType": "Road",
        "Brand": "Slow Wheel",
        "Price": 300,
        "Gender": "W",
        "Color": {"Red", "Green", "Black"},
        "ProductCategory": "Bike",
        "Sizes": {48, 52, 56},
    },
    {
        "Id": 204,
        "Title": "18-Bike-204",
        "Description": "204 Description",
        "BicycleType": "Mountain",
        "Brand": "Slow Wheel",
        "Price": Decimal("400.75"),
        "Gender": "W",
        "Color": {"Red"},
        "ProductCategory": "Bike",
        "Thumbnail": b"\x89PNG\r\n\x1a\n\x00\x01",
    },
    {
        "Id": 205,
        "Title": "20-Bike-205",
        "Description": "205 Description",
        "BicycleType": "Hybrid",
        "Brand": "Company C",
        "Price": 500,
        "Gender": "B",
        "Color": {"Red", "Black"},
        "ProductCategory": "Bike",
        "Safety": {"Recalled": False, "Tests": {"Brakes": Decimal("9.1"), "Lamp": Decimal("7.25")}},
    },
)

FORUMS: tuple[Plain, ...] = (
    {"Name": "Tables and items", "Category": "Databases", "Threads": 2, "Messages": 5, "Views": 1000},
    {"Name": "Buckets", "Category": "Storage", "Threads": 1, "Messages": 0, "Views": 0},
)

THREADS: tuple[Plain, ...] = (
    {
        "ForumName": "Tables and items",
        "Subject": "Thread 1: which key?",
        "Message": "My items have an order number and a customer. Which one partitions?",
        "LastPostedBy": "User A",
        "LastPostedDateTime": "2026-11-02T20:14:00.000Z",
        "Views": 14,
        "Replies": 3,
        "Answered": False,
        "Tags": {"key", "table", "design"},
    },
    {
        "ForumName": "Tables and items",
        "Subject": "Thread 2: empty strings",
        "Message": "",
        "LastPostedBy": "User A",
        "LastPostedDateTime": "2026-10-28T22:49:00.000Z",
        "Views": 3,
        "Replies": 2,
        "Answered": True,
        "Tags": {"string", "value"},
    },
    {
        "ForumName": "Buckets",
        "Subject": "Thread 1: is this the right forum?",
        "Message": "Probably not.",
        "LastPostedBy": "User B",
        "LastPostedDateTime": "2026-11-04T09:00:00.000Z",
        "Views": 0,
        "Replies": 0,
        "Answered": False,
        "Tags": {"question"},
    },
)

REPLIES: tuple[Plain, ...] = (
    {
        "Id": "Tables and items#Thread 1: which key?",
        "ReplyDateTime": "2026-10-30T08:15:00.000Z",
        "Message": "Who reads it, and by what?",
        "PostedBy": "User B",
    },
    {
        "Id": "Tables and items#Thread 1: which key?",
        "ReplyDateTime": "2026-10-31T19:30:10.500Z",
        "Message": "The customer's page lists her orders.",
        "PostedBy": "User A",
    },
    {
        "Id": "Tables and items#Thread 1: which key?",
        "ReplyDateTime": "2026-11-02T20:14:00.000Z",
        "Message": "Then the customer partitions, and the order sorts.",
        "PostedBy": "User B",
    },
    {
        "Id": "Tables and items#Thread 2: empty strings",
        "ReplyDateTime": "2026-10-27T11:00:00.000Z",
        "Message": "Allowed everywhere but in keys.",
        "PostedBy": "User A",
    },
    {
        "Id": "Tables and items#Thread 2: empty strings",
        "ReplyDateTime": "2026-10-28T22:49:00.000Z",
        "Message": "Allowed everywhere but in keys.",
        "PostedBy": "User A",
    },
)

ITEMS: dict[str, tuple[Plain, ...]] = {
    "ProductCatalog": PRODUCTS,
    "Forum": FORUMS,
    "Thread": THREADS,
    "Reply": REPLIES,
}
