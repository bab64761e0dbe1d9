import { toProblem } from '@postern/http'
import { Rejection, Unavailable } from '@postern/message'
import { createOperationRouter, defineOperation, handleOperation } from '@postern/operator'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { createSecretMask } from '../masking/secret-mask.ts'
import { createAnswerMask } from './answer-mask.ts'

const secret = 'first-secret'

function openApp(run: () => Promise<Response>, { isUnmasked }: { readonly isUnmasked?: true } = {}) {
  const operation = defineOperation({
    id: 'tell',
    method: 'GET',
    path: '/tell',
    summary: 'Tells.',
    task: 'tell',
    ...(isUnmasked && { isUnmasked }),
  })
  const mask = createAnswerMask(createSecretMask([secret]))
  const router = createOperationRouter([handleOperation(operation, run)], { authenticate: (_, next) => next(), mask })
  const logLines: unknown[] = []
  const write = (...line: readonly unknown[]) => void logLines.push(line)
  const log = { debug: write, info: write, warn: write, error: write }
  const app = new Hono().route('/', router).onError(error => toProblem(error, log))
  return { request: (path = '/operator/api/tell') => app.request(path), logLines }
}

test.each([
  [new Rejection('malformed', `no ${secret}`, { violations: [{ field: 'a', description: secret }] }), 400],
  [new Unavailable(`no ${secret}`, { retryAfter: 7 }), 503],
  [new Error(`no ${secret}`), 500],
])('the problem document of an error masks secrets and keeps its status: %s', async (error, status) => {
  const { request, logLines } = openApp(() => Promise.reject(error))
  const answer = await request()
  expect(answer.status).toBe(status)
  expect(await answer.text()).not.toContain(secret)
  expect(
    logLines
      .flat()
      .map(part => (part as { err?: Error }).err?.message ?? '')
      .join(),
  ).not.toContain(secret)
})

test('a refusal masks a secret that the request quotes', async () => {
  const answer = await openApp(async () => new Response()).request(`/operator/api/tell?${secret}=1`)
  expect(await answer.json()).toMatchObject({
    status: 400,
    detail: 'Cannot tell: there is no parameter "(set)"; it takes none',
  })
})

test('the gateway masks secrets in raw responses, except in exports', async () => {
  const respond = async () => new Response(`data: ${secret}\n\n`)
  expect(await (await openApp(respond).request()).text()).toBe('data: (set)\n\n')
  expect(await (await openApp(respond, { isUnmasked: true }).request()).text()).toBe(`data: ${secret}\n\n`)
})
