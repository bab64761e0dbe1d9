import { readFileSync } from 'node:fs'
import { identityEvidenceSchema } from '@postern/message'
import { ownEvidenceCodes, publishedEvidenceCodes } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EvidenceCase } from './fixtures.ts'
import { now } from './fixtures.ts'
import type { IdentityGateway } from './gateway.ts'
import { openIdentityGateway } from './gateway.ts'
import { fixtureFiles } from './write-fixtures.ts'

interface FixtureFile {
  readonly documents: Readonly<Record<string, unknown>>
  readonly cases: readonly EvidenceCase[]
}

const files = Object.keys(fixtureFiles).map(name => {
  const text = readFileSync(new URL(`../../../fixtures/identity/${name}`, import.meta.url), 'utf8')
  return { name, text, file: JSON.parse(text) as FixtureFile }
})

let gateway: IdentityGateway

beforeAll(async () => {
  gateway = await openIdentityGateway()
})
afterAll(() => gateway.close())

describe.each(files)('the cases of $name (MN-6.5, MN-6.2)', ({ name, text, file: { documents, cases } }) => {
  test('are those that the generator writes', () => {
    expect(text).toBe(fixtureFiles[name])
  })

  test.each(cases)(
    'give the expected result: $name',
    async ({ carrier, code, evidence, documents: changedDocuments }) => {
      // The verifier is reopened with its own memory, because keys are cached, and the same evidence counts only once.
      gateway.publish({ ...documents, ...changedDocuments })
      const store = { consumeOnce: async () => true }
      const identity = gateway.reopen(store)
      const { accepted, left_out, proofs } = await identity.verify({
        ...gateway.binding,
        carriers: { [carrier]: [evidence] },
      })
      expect(left_out.map(({ code }) => code)).toEqual(code === null ? [] : [code])
      expect(accepted).toHaveLength(code === null ? 1 : 0)
      expect(proofs).toHaveLength(1)
      expect(proofs[0]).toMatchObject(code === null ? { verdict: 'pass' } : { code, reason: expect.any(String) })
      for (const identity of accepted) {
        expect(identityEvidenceSchema.parse(identity)).toEqual(identity)
        expect(identity.proof).not.toHaveProperty('value')
        expect(Date.parse(identity.expires_at ?? '')).toBeGreaterThan(now - 60_000)
      }
    },
  )
})

test('the cases cover every term of the published vocabulary and of ours', () => {
  const covered = new Set(files.flatMap(({ file }) => file.cases.map(({ code }) => code)))
  // limits.test.ts and replay.test.ts have the cases of these three codes.
  const codesTestedElsewhere = ['too-many', 'too-large', 'replayed']
  const expectedCodes = [...publishedEvidenceCodes, ...ownEvidenceCodes].filter(
    code => !codesTestedElsewhere.includes(code),
  )
  expect(expectedCodes.filter(code => !covered.has(code))).toEqual([])
})
