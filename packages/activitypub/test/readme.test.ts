import { readFileSync } from 'node:fs'
import type { ChannelContext } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { activityPubConfigSchema, openActivityPub } from '../src/index.ts'
import { openActivityPubGateway } from './gateway.ts'

/** Runs the statements of a module with these names in place of its imports. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn { actor, status } })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README reads an actor, and refuses an unsigned activity', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const opened = await openActivityPubGateway()
  const { system, store, agents } = opened
  const gateway: ChannelContext = {
    channels: [],
    system,
    store,
    admission: { rules: [], store },
    decisions: store,
    agents,
  }
  expect(await runExample(code, { openActivityPub, activityPubConfigSchema, gateway })).toMatchObject({
    actor: { type: 'Service', preferredUsername: 'echo' },
    status: 401,
  })
  await opened.close()
})
