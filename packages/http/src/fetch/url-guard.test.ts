import { ConfigError, Undeliverable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { checkFetchUrl } from './url-guard.ts'

/** Row (reference name) → what is said → addresses refused with these words. */
const refusedUrls: readonly (readonly [row: string, problem: string, urls: readonly string[]])[] = [
  [
    'A2A-P01: a private address in any spelling',
    'address is not public',
    [
      'https://169.254.169.254/latest/meta-data/',
      'https://[::ffff:127.0.0.1]/',
      'https://[::ffff:7f00:1]/',
      'https://0x7f.1/',
      'https://0x7F000001/',
      'https://2130706433/',
      'https://017700000001/',
      'https://0177.0.0.1/',
      'https://127.1/',
      'https://127.0.1/',
      'https://127.0.0.1./',
      'https://0/',
      'https://１２７.０.０.１/',
      'https://①②⑦.⓪.⓪.①/',
      'https://127。0。0。1/',
      'https://%31%32%37.0.0.1/',
    ],
  ],
  [
    'A2A-P01: plain http',
    'scheme is not https',
    [
      'http://169.254.169.254/',
      'http://[::ffff:127.0.0.1]/',
      'http://0x7f.1/',
      'http://2130706433/',
      'http://a.example/',
    ],
  ],
  [
    'A2A-P02: another scheme',
    'scheme is not https',
    ['file:///etc/passwd', 'ftp://a.example/', 'gopher://a.example/', 'ws://a.example/'],
  ],
  [
    'A2A-P02: no URL, or a relative one',
    'not an absolute URL',
    [
      '',
      'inbox',
      '/inbox',
      '//a.example/',
      'https:',
      'https://',
      'https:a.example',
      'data:text/plain,x',
      'javascript:1',
      'https://[fe80::1%25eth0]/',
      'https://[::1',
      'https://a b.example/',
      'https://256.1.1.1/',
    ],
  ],
  [
    'A2A-P06: credentials',
    'URL contains credentials',
    ['https://user:pass@a.example/', 'https://user@a.example/', 'https://:pass@a.example/'],
  ],
  [
    'A2A-P06: another port',
    'port is not 443',
    ['https://a.example:22/', 'https://a.example:80/', 'https://a.example:8443/', 'https://127.0.0.1:22/'],
  ],
  [
    'AP-32: special addresses',
    'address is not public',
    [
      'https://127.0.0.1/',
      'https://0.0.0.0/',
      'https://10.1.2.3/',
      'https://100.64.0.1/',
      'https://172.31.0.1/',
      'https://192.168.1.1/',
      'https://198.18.0.1/',
      'https://192.0.2.1/',
      'https://224.0.0.1/',
      'https://255.255.255.255/',
      'https://[::]/',
      'https://[::1]/',
      'https://[0:0:0:0:0:0:0:1]/',
      'https://[::127.0.0.1]/',
      'https://[64:ff9b::7f00:1]/',
      'https://[64:ff9b:1::a00:1]/',
      'https://[2001:0:7f00:1::]/',
      'https://[2002:7f00:1::]/',
      'https://[fd00:ec2::254]/',
      'https://[fe80::1]/',
      'https://[fec0::1]/',
      'https://[ff02::1]/',
      'https://[100::1]/',
      'https://[2001:db8::1]/',
    ],
  ],
  [
    'AP-32: names that never are public',
    'address is not public',
    [
      'https://localhost/',
      'https://LOCALHOST/',
      'https://localhost./',
      'https://ⓛocalhost/',
      'https://a.localhost/',
      'https://a.localhost./',
      'https://printer.local/',
      'https://metadata.google.internal/',
      'https://metadata.google.internal./',
      'https://router.home.arpa/',
      'https://intranet/',
      'https://intranet./',
      'https://a..example/',
      'https://a.example../',
      'https://a.example!/',
      `https://${'a'.repeat(64)}.example/`,
    ],
  ],
  [
    'two readers would see two addresses',
    'URL contains a control character or a backslash',
    [
      'https://a.example\\@b.example/',
      'https://a.example/\r\nHost: b.example',
      'https://a.exa\tmple/',
      ' \nhttps://a.example/',
      'https://a.example/\u0000',
      'https://a.example/\u007f',
    ],
  ],
  [
    'an endless URL',
    'URL is too long',
    [
      `https://a.example/${'a'.repeat(2_048)}`,
      `https://a.example/${'ü'.repeat(1_000)}`,
      `https://${'a.'.repeat(127)}example/`,
    ],
  ],
]

describe('checkFetchUrl() refuses', () => {
  describe.each(refusedUrls)('%s', (_, problem, urls) => {
    test.each(urls)('%j', url => {
      expect(() => checkFetchUrl(url)).toThrow(new Undeliverable(`Cannot fetch: ${problem}`))
    })
  })
})

test.each([
  ['https://a.example/x?y=z', 'https://a.example/x?y=z'],
  ['HTTPS://A.Example:443/x#frag', 'https://a.example/x'],
  ['https://a.example./', 'https://a.example/'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ['https://faß.example/', 'https://xn--fa-hia.example/'],
  ['https://a_b.example/', 'https://a_b.example/'],
  ['https://8.8.8.8/', 'https://8.8.8.8/'],
  ['https://134744072/', 'https://8.8.8.8/'],
  ['https://[2606:4700:4700::1111]/', 'https://[2606:4700:4700::1111]/'],
  ['https://notlocalhost.example/', 'https://notlocalhost.example/'],
  ['https://local.example/', 'https://local.example/'],
])('checkFetchUrl() accepts %s in its normal form', (url, normal) => {
  expect(checkFetchUrl(url).href).toBe(normal)
})

describe('checkFetchUrl() with allowPrivate', () => {
  const options = { allowPrivate: ['http://127.0.0.1:8080', 'https://desk.internal', 'https://[::1]:8443/'] }

  test.each([
    'http://127.0.0.1:8080/x',
    'http://0x7f.1:8080/x',
    'https://desk.internal/',
    'https://DESK.internal.:443/',
    'https://[::1]:8443/',
  ])('accepts %s', url => {
    expect(() => checkFetchUrl(url, options)).not.toThrow()
  })

  test.each([
    ['http://127.0.0.1:8081/', 'scheme is not https'],
    ['http://127.0.0.1/', 'scheme is not https'],
    ['https://127.0.0.1:8080/', 'port is not 443'],
    ['https://127.0.0.1/', 'address is not public'],
    ['http://127.0.0.2:8080/', 'scheme is not https'],
    ['http://desk.internal/', 'scheme is not https'],
    ['https://desk.internal:8443/', 'port is not 443'],
    ['https://a.desk.internal/', 'address is not public'],
    ['https://user@desk.internal/', 'URL contains credentials'],
  ])('opens exactly the named origin, not %s', (url, problem) => {
    expect(() => checkFetchUrl(url, options)).toThrow(new Undeliverable(`Cannot fetch: ${problem}`))
  })

  test.each(['127.0.0.1:8080', 'http://127.0.0.1:8080/path', 'https://user@a.example', 'ftp://a.example', '*', ''])(
    'refuses the entry %j and names the key',
    entry => {
      expect(() => checkFetchUrl('https://a.example/', { allowPrivate: [entry] })).toThrow(
        new ConfigError(
          'network.allow_private',
          `"${entry}" is not an origin`,
          'Write scheme, host and port, like "http://127.0.0.1:8080".',
        ),
      )
    },
  )
})

describe('checkFetchUrl() with loopback', () => {
  const options = { loopback: { 'mastodon.test': 9001, intern: 9002 } }

  test.each(['https://mastodon.test/', 'https://Mastodon.Test.:443/x', 'https://intern/'])('accepts %s', url => {
    expect(() => checkFetchUrl(url, options)).not.toThrow()
  })

  test.each([
    ['http://mastodon.test/', 'scheme is not https'],
    ['https://mastodon.test:9001/', 'port is not 443'],
    ['https://a.intern.local/', 'address is not public'],
  ])('opens exactly the named host, not %s', (url, problem) => {
    expect(() => checkFetchUrl(url, options)).toThrow(new Undeliverable(`Cannot fetch: ${problem}`))
  })

  test.each([
    ['mastodon.test:8443', 9001],
    ['mastodon.test/x', 9001],
    ['', 9001],
    ['mastodon.test', 0],
    ['mastodon.test', 65_536],
    ['mastodon.test', 1.5],
  ])('refuses the entry %j: %d and names the key', (host, port) => {
    expect(() => checkFetchUrl('https://a.example/', { loopback: { [host]: port } })).toThrow(
      new ConfigError(
        'network.loopback',
        `"${host}": ${port} is not a host and a port`,
        'Write entries like "mastodon.test": 9001.',
      ),
    )
  })
})
