import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { beforeEach, expect, test } from 'vitest'
import type { DkimSigner } from './signer.ts'
import { createDkimSigner } from './signer.ts'

const dayMs = 24 * 3_600_000
const startMs = Date.UTC(2026, 10, 1)
const message = Buffer.from(
  [
    'From: Echo <echo@agents.test>',
    'To: alice@alice.test',
    'Subject: Re: spaces   and',
    '\tfolds',
    'Date: Sun, 01 Nov 2026 00:00:00 +0000',
    'Message-ID: <1@agents.test>',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Hello  there \t ',
    '',
    'Grüße',
    ' ',
    '',
    '',
  ].join('\r\n'),
)

let clock: number
let secrets: Map<string, string>

function createSigner(): DkimSigner {
  return createDkimSigner({
    domain: 'agents.test',
    selector: 'postern',
    clock: { now: () => clock },
    store: {
      async readOrCreateSecret(name, make) {
        const value = secrets.get(name) ?? (await make())
        secrets.set(name, value)
        return value
      },
      hasSecret: async name => secrets.has(name),
    },
  })
}

beforeEach(() => {
  clock = startMs
  // The selectors of a rotation have random suffixes, so the tests fix the suffix here.
  secrets = new Map([['email-dkim-ending-2', '2']])
})

/** Returns the current result of each signature of a signed message, by selector. */
async function verify(octets: Buffer, signer: DkimSigner): Promise<Readonly<Record<string, string>>> {
  const publishedRecords = await signer.publish()
  const records = new Map(publishedRecords.map(({ dns }) => [dns?.name, dns?.value ?? '']))
  const { results } = await dkimVerify(octets, {
    strict: true,
    curTime: new Date(clock),
    resolver: async name => {
      const record = records.get(name)
      if (!record) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
      return [[record]]
    },
  })
  return Object.fromEntries(results.map(({ selector, status }) => [selector ?? '', status.result]))
}

const signAt = (signer: DkimSigner, signedAt = clock) => signer.sign(message, new Date(signedAt).toISOString())

test('sign() adds an RSA and an Ed25519 signature on top, and both verify (EM-4.10)', async () => {
  const signer = createSigner()
  const signedMail = await signAt(signer)
  expect(signedMail.subarray(-message.length).equals(message)).toBe(true)
  expect(await verify(signedMail, signer)).toEqual({ postern: 'pass', 'postern-ed25519': 'pass' })
  for (const line of signedMail.toString('latin1').split('\r\n')) expect(line.length).toBeLessThan(200)
})

test.each([
  ['a second From', 'From: ceo@agents.test'],
  ['a second Subject', 'Subject: Urgent'],
  ['a Cc where there was none', 'Cc: others@x.test'],
  ['a Reply-To where there was none', 'Reply-To: thief@evil.test'],
  ['a second Content-Type', 'Content-Type: text/html'],
])(
  '%s breaks the signatures, above and below, because the signatures cover every field once more than it occurs',
  async (_what, field) => {
    const signer = createSigner()
    const text = (await signAt(signer)).toString('latin1')
    const failedSignatures = { postern: 'fail', 'postern-ed25519': 'fail' }
    const withFieldAbove = text.replace('From: Echo', `${field}\r\nFrom: Echo`)
    const withFieldBelow = text.replace('\r\n\r\n', `\r\n${field}\r\n\r\n`)
    for (const changedMail of [withFieldAbove, withFieldBelow])
      expect(await verify(Buffer.from(changedMail, 'latin1'), signer)).toMatchObject(failedSignatures)
  },
)

test('a signature covers the whole body and expires after seven days', async () => {
  const signer = createSigner()
  const signedMail = await signAt(signer)
  expect(signedMail.toString()).not.toMatch(/[;\s]l=/)
  const longer = Buffer.concat([signedMail, Buffer.from('P.S.\r\n')])
  expect(await verify(longer, signer)).toEqual({ postern: 'fail', 'postern-ed25519': 'fail' })
  clock += 7 * dayMs + 1_000
  expect(await verify(signedMail, signer)).not.toMatchObject({ postern: 'pass' })
})

test('sign() gives the same bytes for the same message and time, before and after a rotation', async () => {
  const signer = createSigner()
  const firstMail = await signAt(signer)
  clock += dayMs
  await signer.rotate()
  expect((await signAt(signer, startMs)).equals(firstMail)).toBe(true)
})

test('old and new keys sign together for a week after a rotation, and the old records stay for another week', async () => {
  const signer = createSigner()
  await signer.publish()
  clock += dayMs
  const rotation = await signer.rotate()
  expect(rotation.map(({ id }) => id)).toEqual([
    'postern-2._domainkey.agents.test',
    'postern-2-ed25519._domainkey.agents.test',
  ])
  const allPass = { postern: 'pass', 'postern-ed25519': 'pass', 'postern-2': 'pass', 'postern-2-ed25519': 'pass' }
  expect(await verify(await signAt(signer), signer)).toEqual(allPass)
  const oldMail = await signAt(signer, startMs)
  clock += 7 * dayMs
  expect(await verify(await signAt(signer), signer)).toEqual({ 'postern-2': 'pass', 'postern-2-ed25519': 'pass' })
  expect(oldMail.toString()).toContain('s=postern;')
  expect((await signer.publish()).map(({ id }) => id)).toHaveLength(4)
  clock += 7 * dayMs
  expect((await signer.publish()).map(({ id }) => id)).toEqual(rotation.map(({ id }) => id))
})

test('a revoked key neither signs nor stays published, and other gateways see that within a minute', async () => {
  const [signer, otherSigner] = [createSigner(), createSigner()]
  const earlierMail = await signAt(otherSigner)
  clock += dayMs
  await signer.rotate({ isRevoking: true })
  const signedMail = await signAt(signer)
  expect(await verify(signedMail, signer)).toEqual({ 'postern-2': 'pass', 'postern-2-ed25519': 'pass' })
  expect(await verify(earlierMail, signer)).toEqual({ postern: 'neutral', 'postern-ed25519': 'neutral' })
  clock += 60_001
  expect((await otherSigner.publish()).map(({ id }) => id)).toEqual((await signer.publish()).map(({ id }) => id))
})
