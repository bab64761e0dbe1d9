// Draws random signed mail with random damage by the signer, in transit or in the DNS, or without damage.
import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'
import type { SignedCase } from './mailauth-oracle.ts'

/** 2026-11-21T10:00:00Z, in ms since the epoch. */
const now = 1_795_255_200_000
const seconds = now / 1000
const domain = 'open.test'
const selector = 's1'
const rsa = createDkimKey(1024)
const privateKeys = { rsa, ed25519: createDkimKey('ed25519'), short: createDkimKey(768) } as const
const pss = generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).publicKey

const blank = fc.constantFrom(' ', '\t', '  ', ' \t ', '\r\n ', '\r\n\t')
const word = fc.constantFrom(
  'a',
  'Word',
  '=?utf-8?q?=C3=A5?=',
  'gr\xc3\xbc\xc3\x9fe',
  '\xa0',
  'b=1;',
  ':',
  '<x@y.test>',
)
const text = fc.array(fc.oneof({ weight: 3, arbitrary: word }, blank), { maxLength: 8 }).map(words => words.join(''))
const gap = fc.constantFrom(': ', ':', ':  ', ':\t', ' : ', ':\r\n ')
const fieldName = fc.constantFrom('Subject', 'SUBJECT', 'To', 'Date', 'X-A', 'x-a', 'Message-ID', 'Received')
const field = fc.tuple(fieldName, gap, text).map(parts => parts.join(''))
const line = fc
  .array(fc.oneof(word, fc.constantFrom(' ', '\t', '  ', '\r', '\0', '.', '--b')), { maxLength: 6 })
  .map(words => words.join(''))
const body = fc.tuple(
  fc.array(line, { maxLength: 6 }),
  fc.constantFrom('', '\r\n', '\r\n\r\n', ' ', ' \r\n\t\r\n', '\r'),
)

const message = fc
  .record({ before: fc.array(field, { maxLength: 4 }), after: fc.array(field, { maxLength: 3 }), body, from: gap })
  .map(({ before, after, body: [lines, end], from }) => {
    const header = [...before, `From${from}Ann <ann@${domain}>`, ...after]
    return `${header.join('\r\n')}\r\n\r\n${lines.join('\r\n')}${end}`
  })

/** Valid and invalid values by tag. Each value tests a rule. */
const oddValues = {
  v: ['1', '1', '01', '2', '1 ', ''],
  a: ['rsa-sha256', 'RSA-SHA256', 'ed25519-sha256', 'rsa-sha1', 'ed25519-sha1', 'rsa-sha512', 'rsa', ''],
  d: [domain, 'OPEN.test', 'open.test.', 'test', 'b\xc3\xbccher.test', 'evil.test', 'a_b.open.test', ''],
  s: [selector, 'S1', 'a_b', 'none', 's1.x', '-', ''],
  i: [
    '@open.test',
    'ann@open.test',
    '@a.open.test',
    '@evil.test',
    '=61nn@open.test',
    'ann',
    '"a b"@open.test',
    '@xopen.test',
    'a..b@open.test',
    '',
  ],
  q: ['dns/txt', 'DNS/TXT', 'http', 'http:dns/txt', ''],
  l: ['0', '1', '5', '17', '100000', 'x', '-1', '1'.repeat(77)],
  t: [`${seconds - 5}`, `${seconds + 700}`, '0', 'x', '1'.repeat(13), ''],
  x: [`${seconds - 1}`, `${seconds}`, `${seconds + 60}`, '0', 'x', ''],
  bh: ['', 'AAAA', '2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8='],
  z: ['From:b=|To:x', 'b=AAAA', '"; b=x"', '('],
  B: ['AAAA', ''],
  h: ['from', 'From:From', 'to', '', ':', 'from::to:', 'FROM : to', 'dkim-signature:from'],
} as const satisfies Readonly<Record<string, readonly string[]>>

