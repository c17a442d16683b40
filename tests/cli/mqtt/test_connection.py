"""Ways to reach a server: addresses, credentials, TLS, Unix sockets."""

import datetime
import ipaddress
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Authority:
    """A certificate authority that lives as long as a test."""

    def __init__(self, folder):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test authority")])
        self.file = self._write("ca", self._certificate(self._name, self._key, x509.BasicConstraints(True, None)))[0]

    def certify(self, name, address):
        """A certificate and key for this name and IP address, as files."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        return self._write(name, self._certificate(subject, key, host), key)

    def _certificate(self, subject, key, extension):
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=1))
        return builder.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())

    def _write(self, name, certificate, key=None):
        pem = serialization.Encoding.PEM
        cert_file, key_file = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        cert_file.write_bytes(certificate.public_bytes(pem))
        if key is not None:
            plain = serialization.NoEncryption()
            key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        return str(cert_file), str(key_file)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def _tls(authority, address="127.0.0.1", *more):
    cert, key = authority.certify("server", address)
    return [f"cafile {authority.file}", f"certfile {cert}", f"keyfile {key}", *more]


def _says_hello(broker, *options, address=None):
    """Publish a retained message, then read it back."""
    status, _, errors = broker.helio("pub", "-t", "hello", "-m", "there", "-r", "-q", "1", *options, address=address)
    assert (status, errors) == (0, "")
    return broker.helio("sub", "-t", "hello", "-C", "1", *options, address=address) == (0, b"there\n", "")


def test_a_unix_socket(broker):
    assert _says_hello(broker, "--unix", str(broker.unix))


def test_a_unix_socket_that_does_not_exist(broker, tmp_path):
    missing = str(tmp_path / "missing.sock")
    status, _, errors = broker.helio("sub", "-t", "a", "--unix", missing)
    assert (status, errors) == (1, f"helio sub: cannot connect to {missing}: there is no {missing}\n")


def test_a_url(broker):
    url = f"mqtt://127.0.0.1:{broker.port}/to%20here"
    subscriber = broker.start_subscribed("-L", url, "-C", "1", "-v", address=["-k", "9"])
    assert broker.helio("pub", "-L", url, "-m", "x", address=["-k", "9"])[0] == 0
    assert subscriber.end()[1] == b"to here x\n"


def test_credentials(start_broker, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.touch()
    broker = start_broker("allow_anonymous false", f"password_file {_with_user(passwords, 'me', 's3 cret')}")
    assert _says_hello(broker, "-u", "me", "-P", "s3 cret")
    url = f"mqtt://me:s3%20cret@127.0.0.1:{broker.port}/hello"
    assert broker.helio("sub", "-L", url, "-C", "1", address=["-k", "9"])[1] == b"there\n"


def _with_user(passwords, name, password):
    subprocess.run(["mosquitto_passwd", "-b", passwords, name, password], check=True, stderr=subprocess.DEVNULL)
    return passwords


@pytest.mark.parametrize(
    ("version", "text"), [("311", "not authorized (return code 5)"), ("5", "not authorized (0x87)")]
)
def test_no_credentials(start_broker, version, text):
    broker = start_broker("allow_anonymous false")
    status, _, errors = broker.helio("sub", "-V", version, "-t", "a")
    assert (status, errors) == (1, f"helio sub: connection refused: {text}\n")


def test_tls(start_broker, authority):
    broker = start_broker(listener=_tls(authority))
    assert _says_hello(broker, "--cafile", authority.file)


def test_tls_with_many_messages(start_broker, authority):
    broker = start_broker("max_queued_messages 0", listener=_tls(authority))
    lines = b"".join(b"line %d\n" % number for number in range(5000))
    subscriber = broker.start_subscribed("--cafile", authority.file, "-q", "1", "-t", "a", "-C", "5000")
    publisher = broker.start_helio("pub", "--cafile", authority.file, "-q", "1", "-t", "a", "-l")
    publisher.say(lines)
    assert publisher.end()[0] == 0
    assert subscriber.end()[1] == lines


def test_tls_with_a_client_certificate(start_broker, authority):
    broker = start_broker(listener=_tls(authority, "127.0.0.1", "require_certificate true"))
    cert, key = authority.certify("client", "127.0.0.1")
    assert _says_hello(broker, "--cafile", authority.file, "--cert", cert, "--key", key)


def test_tls_with_a_certificate_that_nobody_vouches_for(start_broker, authority):
    broker = start_broker(listener=_tls(authority))
    url = f"mqtts://127.0.0.1:{broker.port}/a"
    status, _, errors = broker.helio("sub", "-L", url, address=["-k", "9"])
    assert status == 1
    assert "certificate not accepted" in errors


def test_tls_with_a_certificate_for_another_host(start_broker, authority):
    broker = start_broker(listener=_tls(authority, "10.0.0.1"))
    status, _, errors = broker.helio("sub", "--cafile", authority.file, "-t", "a")
    assert status == 1
    assert "certificate not accepted: IP address mismatch" in errors
    assert _says_hello(broker, "--cafile", authority.file, "--insecure")
