"""`faradisc tls self-signed`: a certificate for a laptop or a test."""

from __future__ import annotations

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from faradisc.cli.failing import fail
from faradisc.clock import SystemClock

DAYS = 397
"""Longest lifetime of a server's certificate that clients on macOS accept."""
HOSTS = ("localhost", "127.0.0.1", "::1")


@click.group()
def tls() -> None:
    """Make certificates for `faradisc serve --tls-cert`."""


@tls.command(name="self-signed")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--host", "hosts", multiple=True, help="Further name or address of the server; repeatable.")
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=DAYS,
    show_default=True,
    help="Lifetime of the certificate.",
)
def self_signed(directory: Path, hosts: tuple[str, ...], days: int) -> None:
    """Write cert.pem and key.pem to DIRECTORY, for localhost, 127.0.0.1, ::1 and each --host.

    boto3 and the AWS CLI trust it with AWS_CA_BUNDLE=DIRECTORY/cert.pem.
    """
    now = datetime.fromtimestamp(SystemClock().now_ns() // 1_000_000_000, UTC)
    for host in hosts:
        if not host.isascii() or not host:
            fail(f"{host!r} is neither an address nor a name in ASCII.", 2)
    certificate, key = make(dict.fromkeys((*HOSTS, *hosts)), now, days)
    paths = (directory / "cert.pem", directory / "key.pem")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, (certificate, key), strict=True):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
    except FileExistsError as error:
        fail(f"{error.filename} exists; give another directory, or remove cert.pem and key.pem there.")
    except OSError as error:
        fail(f"{error.filename} cannot be written ({error.strerror or error}).")
    click.echo("\n".join(map(str, paths)))


def make(hosts: dict[str, None], now: datetime, days: int) -> tuple[bytes, bytes]:
    """Returns a certificate and its key, in PEM."""
    from cryptography import x509  # noqa: PLC0415 - slow to import
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Faradisc")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                **dict.fromkeys(
                    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
                ),
                crl_sign=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
