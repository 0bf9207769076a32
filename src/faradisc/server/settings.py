"""Every setting of `faradisc serve`.

The command line, the environment variables, the banner and the reference pages are generated from the fields
of `ServerSettings`. A setting named `data_dir` is `--data-dir` on the command line
and `FARADISC_DATA_DIR` in the environment; the command line wins.
"""

from __future__ import annotations

import re
from math import inf

from faradisc.addresses import http_address
from faradisc.engine.tables.late import check_lags, parse_lags
from faradisc.engine.throughput.settings import parse_throughput
from faradisc.limits import TTL_DELAY_S
from faradisc.records import dataclass, fields
from faradisc.server.data_place import DATA_DIR, DataPlace
from faradisc.server.setting import (
    CLOCK,
    COMMON,
    EMULATION,
    FILES,
    LOGS,
    PAGES,
    REGIONS,
    SECURITY,
    SERVERS,
    THROUGHPUT,
    Setting,
    SettingsError,
    setting,
)

SETTINGS_VARIABLE = "FARADISC_OF_PARENT"
"""The settings of one server of --processes, as JSON; its command line would show them to everybody."""
LOG_LEVELS = ("error", "warning", "info", "debug")
PORT_MAX = 65_535
CACHE_MB_MAX = 1_048_576
TIME_SCALE_MAX = 86_400
SECONDS_MAX = 3_155_760_000
LAG_MS_MAX = 86_400_000
REGION = r"[a-z][a-z0-9-]{0,62}"
PROCESSES_MAX = 256
COPY_LAG_MAX_S = 3600
COPY_LEASE_MIN_S = 1


