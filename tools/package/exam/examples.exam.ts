// Tests the examples as a user copies them, with the packed package, their libraries and a local model.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { ExampleModel } from '../../../apps/gateway/test/python/example-model.ts'
import { openExampleModel } from '../../../apps/gateway/test/python/example-model.ts'
import type { DevGateway } from './program.ts'
import { runInstalled, runProgram, startDev } from './program.ts'

const { examples, examplesInstallMs } = inject('installation')
const node = process.execPath

/**
 * The time limit from the start of an example to its first answer, ms. The time of the installation is only printed, because it depends on the
 * network, and all examples share it.
 */
const maxStartMs = 120_000

function checkDuration(name: string, sinceStartMs: number): void {
  const seconds = (ms: number) => (ms / 1_000).toFixed(1)
  console.log(
    `${name}: ${seconds(examplesInstallMs)} s to install, ${seconds(sinceStartMs)} s more to the first answer`,
  )
  expect(sinceStartMs).toBeLessThanOrEqual(maxStartMs)
}

test('the examples match the types of their libraries', () => {
  const compilerOptions = {
    ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], module: 'nodenext', strict: true, noEmit: true },
    ...{ skipLibCheck: true, erasableSyntaxOnly: true, allowImportingTsExtensions: true },
    typeRoots: [join(import.meta.dirname, '../../../node_modules/@types')],
    types: ['node'],
  }
  writeFileSync(
    join(examples, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*/agent*.ts', 'support/*.ts'] }),
  )
  const tsc = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(node, [tsc, '-p', examples], { encoding: 'utf8' })
  expect({ stdout, status }).toEqual({ stdout: '', status: 0 })
})

describe.each(['vercel-ai', 'openai-agents', 'langgraph'])('the example %s', name => {
  const folder = join(examples, name)
  let model: ExampleModel
  let gateway: DevGateway
  let startedAt = 0

  beforeAll(async () => {
    startedAt = performance.now()
    model = await openExampleModel()
    const environment = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', OPENAI_AGENTS_DISABLE_TRACING: '1' }
    gateway = await startDev({ node, folder, environment })
  })
  afterAll(async () => {
    await gateway?.stop()
    model?.close()
  })

  const runSend = async (...options: readonly string[]) => {
    const { output, errors } = await runInstalled(['send', '--via', 'a2a', '--to', 'guide', '--json', ...options], {
      node,
      folder,
    })
    expect(errors).toBe('')
    return JSON.parse(output) as { readonly thread: string; readonly reply: { readonly text: string } }
  }

  test('calls its tool, includes the model’s result, and knows the conversation', async () => {
    const { thread, reply } = await runSend('What is the weather in Oslo?')
    checkDuration(name, performance.now() - startedAt)
    expect(reply.text).toBe('The tool says {"city":"Oslo","celsius":18,"sky":"clear"}')
    expect((await runSend('--thread', thread, 'and now?')).reply.text).toBe('You said "and now?" after 1 others')
  })
})

describe('the example copilotkit', () => {
  const folder = join(examples, 'copilotkit')
  let gateway: DevGateway
  let startedAt = 0
  beforeAll(async () => {
    startedAt = performance.now()
    gateway = await startDev({ node, folder })
  })
  afterAll(() => gateway?.stop())

  test('has agents whose runs and answers CopilotKit’s page client can follow', async () => {
    writeFileSync(join(folder, 'page.ts'), page)
    const environment = { GATEWAY: gateway.url, TOKEN: gateway.token }
    const { output, errors } = await runProgram(node, ['page.ts'], { node, folder, environment })
    expect(errors).toBe('')
    checkDuration('copilotkit', performance.now() - startedAt)
    expect(JSON.parse(output)).toEqual([
      ['user', 'tool one two'],
      ['assistant', [expect.objectContaining({ function: { name: 'count_words', arguments: '{"text":"one two"}' } })]],
      ['tool', '{"words":2}'],
      ['assistant', 'I counted 2 words.'],
      ['user', 'slow'],
      ['assistant', 'One, two, three.'],
    ])
  })

  test('lets the page of the example call the gateway', async () => {
    const headers = { origin: 'http://localhost:5173', 'access-control-request-method': 'POST' }
    const response = await fetch(`${gateway.url}/api/v1/agents/help/runs`, { method: 'OPTIONS', headers })
    expect(response.headers.get('access-control-allow-origin')).toBe('http://localhost:5173')
  })
})

/** The page's behaviour, without its appearance. */
const page = `import { CopilotKitCore } from '@copilotkit/core'
import { openAgents } from './agents.ts'

const { GATEWAY: url = '', TOKEN: token = '' } = process.env
const core = new CopilotKitCore({ agents__unsafe_dev_only: openAgents({ url, token }, ['help']) })
core.subscribe({ onError: ({ error }) => console.error(error) })
const agent = core.getAgent('help')!
for (const content of ['tool one two', 'slow']) {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  await core.runAgent({ agent })
}
console.log(JSON.stringify(agent.messages.map(({ role, content, toolCalls }) => [role, content || toolCalls])))
process.exit()
`