const oddTag = fc
  .constantFrom(...(Object.keys(oddValues) as (keyof typeof oddValues)[]))
  .chain(name => fc.constantFrom<string>(...oddValues[name]).map(value => ({ [name]: value })))
/** Random tags, which are mostly absent. */
const oddTags = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: oddTag },
  { weight: 1, arbitrary: fc.tuple(oddTag, oddTag).map(([one, other]) => ({ ...one, ...other })) },
)

const form = fc.constantFrom(
  'relaxed/relaxed',
  'simple/simple',
  'relaxed/simple',
  'simple/relaxed',
  'simple',
  'RELAXED/Simple',
)
const oddForm = fc.constantFrom('relaxed/', '/relaxed', 'relaxed/none', 'nofws', '')
const signedName = fc.constantFrom(
  'subject',
  'Subject',
  'to',
  'date',
  'x-a',
  'message-id',
  'received',
  'absent',
  'from',
)

const signing = fc.record({
  kind: fc.constantFrom('rsa' as const, 'rsa' as const, 'ed25519' as const, 'short' as const),
  c: fc.oneof({ weight: 9, arbitrary: form }, { weight: 1, arbitrary: oddForm }),
  fields: fc.array(signedName, { maxLength: 6 }).map(names => ['From', ...names]),
  tags: oddTags,
  bodyOctets: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined, freq: 3 }),
})

const records = {
  good: (record: string) => record,
  revoked: (record: string) => record.replace(/p=.*/, 'p='),
  bare: (record: string) => record.replace(/.*p=/, 'p='),
  noVersion: (record: string) => record.replace('v=DKIM1; ', ''),
  lateVersion: (record: string) => `${record.replace('v=DKIM1; ', '')}; v=DKIM1`,
  otherVersion: (record: string) => record.replace('DKIM1', 'DKIM2'),
  otherType: (record: string) => record.replace(/k=\w+/, 'k=dsa'),
  swappedType: (record: string) => record.replace(/k=\w+/, keyType => (keyType === 'k=rsa' ? 'k=ed25519' : 'k=rsa')),
  upperType: (record: string) => record.replace(/k=\w+/, keyType => `k=${keyType.slice(2).toUpperCase()}`),
  chat: (record: string) => record.replace('p=', 's=chat; p='),
  email: (record: string) => record.replace('p=', 's=chat:email; p='),
  sha1: (record: string) => record.replace('p=', 'h=sha1; p='),
  both: (record: string) => record.replace('p=', 'h=sha1:sha256; p='),
  testing: (record: string) => record.replace('p=', 't=y:s; p='),
  exact: (record: string) => record.replace('p=', 't=s; p='),
  twice: (record: string) => `${record}; k=rsa`,
  emptyTag: (record: string) => record.replace('p=', '; p='),
  ended: (record: string) => `${record};`,
  folded: (record: string) => record.replace(/p=.{20}/, '$& \t '),
  junk: (record: string) => record.replace(/p=.{20}/, '$&*'),
  cut: (record: string) => record.slice(0, -5),
  noted: (record: string) => `${record}; n=a (note) "of"; x=`,
  spacedType: (record: string) => record.replace(/k=\w/, '$& '),
  oddSpace: (record: string) => record.replace(/p=.{20}/, '$&\v\xa0'),
  oddEdge: (record: string) => record.replace('p=', '\fp='),
  empty: () => '',
  pss: () => `v=DKIM1; p=${pss.export({ type: 'spki', format: 'der' }).toString('base64')}`,
} as const

const answer = fc.oneof(
  { weight: 4, arbitrary: fc.constant('good' as const) },
  { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(records) as (keyof typeof records)[])) },
  { weight: 1, arbitrary: fc.constantFrom('ENOTFOUND' as const, 'ENODATA' as const, 'ESERVFAIL' as const) },
)

/** A position as a share of the message, and the damage there. */
const damage = fc.record({
  position: fc.double({ min: 0, max: 0.999, noNaN: true }),
  change: fc.constantFrom(
    'cut',
    'space',
    'line',
    'flip',
    'double',
    'case',
    '\v',
    '\f',
    '\xc2\xa0',
    ';',
    '=',
    ':',
    '\t',
    '\r',
    '"',
    '(',
  ),
})

