import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

const root = new URL('../../../../fixtures/a2a/', import.meta.url)
const cases = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('request.json'))
  .map(dirname)

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway()
})
afterAll(() => gateway.close())

test.each(cases)('the gateway handles fixtures/a2a/%s as recorded', async folder => {
  const read = (name: string) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8')
  // Each case is a separate conversation.
  const token = await gateway.issuer.sign({ sub: folder })
  const before = gateway.receivedMessages.length
  const { body } = await gateway.post(read('request.json'), { token })
  const { message, error } = JSON.parse(read('expected.json'))
  const field = body.error?.data[1]?.fieldViolations[0].field
  expect(body.error && { code: body.error.code, field }).toEqual(error)
  const newMessages = gateway.receivedMessages.slice(before)
  expect(newMessages).toHaveLength(message ? 1 : 0)
  if (message) expect(newMessages[0]).toMatchObject(message)
  if (message?.raw) expect(JSON.stringify(newMessages[0]?.raw)).not.toContain('VerifiableCredential')
})
