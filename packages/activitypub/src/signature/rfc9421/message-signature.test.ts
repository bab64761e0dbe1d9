import { createPublicKey } from 'node:crypto'
import { Rejection } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { readFixture } from '../../../test/fixtures.ts'
import { readRequestSignature } from '../read-request-signature.ts'
import type { SignedRequest } from '../request-signature.ts'
import {
  buildSignatureBase,
  checkContentDigest,
  checkMessageCoverage,
  formatContentDigest,
  isMessageSignedBy,
  parseMessageSignature,
} from './message-signature.ts'

interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly body: string
}

interface Signed {
  readonly signatureInput: string
  readonly signature: string
}

interface Vectors {
  readonly keys: Record<string, string>
  readonly request: Sent
  readonly cases: readonly (Signed & { name: string; key: string; base: string; verdict: string })[]
  readonly proxied: Sent & Signed & { key: string; alone: Signed }
}

const { keys, request, cases, proxied } = readFixture<Vectors>('rfc9421/vectors.json')

function toRequest({ method, target, headers }: Sent, { signatureInput, signature }: Signed): SignedRequest {
  const origin = `https://${headers.host}`
  return { method, target, origin, headers: new Headers({ ...headers, 'signature-input': signatureInput, signature }) }
}

describe('RFC 9421 Appendix B', () => {
  test.each(cases.filter(({ name }) => name !== 'sig-b22'))(
    'buildSignatureBase() returns the signature base of $name',
    signed => {
      const sent = toRequest(request, signed)
      expect(buildSignatureBase(parseMessageSignature(sent.headers), sent)).toBe(signed.base)
    },
  )

  test.each(cases)('isMessageSignedBy() returns $verdict for $name', signed => {
    const sent = toRequest(request, signed)
    const pem = keys[signed.key]
    const isAccepted = () => {
      if (!pem) return false
      return isMessageSignedBy(createPublicKey(pem), parseMessageSignature(sent.headers), sent)
    }
    if (signed.name === 'sig-b22') expect(isAccepted).toThrow(/covers a component with parameters/)
    else expect(isAccepted()).toBe(signed.verdict === 'valid')
  })

  test('checkContentDigest() accepts the SHA-512 of the example', () => {
    const header = request.headers['content-digest'] ?? ''
    expect(() => checkContentDigest(header, Buffer.from(request.body))).not.toThrow()
    expect(() => checkContentDigest(header, Buffer.from(`${request.body} `))).toThrow(/not that of the content/)
  })

  test('parseMessageSignature() rejects two signatures, and isMessageSignedBy() decides a single one by its key (AP-23)', () => {
    expect(() => parseMessageSignature(toRequest(proxied, proxied).headers)).toThrow(/not exactly one/)
    const alone = toRequest(proxied, proxied.alone)
    const signature = parseMessageSignature(alone.headers)
    expect(isMessageSignedBy(createPublicKey(keys['test-key-rsa'] ?? ''), signature, alone)).toBe(true)
    expect(isMessageSignedBy(createPublicKey(keys['test-key-ed25519'] ?? ''), signature, alone)).toBe(false)
    expect(isMessageSignedBy(createPublicKey(keys['test-key-ecc-p256'] ?? ''), signature, alone)).toBe(false)
  })
})

describe("Mastodon's requests by RFC 9421", () => {
  interface Mastodon {
    readonly publicKeyPem: string
    readonly keyId: string
    readonly time: string
    readonly requests: readonly { name: string; method: string; url: string; headers: object }[]
  }
  const mastodon = readFixture<Mastodon>('mastodon-rfc9421/vectors.json')
  const key = createPublicKey(mastodon.publicKeyPem)
  const now = Date.parse(mastodon.time)

  test.each(mastodon.requests)('readRequestSignature() verifies the $name', ({ method, url, headers }) => {
    const { origin, pathname: target } = new URL(url)
    const sent = { method, target, origin, headers: new Headers(headers as Record<string, string>) }
    const proof = readRequestSignature(sent)
    expect(proof).toMatchObject({ scheme: 'rfc9421', keyId: mastodon.keyId })
    expect(() => proof.checkTimes({ now, windowMs: 3_600_000 })).not.toThrow()
    expect(proof.isMadeBy(key)).toBe(true)
    expect(readRequestSignature({ ...sent, origin: 'https://evil.example' }).isMadeBy(key)).toBe(false)
    expect(readRequestSignature({ ...sent, target: '/elsewhere' }).isMadeBy(key)).toBe(false)
  })

  test('readRequestProof() refuses the same request as expired when it comes later', () => {
    const [{ method, url, headers }] = mastodon.requests as [Mastodon['requests'][0]]
    const sent = { method, target: new URL(url).pathname, origin: new URL(url).origin }
    const proof = readRequestSignature({ ...sent, headers: new Headers(headers as Record<string, string>) })
    expect(() => proof.checkTimes({ now: now + 7_200_000, windowMs: 3_600_000 })).toThrow(/before the accepted window/)
  })
})

function parse(signatureInput: string, signature = 'sig1=:AAAA:') {
  return parseMessageSignature(new Headers({ 'signature-input': signatureInput, signature }))
}

