import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${gateway.url()}/operator/api${path}`, {
    ...init,
    headers: { authorization: `Bearer ${operatorToken}`, ...init.headers },
  })

test('a parameter that an operation does not know is refused, with the ones that it knows', async () => {
  const answer = await ask('/messages?limt=5')
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    code: 'malformed',
    detail: 'Cannot list messages: there is no parameter "limt"; use limit, after',
  })
})
