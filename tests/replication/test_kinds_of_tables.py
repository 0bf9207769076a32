"""Replicas of encrypted tables and of tables with vector indexes; bulk operations beside replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faradisc.local import LocalDatabase
from fixtures.encrypted import SECRET, Keys, keys  # noqa: F401 - a fixture
from fixtures.regions import EU, TABLE, US, Regions
from fixtures.schemas import invalid, schema


@pytest.fixture
def sealed(keys: Keys) -> Iterator[Regions]:  # noqa: F811
    regions = Regions(keys=keys.path)
    yield regions
    regions.check()
    regions.local.close()


def sse(arn: str) -> dict[str, Any]:
    return {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn}}


def test_a_replica_has_a_key_of_its_own(sealed: Regions, keys: Keys) -> None:  # noqa: F811
    sealed.create(**sse(keys.first))
    sealed.put(US, "a", 1, s={"S": SECRET})
    sealed.update(sealed.us, Create={"RegionName": EU, "KMSMasterKeyId": keys.second})
    assert sealed.describe(US)["Replicas"][0]["KMSMasterKeyId"] == keys.second
    assert sealed.describe(EU)["SSEDescription"]["KMSMasterKeyArn"] == keys.second
    sealed.put(US, "b", 2, s={"S": SECRET})
    sealed.put(EU, "c", 3)
    sealed.delete(US, "a")
    assert sealed.items(US) == sealed.items(EU)
    assert sorted(sealed.items(EU)) == ["b", "c"]
    third = keys.create()
    sealed.update(sealed.us, Update={"RegionName": EU, "KMSMasterKeyId": third})
    assert sealed.describe(EU)["SSEDescription"]["KMSMasterKeyArn"] == third
    assert sealed.describe(US)["SSEDescription"]["KMSMasterKeyArn"] == keys.first


def test_a_replica_uses_the_managed_key_by_default(sealed: Regions, keys: Keys) -> None:  # noqa: F811
    sealed.create(SSESpecification={"Enabled": True})
    sealed.update(sealed.us, Create={"RegionName": EU})
    arns = [sealed.describe(region)["SSEDescription"]["KMSMasterKeyArn"] for region in (US, EU)]
    assert arns[0] == arns[1]


def test_all_replicas_have_keys_or_none_has(sealed: Regions, keys: Keys) -> None:  # noqa: F811
    sealed.create()
    with invalid(
        "One or more parameter values were invalid: "
        "KMSMasterKeyId cannot be specified for a replica of a table without a key of its own"
    ):
        sealed.update(sealed.us, Create={"RegionName": EU, "KMSMasterKeyId": keys.first})
    sealed.update(sealed.us, Create={"RegionName": EU})
    with invalid(
        "One or more parameter values were invalid: "
        "The encryption type of a Global Table replica cannot be changed"
    ):
        sealed.us.update_table(TableName=TABLE, **sse(keys.first))


def test_writes_wait_for_a_replica_without_its_key(sealed: Regions, keys: Keys) -> None:  # noqa: F811
    sealed.create(**sse(keys.first))
    sealed.update(sealed.us, Create={"RegionName": EU, "KMSMasterKeyId": keys.second})
    assert sealed.describe(EU)["TableStatus"] == "ACTIVE"
    keys.disable(keys.second)
    sealed.clock.advance(600)
    sealed.put(US, "a", 1)
    assert sealed.describe(EU)["TableStatus"] == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    sealed.put(US, "b", 2)
    keys.enable(keys.second)
    sealed.clock.advance(600)
    sealed.describe(EU)
    assert sorted(sealed.items(EU)) == ["a", "b"]


def test_a_key_that_does_not_exist_makes_no_replica(sealed: Regions, keys: Keys) -> None:  # noqa: F811
    sealed.create(**sse(keys.first))
    with pytest.raises(Exception, match="KMS"):
        sealed.update(sealed.us, Create={"RegionName": EU, "KMSMasterKeyId": "alias/none"})
    assert "Replicas" not in sealed.describe(US)


def vector_index(name: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "ALL"},
    }


def test_replicas_have_the_vector_indexes(regions: Regions) -> None:
    pytest.importorskip("numpy")
    regions.create(VectorIndexes=[vector_index("first")])
    regions.put(US, "a", 1, e={"L": [{"N": "1"}, {"N": "0"}]})
    regions.update(regions.us, Create={"RegionName": EU})
    regions.put(US, "b", 2, e={"L": [{"N": "0"}, {"N": "1"}]})

    def nearest(index: str, region: str = EU) -> list[str]:
        found = regions.clients[region].search_vectors(
            TableName=TABLE, IndexName=index, SearchVector=[{"N": "0"}, {"N": "1"}], TopK=2
        )
        return [each["Item"]["p"]["S"] for each in found["SearchResults"]]

    assert nearest("first") == ["b", "a"]
    regions.us.update_table(TableName=TABLE, VectorIndexUpdates=[{"Create": vector_index("second")}])
    regions.describe(EU)
    assert nearest("second") == ["b", "a"]
    regions.eu.update_table(TableName=TABLE, VectorIndexUpdates=[{"Delete": {"IndexName": "first"}}])
    assert [each["IndexName"] for each in regions.describe(US)["VectorIndexes"]] == ["second"]


def test_bulk_operations_and_replicas_exclude_each_other(
    regions: Regions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """new-features.md section 14."""
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "a.json").write_text('{"Item": {"p": {"S": "a"}}}\n')
    with LocalDatabase(region=US, regions=[US, EU], s3_root=tmp_path) as local:
        us = local.client()
        us.create_table(TableName=TABLE, **schema("p:S"))

        def start() -> Any:
            return us.start_bulk_put_items(
                TableName=TABLE,
                InputS3Configuration={"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"},
                OutputS3Configuration={"S3Bucket": "bucket", "OutputType": ["ERROR"]},
            )

        create: Callable[[], Any] = lambda: us.update_table(  # noqa: E731
            TableName=TABLE, ReplicaUpdates=[{"Create": {"RegionName": EU}}]
        )
        monkeypatch.setattr(local.database.backend.exchange, "step", _nothing)
        monkeypatch.setattr(local.database, "work", _nothing)
        start()
        with pytest.raises(Exception, match="A bulk operation of the table is in progress"):
            create()
        monkeypatch.undo()
        us.describe_table(TableName=TABLE)
        create()
        with invalid(f"Bulk operations are not supported for Global Tables: {TABLE}"):
            start()


async def _nothing() -> bool:
    return False
