import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { ConfigError } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { openAgentGateway, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'

const modules = resolve(import.meta.dirname, '../../test/modules')

async function problemOf(use: string): Promise<ConfigError> {
  const error = await openAgentGateway({ desk: { use } }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConfigError)
  return error as ConfigError
}

describe('a module agent', () => {
  test('loads from the configuration’s folder, or by an absolute path', async () => {
    const inFolder = await openTestAgent({ use: './plain.js' }, { baseDir: modules })
    const anywhere = await openTestAgent({ use: join(modules, 'plain.js') }, { baseDir: '/' })
    const parentFolderAgent = await openTestAgent({ use: '../modules/plain.js' }, { baseDir: modules })
    for (const { agent } of [inFolder, anywhere, parentFolderAgent]) {
      expect(await agent.handle(testMessage('hi'), testContext())).toBe('plain @alice@peer.test')
    }
  })

  test('uses its exported name without a configured one', async () => {
    const gateway = await openAgentGateway({ desk: { use: './modules/plain.js' } })
    expect(gateway.find('desk')).toMatchObject({ displayName: 'desk', description: '' })
  })

  test('closes with the gateway', async () => {
    const scripted = (await import('../../test/modules/scripted.ts')) as { countClosings(): number } & Agent
    const gateway = await openAgentGateway({ desk: { use: './modules/scripted.ts' } })
    // All tests of this process share the module.
    const before = scripted.countClosings()
    await gateway.close()
    expect(scripted.countClosings()).toBe(before + 1)
  })

  test('needs the function "forget" to receive it', async () => {
    const error = await openAgentGateway({
      desk: { use: './modules/plain.js', receives: ['message', 'forget'] },
    }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ConfigError)
    expect(String(error)).toContain(
      'agents.desk.receives: has "forget", but this agent cannot delete the data of a person',
    )
  })

  test('fails with its absolute path if it is missing', async () => {
    const { key, message } = await problemOf('./modules/nobody.ts')
    expect(key).toBe('agents.desk.use')
    expect(message).toContain('"./modules/nobody.ts" cannot be loaded')
    expect(message).toContain(join(modules, 'nobody.ts'))
  })

  test('fails with the reason if it throws at import', async () => {
    const { message, cause } = await problemOf('./modules/throws.js')
    expect(message).toContain('"./modules/throws.js" cannot be loaded: the database is not there.')
    expect(cause).toBeInstanceOf(Error)
  })

  test.each(['no-handle.mjs', 'wrong-handle.mjs'])('fails without the function handle (%s)', async file => {
    const { key, message } = await problemOf(`./modules/${file}`)
    expect(key).toBe('agents.desk.use')
    expect(message).toBe(
      `agents.desk.use: "./modules/${file}" exports no function "handle". ` +
        `Add "export function handle(message, context) { … }" to ${join(modules, file)}`,
    )
  })
})

test('a TypeScript module agent runs under node without a build', async () => {
  const script = `
    import { openTestAgent, testContext, testMessage } from '${resolve(import.meta.dirname, '../../test/gateway.ts')}'
    const { agent } = await openTestAgent({ use: './modules/scripted.ts' })
    console.log(await agent.handle(testMessage('hello'), testContext()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(stdout).toBe('You said hello\n')
})
