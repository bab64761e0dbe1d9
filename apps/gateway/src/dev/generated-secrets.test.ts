import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ConfigFile } from '../config/read-config.ts'
import { resolveSecrets } from '../config/secrets.ts'
import { parseDevConfig } from './dev-configs.ts'
import { generateSecrets } from './generated-secrets.ts'

function createFile(tree: object): ConfigFile {
  const { value, missingSettings } = resolveSecrets(tree, { baseDir: '/nowhere', environment: {} })
  return { tree: value as ConfigFile['tree'], missingSettings, baseDir: '/nowhere', path: undefined }
}

const createConfigWithDigest = (digestSource: object) => ({
  a2a: { auth: { api_keys: [{ name: 'a', sha256: digestSource }] } },
})

test('dev mode generates an API key and its digest for an entry of `api_keys`', () => {
  const file = createFile(createConfigWithDigest({ env: 'KEY' }))
  const [generatedSecret, ...otherSecrets] = generateSecrets(file.missingSettings)
  expect(otherSecrets).toEqual([])
  expect(generatedSecret).toMatchObject({ source: 'KEY', key: 'a2a.auth.api_keys.0.sha256' })
  expect(generatedSecret?.value).toBe(hash('sha256', generatedSecret?.plainSecret ?? ''))
  const config = parseDevConfig(file)
  expect(config.a2a.auth.api_keys[0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
})

test('dev mode generates one value for each variable, and uses this value again for later files', () => {
  const tree = {
    agents: { a: { secret: { env: 'S' } }, b: { mcp: [{ url: 'http://x.test/', api_key: { env: 'S' } }] } },
  }
  const { missingSettings } = createFile(tree)
  const generatedSecrets = generateSecrets(missingSettings)
  expect(generatedSecrets.map(({ key }) => key)).toEqual(['agents.a.secret', 'agents.b.mcp.0.api_key'])
  expect(new Set(generatedSecrets.map(({ value }) => value)).size).toBe(1)
  expect(generateSecrets(missingSettings, generatedSecrets)).toEqual(generatedSecrets)
})

test('an error in a value that dev mode cannot generate names the variable', () => {
  const file = createFile({ a2a: { auth: { api_keys: [{ name: { env: 'HOLDER' }, sha256: '0' }] } } })
  const parse = () => parseDevConfig(file)
  const expectedError = expect.objectContaining({
    errors: expect.arrayContaining([
      expect.objectContaining({
        key: 'a2a.auth.api_keys.0.name',
        message: expect.stringContaining('HOLDER is not set'),
      }),
    ]),
  })
  expect(parse).toThrow(expectedError)
})
