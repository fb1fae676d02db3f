"""URLs that must lead nowhere. `{port}` is a port at which canaries listen on every loopback address."""

from __future__ import annotations


def _links(text: str) -> list[str]:
    return text.split()


OUTER = "93.184.216.34"
"""The address of every host of the corpus that looks harmless; a test server represents it."""

LITERALS = _links("""
http://127.0.0.1:{port}/ http://127.0.0.1/ https://127.0.0.1:{port}/ http://127.0.0.2:{port}/
http://127.0.0.53:{port}/ http://127.1.2.3:{port}/ http://127.255.255.254:{port}/ http://127.0.0.1.:{port}/
http://127.1:{port}/ http://127.0.1:{port}/ http://127.1.:{port}/ http://127.0.0.01:{port}/
http://127.000.000.001:{port}/ http://0177.0.0.1:{port}/ http://0177.1:{port}/ http://017700000001:{port}/
http://0177.0.0.01:{port}/ http://0x7f.0.0.1:{port}/ http://0x7f.1:{port}/ http://0x7f000001:{port}/
http://0X7F000001:{port}/ http://0x7f.0x0.0x0.0x1:{port}/ http://2130706433:{port}/ http://2130706433.:{port}/
http://02130706433:{port}/ http://4294967295:{port}/ http://6425673729:{port}/ http://00000000177.0.0.1:{port}/
http://127.0x0.0.1:{port}/ http://127.0.0.1.0x:{port}/ http://0x:{port}/ http://0:{port}/ http://0.0.0.0:{port}/
http://0.0.0.0.:{port}/ http://0.1.2.3:{port}/ http://256.0.0.1:{port}/ http://127.0.0.1.1:{port}/
http://127.0.0:{port}/ http://①②⑦.⓪.⓪.①:{port}/ http://１２７.０.０.１:{port}/ http://127。0。0。1:{port}/
http://127．0．0．1:{port}/ http://𝟏𝟐𝟕.𝟎.𝟎.𝟏:{port}/ http://127.0.0.١:{port}/ http://٢١٣٠٧٠٦٤٣٣:{port}/
http://０x7f000001:{port}/ http://10.0.0.1/ http://10.255.255.255/ http://172.16.0.1/ http://172.31.255.255/
http://192.168.0.1/ http://192.168.255.255/ http://100.64.0.1/ http://100.100.100.200/latest/meta-data/
http://169.254.169.254/latest/ http://169.254.170.2/v2/credentials http://2852039166/latest/ http://0xa9fea9fe/
http://0251.0376.0251.0376/ http://169.16689662/ http://168.63.129.16/metadata http://192.0.0.192/ http://192.0.2.1/
http://198.18.0.1/ http://198.51.100.1/ http://203.0.113.1/ http://192.88.99.1/ http://224.0.0.1/
http://239.255.255.250/ http://240.0.0.1/ http://255.255.255.255/ http://8.8.8.8.8/ http://010.010.010.010/
http://0x08.8.8.8/ http://134744072/ http://[::1]:{port}/ http://[::]:{port}/ http://[0:0:0:0:0:0:0:1]:{port}/
http://[0000::0001]:{port}/ http://[::127.0.0.1]:{port}/ http://[::7f00:1]:{port}/ http://[::ffff:127.0.0.1]:{port}/
http://[::ffff:7f00:1]:{port}/ http://[0:0:0:0:0:ffff:7f00:0001]:{port}/ http://[::FFFF:127.0.0.1]:{port}/
http://[::ffff:0:7f00:1]:{port}/ http://[::ffff:a9fe:a9fe]/ http://[::ffff:10.0.0.1]/ http://[64:ff9b::7f00:1]:{port}/
http://[64:ff9b::127.0.0.1]:{port}/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::7f00:1]:{port}/
http://[64:ff9b:1:7f00:0:100::]:{port}/ http://[2002:7f00:1::]:{port}/ http://[2002:7f00:0001::1]:{port}/
http://[2002:a9fe:a9fe::]/ http://[2001:0:7f00:1::]:{port}/ http://[2001::80ff:fffe]:{port}/
http://[2606:4700::5efe:7f00:1]:{port}/ http://[2606:4700::200:5efe:7f00:1]:{port}/ http://[fe80::1]:{port}/
http://[fe80::1%lo]:{port}/ http://[fe80::1%25lo]:{port}/ http://[::1%25lo]:{port}/ http://[::1%lo]:{port}/
http://[fe80::5efe:127.0.0.1]:{port}/ http://[fc00::1]/ http://[fd00:ec2::254]/latest/ http://[fec0::1]/
http://[ff02::1]/ http://[ff05::1:3]/ http://[100::1]/ http://[2001:db8::1]/ http://[3fff::1]/ http://[2001:2::1]/
http://[2001:10::1]/ http://[5f00::1]/ http://[3ffe::1]/ http://[::1.]:{port}/ http://[127.0.0.1]:{port}/
http://[localhost]:{port}/ http://[::1:{port}/ http://::1:{port}/ http://[v1.x]:{port}/ http://[::1]]:{port}/
http://[[::1]]:{port}/
""")

