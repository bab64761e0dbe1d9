import { describe, expect, test } from 'vitest'
import { readResultsField } from './upstream.ts'

const readAndList = (value: string) => {
  const parsedField = readResultsField(value)
  return (
    parsedField && [
      parsedField.authservId,
      ...parsedField.results.map(({ method, result, properties }) => [method, result, Object.fromEntries(properties)]),
    ]
  )
}

describe('readResultsField()', () => {
  test.each<[string, unknown]>([
    ['example.org; none', ['example.org']],
    ['example.org 1; none', ['example.org']],
    ['Example.org 1;;', ['Example.org']],
    ['"example.org"; none', undefined],
    ['example.org (x); none', undefined],
    ['(x) example.org; none', undefined],
    ['example.org', undefined],
    [
      'example.com; auth=pass (cram-md5) smtp.auth=sender@example.net; spf=pass smtp.mailfrom=example.net',
      [
        'example.com',
        ['auth', 'pass', { 'smtp.auth': 'sender@example.net' }],
        ['spf', 'pass', { 'smtp.mailfrom': 'example.net' }],
      ],
    ],
    [
      "foo.example.net (foobar) 1 (baz); dkim (Because I like it) / 1 (One yay) = (wait for it) fail policy (A dot can go here) . (like that) expired (this surprised me) = (as I wasn't expecting it) 1362471462",
      undefined,
    ],
    [
      'mx.google.com; dkim=pass header.i=@gmail.com header.s=20230601 header.b="a;b\\"c"; dmarc=pass (p=NONE (sp=NONE) dis=NONE) header.from=gmail.com',
      [
        'mx.google.com',
        ['dkim', 'pass', { 'header.i': '@gmail.com', 'header.s': '20230601', 'header.b': 'a;b"c' }],
        ['dmarc', 'pass', { 'header.from': 'gmail.com' }],
      ],
    ],
    [
      'x; dmarc=fail reason="dmarc=pass header.from=corp.test; dmarc=pass" header.from=evil.test',
      ['x', ['dmarc', 'fail', { reason: 'dmarc=pass header.from=corp.test; dmarc=pass', 'header.from': 'evil.test' }]],
    ],
    [
      'x; dmarc=pass (header.from=corp.test) header.from=evil.test',
      ['x', ['dmarc', 'pass', { 'header.from': 'evil.test' }]],
    ],
    ['x; dmarc/1=pass', ['x', ['dmarc', 'pass', {}]]],
    ['spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=a.test; dmarc=pass', undefined],
    ['x 2; dmarc=pass', undefined],
    ['x; dmarc', undefined],
    ['x; dmarc=pass what is this', undefined],
    ['x; dmarc=pass (never ends', undefined],
    ['x; dmarc=pass header.from="never', undefined],
    ['x; dmarc=pass) header.from=a.test', undefined],
    ['', undefined],
    [';', undefined],
  ])('%s', (value, expected) => {
    expect(readAndList(value)).toEqual(expected)
  })

  test.each(['(', '"', '\\', ';', '=', 'a=b ', '("', ' '])('takes linear time for a field full of %j', piece => {
    const cpuBefore = process.threadCpuUsage()
    readResultsField(`x; dmarc=pass ${piece.repeat(16_000 / piece.length)}`)
    const { user } = process.threadCpuUsage(cpuBefore)
    expect(user).toBeLessThan(200_000)
  })
})
