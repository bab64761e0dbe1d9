import { expect, test } from 'vitest'
import { ConfigError } from '../format/errors.ts'
import { loadOptionalLibrary } from './optional-library.ts'

const absent = 'postern-test-library-that-nobody-installs'
const other = 'postern-test-other-library'
const load = (name: string) => () => import(/* @vite-ignore */ name)

test('loadOptional() names missing libraries, the key that needs them, and the command that installs them', async () => {
  const loading = loadOptionalLibrary(load(absent), { key: 'store', libraries: [absent] })
  await expect(loading).rejects.toBeInstanceOf(ConfigError)
  await expect(loading).rejects.toMatchObject({
    key: 'store',
    message: `store: needs "${absent}", which is not installed. Run: npm install ${absent}`,
  })
})

test('loadOptionalLibrary() recognizes a missing library by the path of a file in it', async () => {
  const loading = loadOptionalLibrary(load(`${absent}/lib/file.js`), { key: 'a2a.grpc', libraries: [other, absent] })
  const names = `"${other}" and "${absent}"`
  await expect(loading).rejects.toMatchObject({
    key: 'a2a.grpc',
    message: `a2a.grpc: needs ${names}, which are not installed. Run: npm install ${other} ${absent}`,
  })
})

test('loadOptional() names three libraries as a list', async () => {
  const loading = loadOptionalLibrary(load(absent), { key: 'a2a.grpc', libraries: [other, 'pg', absent] })
  await expect(loading).rejects.toThrow(`needs "${other}", "pg" and "${absent}", which are not installed.`)
})

test('loadOptional() rethrows every other failure unchanged', async () => {
  await expect(loadOptionalLibrary(load(absent), { key: 'store', libraries: [other] })).rejects.toMatchObject({
    code: 'ERR_MODULE_NOT_FOUND',
  })
  const bug = new TypeError('x is not a function')
  await expect(loadOptionalLibrary(() => Promise.reject(bug), { key: 'store', libraries: [other] })).rejects.toBe(bug)
  expect(await loadOptionalLibrary(load('node:path'), { key: 'store', libraries: [other] })).toHaveProperty('join')
})