NAMES = _links("""
http://localhost:{port}/ http://LOCALHOST:{port}/ http://localhost.:{port}/ http://a.localhost:{port}/
http://ｌｏｃａｌｈｏｓｔ:{port}/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/ http://loc%61lhost:{port}/ http://lo\u00adcalhost:{port}/
http://localhost%00.example.com:{port}/ http://127%2e0%2e0%2e1:{port}/ http://%31%32%37.0.0.1:{port}/
http://127.0.0.1%00.example.com:{port}/ http://127.0.0.1%2f.example.com:{port}/
http://127.0.0.1%23.example.com:{port}/ http://kubernetes/ http://metadata/computeMetadata/v1/
http://ip6-localhost:{port}/ http://ip6-loopback:{port}/ http://.localhost:{port}/ http://localhost..:{port}/
http://*:{port}/ http://-:{port}/
""")

TRICKS = [
    "http://good.example.com@127.0.0.1:{port}/",
    "http://good.example.com:80@127.0.0.1:{port}/",
    "http://good.example.com:pass@127.0.0.1:{port}/",
    "http://user:pass@good.example.com/",
    "http://127.0.0.1:{port}@good.example.com/",
    "http://@127.0.0.1:{port}/",
    "http://:@127.0.0.1:{port}/",
    "http://a@b@127.0.0.1:{port}/",
    "http://good.example.com%40127.0.0.1:{port}/",
    "http://good.example.com&@127.0.0.1:{port}#@other.example.com/",
    "http://127.0.0.1:{port}\\@good.example.com/",
    "http://good.example.com\\@127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http:/\\127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#.good.example.com/",
    "http://127.0.0.1:{port}?.good.example.com/",
    "http://127.0.0.1:{port};.good.example.com/",
    "http://127.0.0.1 .good.example.com:{port}/",
    " http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/ ",
    "\thttp://127.0.0.1:{port}/",
    "ht\ntp://127.0.0.1:{port}/",
    "http://127.0.\n0.1:{port}/",
    "http://127.0.0.1\t:{port}/",
    "http://127.0.0.1\x00:{port}/",
    "http://127.0.0.1\u200b:{port}/",
    "http://127\u200d.0.0.1:{port}/",
    "http://\ufeff127.0.0.1:{port}/",
    "http://127.0.0.1\u2060:{port}/",
    "http://\u202e1.0.0.721:{port}/",
    "http://good.example.com\u2044@127.0.0.1:{port}/",
    "http://good.example.com\uff0f@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/\r\nHost: good.example.com",
    "http://good.example.com/\r\nX-Evil: 1",
    "http://good.example.com/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "http://good.example.com:{port}\r\n/",
    "http://good.example.com\r\nSLAVEOF 127.0.0.1 {port}\r\n:6379/",
    "http://127.0.0.1:{port},good.example.com/",
    "http://good.example.com,127.0.0.1:{port}/",
    "http://good.example.com:{port}:80/",
    "http://good.example.com: {port}/",
    "http://good.example.com:+80/",
    "http://good.example.com:0x50/",
    "http://good.example.com:99999/",
    "http://good.example.com:0/",
    "http://exa℀mple.example.com@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\ud800/",
]

SCHEMES = _links("""
file:///etc/passwd file://127.0.0.1:{port}/etc/passwd file:/etc/passwd ftp://127.0.0.1:{port}/
ftps://127.0.0.1:{port}/ sftp://127.0.0.1:{port}/ tftp://127.0.0.1:{port}/ gopher://127.0.0.1:{port}/_INFO
dict://127.0.0.1:{port}/info ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{port}/ data:text/xml,<a/>
data://127.0.0.1:{port}/ javascript:alert(1) javascript://127.0.0.1:{port}/%0aalert(1) vbscript:x
unix:///var/run/docker.sock http+unix://%2Fvar%2Frun%2Fdocker.sock/ unix://127.0.0.1:{port}/
jar:http://127.0.0.1:{port}/!/ view-source:http://127.0.0.1:{port}/ blob:http://127.0.0.1:{port}/ about:blank
netdoc:///etc/passwd phar://127.0.0.1:{port}/ php://filter/x expect://id ws://127.0.0.1:{port}/
wss://127.0.0.1:{port}/ smb://127.0.0.1:{port}/ telnet://127.0.0.1:{port}/ ssh://127.0.0.1:{port}/ urn:x:y
mailto:a@b.c httpx://127.0.0.1:{port}/ https+http://127.0.0.1:{port}/ ://127.0.0.1:{port}/ http http: http://
""")

