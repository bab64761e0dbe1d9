import { describe, expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

const publicOnes = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2000::',
  '2001:200::1',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2606:4700:4700::1111',
  '2A00:1450:4001:80B::200E',
  '3ffe:ffff::1',
]

const otherAddresses: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  'private use': ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'shared space': ['100.64.0.0', '100.127.255.255'],
  'IPv4 loopback': ['127.0.0.1', '127.255.255.255'],
  'IPv4 link-local': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'protocol assignments': ['192.0.0.0', '192.0.0.8', '192.0.0.255'],
  'IPv4 documentation': ['192.0.2.1', '198.51.100.7', '203.0.113.255'],
  '6to4 relay anycast': ['192.88.99.1'],
  benchmarking: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
  'IPv4 multicast, reserved and broadcast': ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  'unspecified and IPv6 loopback': ['::', '::1', '0:0:0:0:0:0:0:1'],
  'IPv4-mapped, also of a public address': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8'],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '64:ff9b:1:ffff::a00:1'],
  'discard-only': ['100::1', '100:0:0:1::1'],
  'Teredo and ORCHID': ['2001::1', '2001:0:7f00:1::', '2001:10::1', '2001:20::1'],
  'IPv6 documentation': ['2001:db8::1', '2001:db8:ffff::1', '3fff::1', '3fff:fff::1'],
  '6to4, also of a public address': ['2002:7f00:1::', '2002:808:808::1'],
  'SRv6 segments': ['5f00::1'],
  'unique local': ['fc00::1', 'fd00:ec2::254', 'fdff:ffff::1'],
  'IPv6 link-local and site-local': ['fe80::1', 'febf::1', 'fec0::1', 'feff::1'],
  'IPv6 multicast': ['ff02::1', 'ff0e::1'],
  'an address with a zone': ['fe80::1%eth0', '2606:4700::1111%1'],
  'no address': [
    '',
    'example.com',
    '1.2.3',
    '0x7f.1',
    '2130706433',
    '127.1',
    '010.1.1.1',
    '[2606:4700::1111]',
    '1.1.1.1 ',
  ],
}

describe('isPublicAddress()', () => {
  test.each(publicOnes)('accepts %s', ip => {
    expect(isPublicAddress(ip)).toBe(true)
  })

  describe.each(Object.entries(otherAddresses))('refuses %s', (_, ips) => {
    test.each(ips)('"%s"', ip => {
      expect(isPublicAddress(ip)).toBe(false)
    })
  })
})