test.each([
  ['', /is invalid/],
  ['sig1', /is invalid/],
  ['sig1=("@method"', /is invalid/],
  ['sig1=(@method);created=1;keyid="k"', /is invalid/],
  ['sig1=("@method");created=1.5;keyid="k"', /is invalid/],
  ['sig1=("@method");created=1;keyid=:AAAA:', /is invalid/],
  ['sig1=("@method");created=1;keyid="k",', /is invalid/],
  ['sig1=("@method");created=1;keyid="k";keyid="v"', /"keyid" is repeated/],
  ['sig1=("@method");created=1;keyid="k", sig1=("@path");created=1;keyid="v"', /"sig1" is repeated/],
  ['sig1=("@method");created=1;keyid="k", sig2=("@path");created=1;keyid="v"', /not exactly one/],
  ['sig2=("@method");created=1;keyid="k"', /not exactly one/],
  ['sig1=("@method");created=1', /"keyid" is missing/],
  ['sig1=("@method");created=1;keyid', /"keyid" is not a string/],
  ['sig1=("@method");keyid="k"', /"created" is missing/],
  ['sig1=("@method");created="1";keyid="k"', /"created" is not a number/],
  ['sig1=("@method");created=-1;keyid="k"', /"created" is not a time/],
  ['sig1=("@method");created=999999999999999;keyid="k"', /"created" is not a time/],
  ['sig1=("@method");created=1;keyid="k";alg="hmac-sha256"', /algorithm is not accepted/],
  ['sig1=("@method");created=1;keyid="k";alg="rsa-pss-sha512"', /algorithm is not accepted/],
  ['sig1=("@method");created=1;keyid="k";trust="me"', /"trust" is not known/],
  ['sig1=("@method";req);created=1;keyid="k"', /component with parameters/],
  ['sig1=("content-digest";key="sha-256");created=1;keyid="k"', /component with parameters/],
  ['sig1=("@method" "@method");created=1;keyid="k"', /repeats itself/],
  [`sig1=(${'"a" '.repeat(40)}"b");created=1;keyid="k"`, /too long or repeats itself/],
  [`sig1=("${'a'.repeat(9_000)}");created=1;keyid="k"`, /is too long/],
])('parseMessageSignature() refuses %s (AP-23)', (signatureInput, problem) => {
  expect(() => parse(signatureInput)).toThrow(problem)
  expect(() => parse(signatureInput)).toThrow(Rejection)
})

test.each(['', 'sig1=AAAA', 'sig1=:AAAA', 'sig1=:A*:', 'keyId="k",signature="AAAA"', 'sig1=:AAAA:, sig2=:AAAA:'])(
  'parseMessageSignature() refuses the signature %s',
  signature => {
    expect(() => parse('sig1=("@method");created=1;keyid="k"', signature)).toThrow(Rejection)
  },
)

test('the verifier serializes a loosely written field in its strict form', () => {
  const { parameters } = parse('  sig1=( "@method"   "@target-uri" ); created=1; keyid="a\\"b";tag="t"')
  expect(parameters).toBe('("@method" "@target-uri");created=1;keyid="a\\"b";tag="t"')
})

const plain = { method: 'POST', target: '/inbox?a=1', origin: 'https://agents.test', headers: new Headers() }

test.each([
  ['"@method" "@target-uri" "content-digest"', undefined],
  ['"@method" "@authority" "@path" "@query" "content-digest"', undefined],
  ['"@method" "@authority" "@path" "content-digest"', /@target-uri/],
  ['"@authority" "@path" "@query" "content-digest"', /@method/],
  ['"@target-uri" "content-digest"', /@method/],
  ['"@method" "content-digest"', /@target-uri/],
  ['"@method" "@target-uri"', /content-digest/],
  ['', /@method/],
])('checkMessageCoverage() checks (%s) (AP-23)', (list, missing) => {
  const check = () => checkMessageCoverage(parse(`sig1=(${list});created=1;keyid="k"`), plain)
  if (missing) expect(check).toThrow(missing)
  else expect(check).not.toThrow()
})

test.each(['"@status"', '"@signature-params"', '"@query-param"', '"x-missing"', '"Host"', '"__proto__"'])(
  'buildSignatureBase() refuses the component %s (AP-23)',
  name => {
    const signature = parse(`sig1=("@method" ${name});created=1;keyid="k"`)
    expect(() => buildSignatureBase(signature, plain)).toThrow(/which is not there/)
  },
)

test.each([
  ['', /is invalid/],
  ['md5=:AAAA:', /no sha-256 or sha-512 digest/],
  ['sha-256=:AAAA:', /not that of the content/],
  ['SHA-256=:AAAA:', /is invalid/],
  ['sha-256=AAAA', /is invalid/],
])('checkContentDigest() refuses "%s"', (header, problem) => {
  expect(() => checkContentDigest(header, Buffer.from('x'))).toThrow(problem)
})

test('checkContentDigest() requires all known digests to match, and ignores unknown ones', () => {
  const body = Buffer.from('hello')
  const right = formatContentDigest(body)
  const wrong = `sha-512=:${Buffer.alloc(64).toString('base64')}:`
  expect(() => checkContentDigest(`${right}, unixsum=:AAAA:`, body)).not.toThrow()
  for (const header of [`${right}, ${wrong}`, `${wrong}, ${right}`])
    expect(() => checkContentDigest(header, body)).toThrow(
      'Cannot verify activity: the digest is not that of the content',
    )
  expect(() => checkContentDigest('unixsum=:AAAA:', body)).toThrow(/there is no sha-256 or sha-512 digest/)
})
