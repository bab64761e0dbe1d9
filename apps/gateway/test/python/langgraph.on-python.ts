// Tests the example `langgraph-python`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJsonText } from '@postern/message'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import type { ExampleModel } from './example-model.ts'
import { openExampleModel } from './example-model.ts'
import type { PythonServer } from './python-server.ts'
import { startUvicorn } from './python-server.ts'

const folder = join(import.meta.dirname, '../../../../examples/langgraph-python')
const { agents } = parseJsonText(readFileSync(join(folder, 'postern.config.json'), 'utf8')) as {
  agents: { guide: object }
}

let model: ExampleModel
let server: PythonServer
let gateway: TestGateway

beforeAll(async () => {
  model = await openExampleModel()
  const environment = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' }
  server = await startUvicorn(folder, 'server:app', environment)
  gateway = await openTestGateway(() => ({
    agents: {
      guide: { ...agents.guide, url: `${server.url}/` },
      forgetful: { ...agents.guide, url: `${server.url}/`, keeps_history: false },
    },
  }))
}, 120_000)
afterAll(async () => {
  await gateway?.close()
  server?.stop()
  model?.close()
})

const sendMessage = (to: string, text: string, overrides: object = {}) =>
  gateway.simulation.send({ via: 'email', to, text, ...overrides })

describe('the example langgraph-python', () => {
  test('calls its tool, and knows the earlier messages', async () => {
    const { reply, thread } = await sendMessage('guide', 'What is the weather in Oslo?')
    expect(reply?.text).toMatch(/^The tool says \{"city": ?"Oslo", ?"celsius": ?18, ?"sky": ?"clear"\}/)
    expect((await sendMessage('guide', 'and now?', { thread })).reply?.text).toContain('You said "and now?')
  }, 60_000)

  test.each(
    ['email', 'a2a', 'activitypub'].flatMap(via => [
      ['guide', via],
      ['forgetful', via],
    ]),
  )(
    'gives its model each message once (%s, %s)',
    async (agent, via) => {
      const countBefore = model.counts.length
      let thread: string | undefined
      for (const text of ['one', 'two', 'three']) {
        const result = await sendMessage(agent, text, { via, ...(thread && { thread }) })
        expect(result.reply?.text).toContain(`You said "`)
        thread = result.thread
      }
      expect(model.counts.slice(countBefore)).toEqual([1, 3, 5])
    },
    60_000,
  )
})
