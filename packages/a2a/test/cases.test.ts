import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestHouse } from './house.ts'
import { openTestHouse } from './house.ts'

const root = new URL('../../../fixtures/a2a/', import.meta.url)
const cases = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('request.json'))
  .map(dirname)

let house: TestHouse

beforeAll(async () => {
  house = await openTestHouse()
})
afterAll(() => house.close())

test.each(cases)('fixtures/a2a/%s', async folder => {
  const read = (name: string) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8')
  // Every case is a conversation of its own.
  const token = await house.issuer.sign({ sub: folder })
  const before = house.heard.length
  const { body } = await house.post(read('request.json'), { token })
  const { message, error } = JSON.parse(read('expected.json'))
  const field = body.error?.data[1]?.fieldViolations[0].field
  expect(body.error && { code: body.error.code, field }).toEqual(error)
  const heard = house.heard.slice(before)
  expect(heard).toHaveLength(message ? 1 : 0)
  if (message) expect(heard[0]).toMatchObject(message)
  if (message?.raw) expect(JSON.stringify(heard[0]?.raw)).not.toContain('VerifiableCredential')
})