type DrawnValue<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never
type Damage = DrawnValue<typeof damage>
type Signing = DrawnValue<typeof signing>

function damageOctets(octets: Buffer, { position, change }: Damage): Buffer {
  const offset = Math.floor(octets.length * position)
  const [head, tail] = [octets.subarray(0, offset), octets.subarray(offset)]
  const insert = (piece: string | Buffer) => Buffer.concat([head, Buffer.from(piece), tail])
  if (change === 'cut') return Buffer.concat([head, tail.subarray(1)])
  if (change === 'space') return insert(' ')
  if (change === 'line') return insert('\r\n')
  if (change === 'double') return insert(tail.subarray(0, 9))
  if (change !== 'flip' && change !== 'case') return insert(Buffer.from(change, 'latin1'))
  const changed = Buffer.from(octets)
  changed[offset] = (changed[offset] ?? 0) ^ (change === 'case' ? 0x20 : 0x01)
  return changed
}

interface DrawnMail {
  readonly message: string
  readonly signings: readonly Signing[]
  readonly answer: keyof typeof records | 'ENOTFOUND' | 'ENODATA' | 'ESERVFAIL'
  readonly damages: readonly Damage[]
}

function signDrawnMail(drawn: DrawnMail): SignedCase {
  let signedText = drawn.message
  for (const { kind, c, fields, tags, bodyOctets } of drawn.signings) {
    const length = bodyOctets === undefined ? {} : { l: `${bodyOctets}` }
    const key = privateKeys[kind]
    const names = 'h' in tags ? String(tags.h).split(':') : fields
    signedText = signText(signedText, {
      domain,
      key,
      fields: names,
      ...(bodyOctets !== undefined && { bodyOctets }),
      tags: { c, ...length, ...tags },
    })
  }
  const octets = drawn.damages.reduce(damageOctets, Buffer.from(signedText, 'latin1'))
  const kind = drawn.signings.at(-1)?.kind ?? 'rsa'
  const name = `${selector}._domainkey.${domain}`
  const keyAnswer =
    drawn.answer in records
      ? { records: [[records[drawn.answer as keyof typeof records](keyRecord(privateKeys[kind]))]] }
      : { code: drawn.answer as Exclude<typeof drawn.answer, keyof typeof records> }
  return { octets, keys: { [name]: keyAnswer }, now }
}

/**
 * Returns true for mail without lines that programs read differently before DKIM, because each such line would be a case of its own.
 * @param text the mail, with one character per octet
 */
function isPlain(text: string): boolean {
  const header = text.slice(0, text.indexOf('\r\n\r\n'))
  return (
    text.endsWith('\r\n') &&
    !/\r(?!\n)|[\0\v\f\xa0]/.test(text) &&
    !/^(?:[ \t]+$|[^:\s]+[ \t]+:|[^:\s]+:\s*$)/m.test(header)
  )
}

/** A mail with one or two signatures and the DNS answers for their keys, before it is signed. */
const drawnMail: fc.Arbitrary<DrawnMail> = fc.record({
  message,
  signings: fc.array(signing, { minLength: 1, maxLength: 2 }),
  answer,
  damages: fc.array(damage, { maxLength: 2 }),
})

export const signedCase: fc.Arbitrary<SignedCase> = drawnMail.map(signDrawnMail)

/**
 * Draws mail, and signs only the mail that every program reads alike before DKIM. Only one mail in a hundred is such a
 * mail, and signing takes most of the time.
 */
export const samplePlainMail = (parameters: fc.Parameters<DrawnMail>): readonly SignedCase[] =>
  fc
    .sample(drawnMail, parameters)
    .filter(drawn => isPlain(drawn.message))
    .map(signDrawnMail)
    .filter(({ octets }) => isPlain(octets.toString('latin1')))
