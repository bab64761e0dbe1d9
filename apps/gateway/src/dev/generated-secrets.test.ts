import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ConfigFile } from '../config/read-config.ts'
import { resolveSecrets } from '../config/secrets.ts'
import { parseDevConfig } from './dev-configs.ts'
import { generateSecrets } from './generated-secrets.ts'

function read(tree: object): ConfigFile {
  const { value, missingSettings: missing } = resolveSecrets(tree, { baseDir: '/nowhere', environment: {} })
  return { tree: value as ConfigFile['tree'], missing, baseDir: '/nowhere', path: undefined }
}

const ofKey = (sha256: object) => ({ a2a: { auth: { api_keys: [{ name: 'a', sha256 }] } } })

test('dev mode generates an API key for a list together with its digest', () => {
  const file = read(ofKey({ env: 'KEY' }))
  const [generated, ...others] = generateSecrets(file.missing)
  expect(others).toEqual([])
  expect(generated).toMatchObject({ source: 'KEY', key: 'a2a.auth.api_keys.0.sha256' })
  expect(generated?.value).toBe(hash('sha256', generated?.plainSecret ?? ''))
  const digest = parseDevConfig(file)
  expect(digest.a2a.auth.api_keys[0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
})

test('dev mode generates one value for a variable, and uses it for later files too', () => {
  const tree = {
    agents: { a: { secret: { env: 'S' } }, b: { mcp: [{ url: 'http://x.test/', api_key: { env: 'S' } }] } },
  }
  const { missing } = read(tree)
  const generated = generateSecrets(missing)
  expect(generated.map(({ key }) => key)).toEqual(['agents.a.secret', 'agents.b.mcp.0.api_key'])
  expect(new Set(generated.map(({ value }) => value)).size).toBe(1)
  expect(generateSecrets(missing, generated)).toEqual(generated)
})

test('an error in a value that dev mode cannot generate names the variable', () => {
  const file = read({ a2a: { auth: { api_keys: [{ name: { env: 'HOLDER' }, sha256: '0' }] } } })
  const parse = () => parseDevConfig(file)
  const fails = expect.objectContaining({
    errors: expect.arrayContaining([
      expect.objectContaining({
        key: 'a2a.auth.api_keys.0.name',
        message: expect.stringContaining('HOLDER is not set'),
      }),
    ]),
  })
  expect(parse).toThrow(fails)
})
