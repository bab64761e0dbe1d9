import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { System } from '@postern/message'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { expect, test } from 'vitest'
import { openWeb, webConfigSchema } from '../src/index.ts'

const agent = { name: 'echo', displayName: 'Echo', description: 'Says it again', version: '1' }
const token = 'token-of-ann'

/** Runs the statements of a module with these names in place of its imports. It resolves with the module's `started` and `threads`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<ExampleResult> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn { started, threads } })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

interface ExampleResult {
  readonly started: Uint8Array
  readonly threads: readonly object[]
}

function createSystem(): System {
  const quiet = () => {}
  return {
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
    resolveDns: async () => [],
    submitMail: async () => ({ response: '250 ok' }),
    now: () => Date.now(),
    randomBytes: count => randomBytes(count),
    sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  }
}

test('the example in the README of web starts a run and lists its thread', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const system = createSystem()
  const opened = await openSqliteStore({
    channels: sketchedChannels,
    path: ':memory:',
    now: system.now,
    log: system.log,
  })
  const find = (name: string) => (name === 'echo' ? agent : undefined)
  const agents = { domain: 'agents.test', origin: 'https://agents.test', list: () => [agent], find }
  const { transcript, objects, records } = opened
  const context = {
    channels: [],
    system,
    store: opened,
    admission: { rules: [], store: opened },
    decisions: opened,
    agents,
    transcript,
    objects,
    records,
    forgetChat: async () => false,
    isLinking: () => false,
    approvals: {},
    questions: {},
    isOperatorToken: () => false,
  }
  const names = { openWeb, webConfigSchema, context, token, sha256: hash('sha256', token) }
  const { started, threads } = await runExample(code, names)
  expect(Buffer.from(started).toString()).toContain('"type":"RUN_STARTED"')
  expect(threads).toMatchObject([{ threadId: 't1', via: 'web', beginning: 'hello' }])
  await opened.close()
})