@dataclass(frozen=True, slots=True)
class ServerSettings:
    host: str = setting("127.0.0.1", "Address or name to listen on.", COMMON)
    port: int = setting(8000, "Port to listen on; 0 takes any free one.", COMMON)
    port_file: str = setting("", "File to write the port to, once the server is ready.", FILES)
    data_dir: str = setting(
        DATA_DIR,
        "Directory that holds the data, or with --store only backups, buckets and logs; created if missing.",
        COMMON,
    )
    store: str = setting(
        "",
        "PostgreSQL that holds the data of any number of servers: postgresql://..., or a private one: "
        "postgres:DIRECTORY. Tables are spread over several addresses, or those in the lines of a file.",
        COMMON,
    )
    places: int = setting(
        1, "Private PostgreSQLs that --store postgres:DIRECTORY spreads the tables over.", SERVERS
    )
    processes: int = setting(
        1,
        "Servers to run on this port, one for each core; with --store. They are started again when they die.",
        SERVERS,
    )
    memory: bool = setting(False, "Keep all data in memory; it is lost when the process ends.", COMMON)
    cache_mb: int = setting(
        64, "Megabytes of blocks of tables that the store keeps in memory; with a data directory.", FILES
    )
    region: str = setting("us-east-1", "Region of requests that name none, and of the banner.", COMMON)
    account: str = setting("000000000000", "Account number in ARNs, 12 digits.", REGIONS)
    per_region: bool = setting(False, "Keep the tables of each region apart, as the service does.", REGIONS)
    regions: str = setting(
        "",
        "The regions that exist, with commas, each with its own tables, for replicas of global tables: "
        "us-east-1,eu-west-1. Without it any region does under --per-region.",
        REGIONS,
    )
    peer: str = setting(
        "",
        "Server of another region, for replicas there: eu-west-1=https://host:8000. Repeatable.",
        REGIONS,
        repeatable=True,
    )
    replication_lag_ms: float = setting(
        0.0,
        "Mean time that a write takes to another replica of its global table, in milliseconds.",
        EMULATION,
    )
    replication_seed: int = setting(
        0, "Seed of these times: the same number gives the same sequence.", EMULATION
    )
    eventual_lag_ms: float = setting(
        0.0,
        "Longest time that eventually consistent reads, and all reads of global indexes, are late, in "
        "milliseconds; GetRecords is by exactly this.",
        EMULATION,
    )
    eventual_lag_tables: str = setting("", "Other lags of single tables: Orders=500,Logs=0.", EMULATION)
    eventual_lag_seed: int = setting(
        0, "Seed of how late each read is: the same number gives the same sequence.", EMULATION
    )
    faults: str = setting(
        "", "JSON file of errors, throttles, lost and slow answers, to test what programs do then.", EMULATION
    )
    size_interval_s: float = setting(
        0.0,
        "Seconds between two counts of ItemCount and sizes in descriptions of tables, 21600 as in the "
        "service; 0 keeps them current.",
        EMULATION,
    )
    collection_bytes_max: int = setting(
        10 << 30, "Largest item collection of tables with local indexes; the service has 10 GB.", EMULATION
    )
    transition_ms: int = setting(5, "Milliseconds a table stays CREATING, UPDATING or DELETING.", EMULATION)
    ttl_delay_s: float = setting(
        TTL_DELAY_S, "Seconds an item outlives its time to live; the service takes minutes to days.", CLOCK
    )
    shard_lifetime_s: float = setting(
        14_400.0, "Seconds after which the open shards of a stream close and their children open.", EMULATION
    )
    conflict_rate: float = setting(
        0.0, "Share of writes and transactions to reject with a conflict, 0 to 1, to test retries.", EMULATION
    )
    conflict_seed: int = setting(
        0, "Seed of the conflicts: the same number gives the same sequence.", EMULATION
    )
    throughput: str = setting(
        "off",
        "Capacity profile to enforce: aws, documented, pessimistic, classic-2017 or off; aws:30/10/64MB for "
        "partitions of 30 read and 10 write units and 64 MB. Units are counted in any case.",
        COMMON,
    )
    throughput_tables: str = setting(
        "", "Other profiles for single tables: Orders=aws:30/10,Logs=off.", THROUGHPUT
    )
    describe_lag_ms: int = setting(
        0, "Milliseconds in which DescribeTable does not find a new table; the service reads late.", EMULATION
    )
    restorable_lag_s: float = setting(
        0.0,
        "How far the latest moment that a table can be restored to is behind the clock, in seconds.",
        EMULATION,
    )
    auth: str = setting("lenient", "lenient accepts any well-formed signature, strict verifies each.", COMMON)
    tls_cert: str = setting(
        "", "PEM file of the server's certificate: serve TLS only; SIGHUP reads these files again.", SECURITY
    )
    tls_key: str = setting("", "PEM file of the certificate's private key.", SECURITY)
    tls_client_ca: str = setting(
        "", "PEM file of authorities: accept only clients with a certificate of one of them.", SECURITY
    )
    console: bool = setting(
        False, "Serve the web console too, on a port of its own (extra `console`).", COMMON
    )
    console_port: int = setting(
        8008, "Port of the console, on this machine only; 0 takes any free one.", PAGES
    )
    cors: str = setting(
        "",
        "Origins whose pages may use a server that does not verify signatures, with commas; * for any.",
        SECURITY,
    )
    kinesis_endpoint_url: str = setting(
        "", "Kinesis endpoint that tables' Kinesis destinations deliver to.", FILES
    )
    alarm_webhook: str = setting(
        "", "URL that alarms post to, as SNS would, when an action of theirs names a topic.", FILES
    )
    s3_root: str = setting(
        "",
        "Directory whose subdirectories are the buckets of exports and imports; s3 in the data directory.",
        FILES,
    )
    s3_endpoint: str = setting(
        "", "S3 endpoint, or `aws` for Amazon's, whose buckets replace the directories.", FILES
    )
    backup_bucket: str = setting(
        "",
        "Bucket of --s3-endpoint that holds the backups, or bucket/prefix; else the data directory does.",
        FILES,
    )
    copy_to: str = setting(
        "",
        "Copy the data continuously to s3://bucket/prefix (at --s3-endpoint, or Amazon's), or a directory.",
        FILES,
    )
    copy_lag: float = setting(1.0, "Seconds after which what is acknowledged is in the copy.", FILES)
    copy_sync: bool = setting(False, "Answer a write when it is in the copy too.", FILES)
    copy_keep: str = setting("7d", "How far back the copy can be restored: 7d, 12h, 90m.", FILES)
    copy_lease: float = setting(
        10.0,
        "Seconds after which a server that a standby waits for answers nothing, while it cannot reach the "
        "copy; only then may the standby take over. 0: it always answers, and is to be stopped first.",
        FILES,
    )
    copy_takeover: bool = setting(
        False,
        "As a standby, take over when the lease has ended, without `faradisc promote`.",
        FILES,
    )
    follow: str = setting(
        "",
        "Be a standby of the server that copies to this place, or of http://server:8000 that has --copy-to: "
        "read only, until promoted.",
        FILES,
    )
    seed: str = setting(
        "",
        "Directory of table definitions and items to create before the server is ready; see `faradisc seed`.",
        FILES,
    )
    credentials_file: str = setting(
        "", "Access keys for --auth strict, made by `faradisc credentials add`.", COMMON
    )
    keys: str = setting("", "Master keys of encrypted tables: a file made by `faradisc keys create`.", FILES)
    kms_endpoint: str = setting(
        "", "KMS endpoint, or `aws` for Amazon's, whose master keys replace those of a file.", FILES
    )
    log_level: str = setting("warning", "What is logged: error, warning, info or debug.", LOGS)
    log_format: str = setting("text", "Lines of the log: text, or json for one object on each.", LOGS)
    slow_ms: float = setting(
        0.0, "Log a request that the database worked on for longer, in milliseconds; 0 for none.", LOGS
    )
    otlp: str = setting("", "OpenTelemetry collector to send spans to, such as http://127.0.0.1:4318.", LOGS)
    audit_log: str = setting("", "File to append an event to for each request, in CloudTrail's shape.", LOGS)
    rate_limit: float = setting(
        0.0, "Requests per second of one user, session or access key; 0 for any.", SECURITY
    )
    rate_limit_address: float = setting(0.0, "Requests per second from one address; 0 for any.", SECURITY)
    record_trace: str = setting("", "File to record the traffic in, for `faradisc plan --trace`.", LOGS)
    trace_keys: str = setting(
        "readable",
        "Keys in a recorded trace: readable, or hashed; those of encrypted tables always are.",
        LOGS,
    )
    admin: str = setting(
        "auto",
        "Serve /_faradisc and /metrics: on, off, or auto: on addresses that only this machine reaches; "
        "unsigned: like auto, and without signatures under --auth strict.",
        SECURITY,
    )
    virtual_clock: bool = setting(
        False,
        "Stop the clock; only POST /_faradisc/clock moves it, so that a test passes a day in a call.",
        CLOCK,
    )
    time_scale: float = setting(1.0, "Speed of the database's clock, as a multiple of the machine's.", CLOCK)
    trust_network: bool = setting(
        False, "Listen beyond this machine without TLS, or without verified signatures.", SECURITY
    )

    def __post_init__(self) -> None:
        """Raises SettingsError."""
        if not 0 <= self.port <= PORT_MAX:
            raise SettingsError(f"The port {self.port} is not between 0 and {PORT_MAX}.")
        if self.log_level not in LOG_LEVELS:
            raise SettingsError(f"The log level is {', '.join(LOG_LEVELS)}, not {self.log_level!r}.")
        if self.log_format not in ("text", "json"):
            raise SettingsError(f"The log's format is text or json, not {self.log_format!r}.")
        if not 0 <= self.slow_ms <= SECONDS_MAX * 1000:
            raise SettingsError("A slow request takes some milliseconds; 0 logs none.")
        if self.trace_keys not in ("readable", "hashed"):
            raise SettingsError(f"--trace-keys is readable or hashed, not {self.trace_keys!r}.")
        if not 1 <= self.cache_mb <= CACHE_MB_MAX:
            raise SettingsError(f"The cache has from 1 to {CACHE_MB_MAX:,} MB.")
        if not re.fullmatch(r"[0-9]{12}", self.account):
            raise SettingsError(f"The account {self.account!r} is not a number of 12 digits.")
        if not re.fullmatch(REGION, self.region):
            raise SettingsError(f"The region {self.region!r} is not a region's name, such as us-east-1.")
        regions = list(filter(None, map(str.strip, self.regions.split(","))))
        for region in regions:
            if not re.fullmatch(REGION, region):
                raise SettingsError(f"{region!r} in --regions is not a region's name, such as us-east-1.")
        if regions and self.region not in regions:
            raise SettingsError(f"--regions names the regions that exist; {self.region} is not one of them.")
        if self.peer:
            self._check_peers(regions)
        if not 0 <= self.replication_lag_ms <= LAG_MS_MAX:
            raise SettingsError(f"The lag of replication is between 0 and {LAG_MS_MAX:,} ms, a day.")
        try:
            check_lags(self.eventual_lag_ms, parse_lags(self.eventual_lag_tables))
        except ValueError as mistake:
            raise SettingsError(f"Late reads cannot be set so: {mistake}.") from mistake
        if not self.size_interval_s >= 0:
            raise SettingsError("The interval of counts cannot be negative; 0 keeps them current.")
        if self.collection_bytes_max < 1:
            raise SettingsError("The largest item collection is at least 1 byte.")
        if self.transition_ms < 0:
            raise SettingsError("The transition time cannot be negative; 0 makes every change immediate.")
        if self.describe_lag_ms < 0:
            raise SettingsError("The lag of descriptions cannot be negative.")
        if not self.ttl_delay_s >= 0:
            raise SettingsError("The delay of time to live cannot be negative; 0 deletes items at once.")
        if not self.shard_lifetime_s > 0:
            raise SettingsError("The lifetime of a shard must be more than 0 seconds.")
        if not self.restorable_lag_s >= 0:
            raise SettingsError("The lag of point-in-time recovery cannot be negative.")
        if (
            max(self.ttl_delay_s, self.shard_lifetime_s, self.restorable_lag_s, self.size_interval_s)
            > SECONDS_MAX
        ):
            raise SettingsError(f"Delays and lifetimes are at most {SECONDS_MAX:,} seconds, a hundred years.")
        if not 0 <= self.conflict_rate <= 1:
            raise SettingsError(f"The conflict rate {self.conflict_rate} is not between 0 and 1.")
        try:
            parse_throughput(self.throughput, self.throughput_tables)
        except ValueError as mistake:
            raise SettingsError(f"The throughput cannot be used: {mistake}.") from mistake
        for origin in filter(None, map(str.strip, self.cors.split(","))):
            if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin, re.IGNORECASE):
                raise SettingsError(f"{origin!r} is not an origin, such as https://app.example or *.")
        if self.admin not in ("auto", "on", "off", "unsigned"):
            raise SettingsError(f"Administration is auto, on, off or unsigned, not {self.admin!r}.")
        if not 0 < self.time_scale <= TIME_SCALE_MAX:
            raise SettingsError(
                f"The time scale must be more than 0, and at most {TIME_SCALE_MAX:,}: a day a second."
            )
        if self.virtual_clock and self.time_scale != 1:
            raise SettingsError(
                "A virtual clock stands still: --virtual-clock and --time-scale exclude each other."
            )
        if self.auth not in ("lenient", "strict"):
            raise SettingsError(f"Authentication is lenient or strict, not {self.auth!r}.")
        if (self.auth == "strict") != bool(self.credentials_file):
            raise SettingsError("--auth strict and --credentials-file need each other; give both or neither.")
        if bool(self.tls_cert) != bool(self.tls_key):
            raise SettingsError("--tls-cert and --tls-key need each other; give both or neither.")
        if self.tls_client_ca and not self.tls_cert:
            raise SettingsError("--tls-client-ca needs TLS: give --tls-cert and --tls-key too.")
        if self.kms_endpoint not in ("", "aws"):
            _check_address("KMS", self.kms_endpoint)
        if self.keys and self.kms_endpoint:
            raise SettingsError("Master keys are a file's or an endpoint's: give --keys or --kms-endpoint.")
        if not (0 <= self.rate_limit < inf and 0 <= self.rate_limit_address < inf):
            raise SettingsError("Rate limits are numbers of requests per second; 0 for none.")
        if self.kinesis_endpoint_url:
            _check_address("Kinesis", self.kinesis_endpoint_url)
        if self.alarm_webhook:
            _check_address("alarms'", self.alarm_webhook)
        if self.s3_endpoint not in ("", "aws"):
            _check_address("S3", self.s3_endpoint)
        if self.s3_endpoint and self.s3_root:
            raise SettingsError("Buckets are directories or an endpoint's: give --s3-root or --s3-endpoint.")
        if self.backup_bucket and not self.s3_endpoint:
            raise SettingsError("--backup-bucket is a bucket of an S3 endpoint: give --s3-endpoint too.")
        if self.copy_to or self.follow or self.copy_takeover:
            self._check_copy()
        if not 1 <= self.processes <= PROCESSES_MAX:
            raise SettingsError(f"--processes is a number from 1 to {PROCESSES_MAX}.")
        if self.processes > 1 and (not self.store or self.record_trace):
            raise SettingsError("--processes needs --store, and excludes --record-trace.")
        self.where.check()
        if self.store and (self.virtual_clock or self.time_scale != 1):
            raise SettingsError(
                "Servers with --store follow the machine's clock: --virtual-clock and --time-scale need "
                "a data directory or --memory."
            )

    @property
    def peers(self) -> dict[str, str]:
        """The addresses of other regions' servers, by region."""
        return {region: url for region, _, url in (each.partition("=") for each in self.peer.split())}

    def _check_peers(self, regions: list[str]) -> None:
        """Raises SettingsError."""
        if not regions:
            raise SettingsError("--peer needs --regions, which names the regions of this server.")
        if len(self.peers) < len(self.peer.split()):
            raise SettingsError("--peer names each region once.")
        for region, url in self.peers.items():
            if not re.fullmatch(REGION, region):
                raise SettingsError(f"--peer is REGION=URL, and {region!r} is not a region's name.")
            if region in regions:
                raise SettingsError(f"{region} is a region of this server: --peer names those of others.")
            _check_address("peer's", url)
        if self.follow:
            raise SettingsError("A standby has the data of another server: --peer excludes --follow.")
        if self.virtual_clock or self.time_scale != 1:
            raise SettingsError(
                "The last writer is found by time: --peer excludes --virtual-clock and --time-scale."
            )

    def _check_copy(self) -> None:
        """Raises SettingsError."""
        if self.memory or self.store:
            raise SettingsError("A continuous copy is of a data directory: it excludes --memory and --store.")
        of_server = self.follow.startswith(("http://", "https://"))
        if self.copy_to and self.follow and not of_server:
            raise SettingsError("A server copies or follows: give --copy-to or --follow.")
        if self.copy_takeover and (of_server or not self.follow):
            raise SettingsError("--copy-takeover is for a standby that follows a bucket or a directory.")
        if self.virtual_clock or self.time_scale != 1:
            raise SettingsError(
                "A continuous copy needs the machine's clock: no --virtual-clock, no --time-scale."
            )
        if not 0 < self.copy_lag <= COPY_LAG_MAX_S:
            raise SettingsError(f"--copy-lag is more than 0 seconds and at most {COPY_LAG_MAX_S:,}.")
        if self.copy_lease and not COPY_LEASE_MIN_S <= self.copy_lease <= COPY_LAG_MAX_S:
            raise SettingsError(
                f"--copy-lease is 0, or from {COPY_LEASE_MIN_S} to {COPY_LAG_MAX_S:,} seconds."
            )

    @property
    def copies(self) -> bool:
        """Whether the store is copied, or follows a copy."""
        return bool(self.copy_to or self.follow)

    @property
    def regions_apart(self) -> bool:
        """Whether each region has tables of its own."""
        return self.per_region or bool(self.regions)

    @property
    def where(self) -> DataPlace:
        """Where the data is."""
        return DataPlace(self.store, self.places, self.data_dir, self.memory)


_KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}

SETTINGS: tuple[Setting, ...] = tuple(
    Setting(each.name, _KINDS[str(each.type)], each.default, **each.metadata)
    for each in fields(ServerSettings)
)


def _check_address(whose: str, endpoint: str) -> None:
    try:
        http_address(endpoint)
    except ValueError as error:
        raise SettingsError(f"The {whose} endpoint {error}.") from None