PORTS = [
    f"http://good.example.com:{port}/"
    for port in (1, 7, 9, 21, 22, 23, 25, 53, 110, 111, 135, 139, 389, 445, 465, 512, 587, 631, 873, 993, 1023, 1433,
                 1521, 2049, 2181, 2375, 2376, 2379, 3128, 3306, 3389, 5432, 5672, 5900, 6000, 6379, 6443, 6667, 8500,
                 9042, 9092, 9200, 9300, 10250, 11211, 15672, 26379, 27017, 50000)
]  # fmt: skip

RESOLVES_TO = {
    "loopback": ["127.0.0.1"],
    "loopback-2": ["127.0.0.2"],
    "loopback-53": ["127.0.0.53"],
    "loopback-6": ["::1"],
    "unspecified": ["0.0.0.0"],
    "unspecified-6": ["::"],
    "private-10": ["10.1.2.3"],
    "private-172": ["172.20.0.1"],
    "private-192": ["192.168.1.1"],
    "carrier": ["100.64.1.1"],
    "metadata": ["169.254.169.254"],
    "metadata-azure": ["168.63.129.16"],
    "metadata-alibaba": ["100.100.100.200"],
    "metadata-oracle": ["192.0.0.192"],
    "metadata-6": ["fd00:ec2::254"],
    "link-local-6": ["fe80::1"],
    "zone": ["fe80::1%lo"],
    "zone-loopback": ["::1%lo"],
    "site-local": ["fec0::1"],
    "unique-local": ["fc00::1"],
    "multicast": ["224.0.0.1"],
    "multicast-6": ["ff02::1"],
    "broadcast": ["255.255.255.255"],
    "reserved": ["240.0.0.1"],
    "documentation": ["203.0.113.7"],
    "documentation-6": ["2001:db8::7"],
    "benchmark": ["198.18.0.1"],
    "mapped": ["::ffff:127.0.0.1"],
    "mapped-hex": ["::ffff:7f00:1"],
    "mapped-private": ["::ffff:10.0.0.1"],
    "translated": ["::ffff:0:7f00:1"],
    "compatible": ["::127.0.0.1"],
    "six-to-four": ["2002:7f00:1::"],
    "nat64": ["64:ff9b::7f00:1"],
    "nat64-metadata": ["64:ff9b::a9fe:a9fe"],
    "nat64-local": ["64:ff9b:1::7f00:1"],
    "teredo": ["2001:0:7f00:1::80ff:fffe"],
    "isatap": ["2606:4700::5efe:7f00:1"],
    "isatap-global": ["2606:4700::200:5efe:a00:1"],
    "mixed": [OUTER, "127.0.0.1"],
    "mixed-first": ["127.0.0.1", OUTER],
    "mixed-last": [OUTER, "1.1.1.1", "8.8.8.8", "10.0.0.1"],
    "mixed-6": ["2606:4700::1111", "::1"],
    "mixed-families": [OUTER, "::ffff:127.0.0.1"],
    "mixed-metadata": [OUTER, "169.254.169.254"],
    "mixed-zone": [OUTER, "fe80::1%lo"],
    "garbage": ["not an address"],
    "short": ["127.1"],
    "octal": ["0177.0.0.1"],
    "mixed-garbage": [OUTER, ""],
    "none": [],
}
"""Result of the look-up, by the first label of a host of `.example.com`."""

LOOKUPS = [f"http://{label}.example.com:{{port}}/" for label in RESOLVES_TO]

REDIRECTS = [
    *LITERALS[::4],
    *NAMES[:6],
    *TRICKS[::3],
    *SCHEMES[::3],
    *PORTS[::8],
    *LOOKUPS[::3],
    "//127.0.0.1:{port}/",
    "\\\\127.0.0.1:{port}\\",
    "/\\127.0.0.1:{port}/",
    "/\t/127.0.0.1:{port}/",
    "///127.0.0.1:{port}/",
    "http:127.0.0.1:{port}",
]
"""Targets of redirects from a harmless host."""
