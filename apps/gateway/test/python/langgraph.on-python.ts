import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import type { ExampleModel } from './example-model.ts'
import { openExampleModel } from './example-model.ts'
import type { PythonServer } from './python-server.ts'
import { startUvicorn } from './python-server.ts'

let model: ExampleModel
let server: PythonServer
let gateway: TestGateway

beforeAll(async () => {
  model = await openExampleModel()
  const environment = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' }
  const folder = join(import.meta.dirname, '../../../../examples/langgraph-python')
  server = await startUvicorn(folder, 'server:app', environment)
  gateway = await openTestGateway(() => ({ agents: { guide: { use: 'ag-ui', url: `${server.url}/` } } }))
}, 120_000)
afterAll(async () => {
  await gateway?.close()
  server?.stop()
  model?.close()
})

test('the example langgraph-python calls its tool, and knows the earlier words', async () => {
  const ask = (text: string, more: object = {}) => gateway.simulation.send({ via: 'email', to: 'guide', text, ...more })
  const { reply, thread } = await ask('What is the weather in Oslo?')
  expect(reply?.text).toMatch(/^The tool says \{"city": ?"Oslo", ?"celsius": ?18, ?"sky": ?"clear"\}/)
  expect((await ask('and now?', { thread })).reply?.text).toContain('You said "and now?')
}, 60_000)
