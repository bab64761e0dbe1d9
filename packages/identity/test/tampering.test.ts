import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attestationCases } from './attestation-cases.ts'
import { credentialCases } from './credential-cases.ts'
import type { Members } from './fixtures.ts'
import type { IdentityGateway } from './gateway.ts'
import { openIdentityGateway } from './gateway.ts'

type Path = readonly (string | number)[]

/** Lists the paths of all values inside a value, each one before those of its members. */
function listPaths(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [...(path.length > 0 ? [path] : []), ...entries.flatMap(([name, inner]) => listPaths(inner, [...path, name]))]
}

/** Copies a document, with one value changed or removed. */
function change(document: unknown, path: Path, modify: (value: unknown) => unknown): unknown {
  const copy = structuredClone(document) as Record<string | number, unknown>
  const holder = path.slice(0, -1).reduce((inner, name) => inner[name] as typeof copy, copy)
  const name = path.at(-1) ?? ''
  const newValue = modify(holder[name])
  if (newValue !== undefined) holder[name] = newValue
  else if (Array.isArray(holder)) holder.splice(Number(name), 1)
  else delete holder[name]
  return copy
}

const hows: Readonly<Record<string, (value: unknown) => unknown>> = {
  longer: value => (typeof value === 'string' ? `${value}x` : [value]),
  'one character other': value =>
    typeof value === 'string' ? (value.startsWith('a') ? 'b' : 'a') + value.slice(1) : { ...(value as object), x: 1 },
  gone: () => undefined,
  null: () => null,
}

let gateway: IdentityGateway
beforeAll(async () => {
  gateway = await openIdentityGateway()
})
afterAll(() => gateway.close())

/** This store never finds a use, so that only the evidence itself decides. */
const forgetful = { consumeOnce: async () => true }

describe.each([
  ['a credential', credentialCases],
  ['an attestation', attestationCases],
])('%s with any change', (_, [good]) => {
  const paths = listPaths(good?.evidence)

  test.each(Object.keys(hows))('(%s) does not count', async name => {
    const identity = gateway.reopen(forgetful)
    const verify = (evidence: unknown) =>
      identity.verify({ ...gateway.binding, carriers: { [good?.carrier ?? '']: [evidence] } })
    expect((await verify(good?.evidence)).accepted).toHaveLength(1)
    const tamperedDocuments = paths.map(path => ({
      path,
      evidence: change(good?.evidence, path, hows[name] ?? String) as Members,
    }))
    expect(tamperedDocuments.length).toBeGreaterThan(15)
    for (const { path, evidence } of tamperedDocuments) {
      const { accepted, left_out } = await verify(evidence)
      expect([path.join('.'), accepted, left_out.length]).toEqual([path.join('.'), [], 1])
    }
  })
})
